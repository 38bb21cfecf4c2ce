"""Requests to an API server, as whom, and what it answers."""
