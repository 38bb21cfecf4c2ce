"""Nodes to go: which may, what keeps the others, within which budgets, and what is called off."""
