"""Whose the replicas of a target are, and what follows from it."""
