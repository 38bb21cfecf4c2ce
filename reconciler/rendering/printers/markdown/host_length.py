"""The length of a text as hosts of pull requests count it."""

GITHUB_LIMIT = 65_536  # characters of one comment; beyond it the API answers 422


def length(text: str) -> int:
    """UTF-16 units: the largest of the ways in which a host may count characters."""
    return len(text) if text.isascii() else len(text) + sum(ord(character) > 0xFFFF for character in text)
