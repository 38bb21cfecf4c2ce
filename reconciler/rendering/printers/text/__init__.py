"""A plan for a terminal."""
