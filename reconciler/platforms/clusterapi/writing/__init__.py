"""How its targets are written, and with what care."""
