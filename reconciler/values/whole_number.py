"""Whole numbers in texts that anybody may have written."""

import re

_DIGITS = re.compile(r"[0-9]{1,18}")


def whole_number(text: str) -> int | None:
    """`text` as a whole number from 0, in at most 18 ASCII digits; None for every other text.

    `str.isdigit` and `str.isdecimal` accept digits of other scripts and superscripts, which `int` reads differently or refuses,
    and `int` refuses more than 4,300 digits.
    """
    return int(text) if _DIGITS.fullmatch(text) is not None else None
