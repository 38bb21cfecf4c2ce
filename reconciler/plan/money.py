"""Money as text: a decimal string and a currency code in, what a person reads out."""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}
_FINEST = Decimal("0.0001")


def money_text(amount: Decimal, currency: str, *, signed: bool = False) -> str:
    """`Decimal("1.92"), "USD"` -> `$1.92`; another currency gets its code behind: `1.92 CHF`.

    At least two and at most four digits after the point, rounded half to even; `signed` puts a plus before what is above zero.
    """
    rounded = amount.quantize(_FINEST, rounding=ROUND_HALF_EVEN)
    sign = "-" if rounded < 0 else "+" if signed and rounded > 0 else ""
    whole, _, digits = f"{abs(rounded):f}".partition(".")
    figure = f"{int(whole):,}.{digits.rstrip('0').ljust(2, '0')}"
    symbol = _SYMBOLS.get(currency)
    return f"{sign}{symbol}{figure}" if symbol else f"{sign}{figure} {currency}"


def difference(before: str | None, after: str | None) -> Decimal | None:
    """How much more `after` is than `before`; None when either is unknown."""
    return None if before is None or after is None else Decimal(after) - Decimal(before)


def price_of_nodes(nodes: Mapping[str, int], prices_micros: Mapping[str, int]) -> int:
    """Nodes of each target (or group) at its hourly price, in millionths. Node seconds come to millionths times seconds. Nodes
    without a price cost nothing."""
    return sum(amount * prices_micros.get(name, 0) for name, amount in nodes.items())


def money(micro_seconds: int) -> str:
    """Millionths times seconds at an hourly price -> `12.34`, rounded to the nearest hundredth, halves up."""
    cents = (micro_seconds + 18_000_000) // 36_000_000
    return f"{cents // 100}.{cents % 100:02d}"
