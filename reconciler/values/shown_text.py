"""Texts that somebody else wrote, inside sentences of ours."""

LONGEST_SHOWN = 60


def shown(text: str) -> str:
    """A text of anybody inside a message: quoted, escaped, cut."""
    return repr(cut(text))


def cut(text: str) -> str:
    """As it stands, or its beginning."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
