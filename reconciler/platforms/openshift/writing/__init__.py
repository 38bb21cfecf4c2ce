"""How MachineSets are written, and with what care."""
