"""What a path is called in sentences."""

_LONGEST = 400
"""Room for the longest label key and what stands above it."""


def name_of(path: str) -> str:
    """A path as messages name it: without the leading `spec.`, and cut where a key is longer than any that is valid."""
    name = path.removeprefix("spec.") or "the document"
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
