"""Snapshots in a git tree: published and read."""
