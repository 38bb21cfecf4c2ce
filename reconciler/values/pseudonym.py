"""The form of a word that a redacted snapshot hides."""

import re

DIGITS = 16
_PSEUDONYM = re.compile(rf"x-[0-9a-f]{{{DIGITS}}}")


def pseudonym(digest: str) -> str:
    """The word for a keyed hash of `DIGITS` hexadecimal digits."""
    return f"x-{digest}"


def is_pseudonym(text: str) -> bool:
    """Whether a word, or the end of a label key, may stand for one that is hidden."""
    return _PSEUDONYM.fullmatch(text.rpartition("/")[2]) is not None
