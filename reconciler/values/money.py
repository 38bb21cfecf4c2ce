"""Amounts of money: decimal strings with at most six places as millionths, and millionths as strings; never floats.

SOURCE: our own rule. No sign, no exponent, no leading zero, at most twelve digits before the point.
"""

import re

from reconciler.values.shown_text import shown

MAX_LENGTH = 19
"""Characters of an amount: twelve digits, a point and six more."""

HOURS_PER_MONTH = 730
"""What cloud providers bill as a month."""

PRICE_HOURS = {"pricePerHour": 1, "pricePerMonth": HOURS_PER_MONTH}
"""The amounts of money that a limit bounds like resources -> the hours that each is the price of."""

_LONGEST_READ = 64
_MONEY = re.compile(r"(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?")


class MoneyError(ValueError):
    """An invalid amount of money; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_money(text: str) -> int:
    """`text` in millionths of the currency. Raises `MoneyError`."""
    match = _MONEY.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        wrapped = r"[^0-9.,-]*([0-9]+(?:[.,][0-9]+)?)[^0-9.,]*"
        plain = re.fullmatch(wrapped, text) if len(text) <= _LONGEST_READ else None
        number = plain[1].replace(",", ".") if plain else ""
        usable = bool(number and _MONEY.fullmatch(number))
        hint = f'write "{number}". The currency is spec.currency of the policy' if usable else 'write a decimal such as "0.768"'
        raise MoneyError(f"invalid amount of money {shown(text)}", hint)
    return int(match[1]) * 1_000_000 + int((match[2] or "").ljust(6, "0"))


def price_text(micros: int) -> str:
    """Millionths of the currency: 768000 -> `0.768`; at least two digits after the point."""
    sign = "-" if micros < 0 else ""
    whole, rest = divmod(abs(micros), 1_000_000)
    digits = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}{whole}.{digits}"
