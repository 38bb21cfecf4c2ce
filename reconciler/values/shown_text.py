"""Texts that somebody else wrote, for use inside our messages."""

LONGEST_SHOWN = 60


def shown(text: str) -> str:
    """Any text inside a message: quoted, escaped, cut."""
    return repr(cut(text))


def cut(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
