"""Nodes that are replaced by cheaper ones."""
