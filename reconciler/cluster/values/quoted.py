"""Quotes a text of an object for a message."""

_LONGEST = 64


def quoted(text: str) -> str:
    """In quotation marks; of a longer text its first 64 characters."""
    return f'"{text}"' if len(text) <= _LONGEST else f'"{text[:_LONGEST]}…"'
