"""Requests to an API server, the identity that they use, and the answers."""
