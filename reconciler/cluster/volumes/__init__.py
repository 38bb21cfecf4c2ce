"""Volumes as the scheduler sees them."""
