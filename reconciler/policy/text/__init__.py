"""Bytes -> YAML nodes with places, and documents as they would be written."""
