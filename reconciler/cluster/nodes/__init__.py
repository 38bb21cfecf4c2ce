"""Nodes and machines as scheduling needs them."""
