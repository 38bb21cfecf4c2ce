"""Authenticated transport, reflector, live World, lease, events, eviction. Edge."""
