"""Instants as text: RFC 3339 in UTC, whole seconds."""

from datetime import UTC, datetime


def instant_text(seconds: int) -> str:
    """Unix seconds -> `2026-11-21T18:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
