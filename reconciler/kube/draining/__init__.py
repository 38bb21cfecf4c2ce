"""Emptying nodes through the Eviction API."""
