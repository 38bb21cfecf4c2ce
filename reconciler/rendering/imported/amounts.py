"""Amounts in the settings of another autoscaler, read in the words of who wrote them."""

import re
from collections.abc import Sequence

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")
_LONGEST = 60


class AmountError(ValueError):
    """A text that is not the amount that its setting takes; the message says what it must be."""


def whole_number(text: str) -> int:
    """Raises `AmountError`."""
    if not _WHOLE.fullmatch(text.strip()):
        raise AmountError(f"{_shown(text)} is no whole number")
    return int(text)


def number(text: str) -> float:
    """Raises `AmountError`."""
    if not _NUMBER.fullmatch(text.strip()):
        raise AmountError(f"{_shown(text)} is no number")
    return float(text)


def parts(text: str, form: str) -> Sequence[str]:
    """The parts of a text that is written as `form` (`MIN:MAX:NAME`); the last one takes what is left. Raises `AmountError`."""
    count = form.count(":") + 1
    found = text.split(":", count - 1)
    if len(found) != count:
        raise AmountError(f"{_shown(text)} is not written as {form}")
    return found


def _shown(text: str) -> str:
    return f"'{text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}'"
