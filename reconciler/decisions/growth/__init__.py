"""Nodes to come: options, the choice among them, headroom, and requests that have not become nodes yet."""
