"""How MachineSets are written."""
