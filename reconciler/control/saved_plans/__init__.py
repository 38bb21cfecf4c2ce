"""A saved plan, carried out: live or simulated."""
