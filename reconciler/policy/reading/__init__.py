"""Nodes -> checked documents: a walk of the field model."""
