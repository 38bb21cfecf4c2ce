"""Amounts in policies: Kubernetes quantities read into integers.

Kubernetes rounds up amounts finer than a nano and caps amounts above int64. Here both are errors, because in a policy each is a
mistake.
"""

import re

from reconciler.values.quantity import INT64_MAX, MAX_LENGTH, Quantity, QuantityFormError, parse_quantity
from reconciler.values.shown_text import shown

_WRONG_SUFFIX = {"KI": "Ki", "K": "k", "KB": "k", "KIB": "Ki", "MB": "M", "MIB": "Mi", "MI": "Mi", "GB": "G", "GIB": "Gi"}
_WRONG_SUFFIX |= {"GI": "Gi", "TB": "T", "TIB": "Ti", "TI": "Ti", "PB": "P", "PIB": "Pi", "PI": "Pi", "EI": "Ei", "G": "G"}


class QuantityError(ValueError):
    """An invalid quantity; `code` is the problem's code, `hint` says what to write."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def parse_amount(text: str, *, milli: bool) -> int:
    """`text` as an integer: in thousandths when `milli` (cpu, devices), else in the base unit (bytes, count).

    Raises `QuantityError` with code `BadQuantity`, `NegativeNumber`, `FractionalAmount` or `Overflow`.
    """
    try:
        quantity = parse_quantity(text)
    except QuantityFormError:
        raise QuantityError("BadQuantity", f"invalid quantity {shown(text)}", _hint(text)) from None
    if quantity.integer < 0:
        raise QuantityError("NegativeNumber", f"{shown(text)} is negative", "an amount is zero or more")
    amount, exact = quantity.units(-3 if milli else 0)
    if not exact:
        raise QuantityError("FractionalAmount", *_fraction(text, quantity, milli=milli))
    if amount > INT64_MAX:
        raise QuantityError("Overflow", f"{shown(text)} does not fit into a 64-bit integer")
    return amount


def _fraction(text: str, quantity: Quantity, *, milli: bool) -> tuple[str, str]:
    if milli:
        return f"{shown(text)} is finer than one thousandth", "the smallest step is 1m"
    if quantity.suffix == "m":
        number = quantity.number
        return f"{shown(text)} is a fraction: m means thousandths", f"write {number}Mi (or {number}M) for mega, or a whole number"
    return f"{shown(text)} is not a whole number", "write a whole number, or a smaller unit"


def _hint(text: str) -> str:
    stripped = text.replace(" ", "")
    match = re.fullmatch(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([A-Za-z]+)", stripped) if len(stripped) <= MAX_LENGTH else None
    if match and match[2].upper() in _WRONG_SUFFIX:
        return f"write {match[1]}{_WRONG_SUFFIX[match[2].upper()]}"
    if match and match[2].lower() in ("cpu", "cpus", "core", "cores", "millicores", "milli"):
        return f"write {match[1]}{'m' if match[2].lower().startswith('milli') else ''}"
    return "write a number with a suffix such as m, k, M, G, Ki, Mi, Gi, Ti: 500m, 64Gi, 4"
