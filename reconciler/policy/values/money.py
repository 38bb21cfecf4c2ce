"""Amounts of money: decimal strings with at most six places, never floats."""

import re

_MONEY = re.compile(r"(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?")


class MoneyError(ValueError):
    """A text that is no amount of money; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_money(text: str) -> int:
    """`text` in millionths of the currency. Raises `MoneyError`."""
    match = _MONEY.fullmatch(text)
    if match is None:
        plain = re.fullmatch(r"[^0-9.,-]*([0-9]+(?:[.,][0-9]+)?)[^0-9.,]*", text)
        number = plain[1].replace(",", ".") if plain else ""
        usable = bool(number and _MONEY.fullmatch(number))
        hint = f'write "{number}"; the currency is spec.currency of the policy' if usable else 'write a decimal such as "0.768"'
        raise MoneyError(f"{text!r} is no amount of money", hint)
    return int(match[1]) * 1_000_000 + int((match[2] or "").ljust(6, "0"))
