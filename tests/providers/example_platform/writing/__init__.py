"""How rows are written."""
