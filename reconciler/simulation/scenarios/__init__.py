"""A start, what happens when, and what must be true at the end."""
