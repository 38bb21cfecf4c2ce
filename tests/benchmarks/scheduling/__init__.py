"""Figures of the scheduling core."""
