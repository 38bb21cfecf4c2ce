"""Prices as integers: millionths of the currency unit, an hour."""


def price_text(micros: int) -> str:
    """768000 -> `0.768`; at least two digits after the point."""
    sign = "-" if micros < 0 else ""
    whole, rest = divmod(abs(micros), 1_000_000)
    digits = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}{whole}.{digits}"
