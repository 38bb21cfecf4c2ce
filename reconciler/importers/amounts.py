"""Amounts in the settings of another autoscaler. Errors use the words of its settings."""

import re
from collections.abc import Sequence

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")
_LONGEST = 60
CAPITAL = re.compile("[A-Z]")


class AmountError(ValueError):
    """A text that is not a valid amount for its setting; the message states what it must be."""


def whole_number(text: str) -> int:
    """Raises `AmountError`."""
    if not _WHOLE.fullmatch(text.strip()):
        raise AmountError(f"{_shown(text)} is not a whole number")
    return int(text)


def number(text: str) -> float:
    """Raises `AmountError`."""
    if not _NUMBER.fullmatch(text.strip()):
        raise AmountError(f"{_shown(text)} is not a number")
    return float(text)


def parts(text: str, form: str) -> Sequence[str]:
    """The parts of a text in the form `form` (`MIN:MAX:NAME`); the last one takes the rest. Raises `AmountError`."""
    count = form.count(":") + 1
    texts = text.split(":", count - 1)
    if len(texts) != count:
        raise AmountError(f"{_shown(text)} does not have the form {form}")
    return texts


def _shown(text: str) -> str:
    return f"'{text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}'"
