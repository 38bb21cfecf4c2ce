"""Targets on an API server whose machines are objects there: the same rules for every such platform."""
