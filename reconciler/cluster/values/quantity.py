"""Kubernetes quantities as exact integers.

The grammar and the rounding are those of apimachinery's `resource.Quantity`: a decimal number with an optional binary
(`Ki` to `Ei`) or decimal (`n` to `E`) suffix or a decimal exponent; finer than a billionth rounds away from zero, and
so does every reading in a coarser unit. Sums are made in billionths and rounded once, as the scheduler does it.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from reconciler.cluster.snapshots.unreadable import UnreadableError
from reconciler.cluster.values.quoted_text import quoted
from reconciler.cluster.values.resources import CPU, Resources

INT64_MAX = 2**63 - 1
NANO = 10**9

_FORM = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]+))?")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# Nobody means a number with more digits, and arithmetic on a million digits or 10**999999999 never ends.
_LONGEST_TEXT = 64
_LARGEST_EXPONENT = 64


class QuantityError(UnreadableError):
    """A text that is no quantity."""


class QuantityRangeError(QuantityError):
    """A quantity that does not fit into 64 bits; `limit` is the nearest number that does."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


@lru_cache(maxsize=1 << 16)
def nano(text: str) -> int:
    """The amount in billionths, rounded away from zero. Raises `QuantityError`."""
    match = _FORM.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise QuantityError(f"{quoted(text)} is no quantity (a number such as 2, 500m, 1.5Gi or 1e3)")
    sign, number, suffix, exponent_text = match.groups()
    whole, _, fraction = number.partition(".")
    digits = int(whole + fraction)
    shift = 0
    if exponent_text is not None:
        exponent = int(exponent_text)
    elif suffix in _BINARY:
        exponent, shift = 0, _BINARY[suffix]
    else:
        exponent = _DECIMAL[suffix or ""]
    if digits == 0:
        return 0
    # Beyond these exponents the answer is known: far above 64 bits, or one billionth.
    exponent = max(-_LARGEST_EXPONENT - _LONGEST_TEXT, min(_LARGEST_EXPONENT, exponent)) - len(fraction) + 9
    amount: int = digits << shift
    amount = amount * 10**exponent if exponent >= 0 else -(-amount // 10**-exponent)
    return -amount if sign == "-" else amount


def rounded(nanos: int, unit_nanos: int) -> int:
    """Billionths in units of `unit_nanos`, rounded away from zero. Raises `QuantityRangeError` beyond 64 bits."""
    amount = -(-nanos // unit_nanos) if nanos >= 0 else nanos // unit_nanos
    if abs(amount) > INT64_MAX:
        limit = INT64_MAX if amount > 0 else -INT64_MAX
        raise QuantityRangeError("does not fit into 64 bits (the largest amount is 9223372036854775807)", limit)
    return amount


def milli(text: str) -> int:
    """Thousandths, rounded away from zero: `1` is 1000, `0.1m` is 1. Raises `QuantityError`."""
    return _read(text, 10**6)


def whole(text: str) -> int:
    """Whole units, rounded away from zero: `1Ki` is 1024, `500m` is 1. Raises `QuantityError`."""
    return _read(text, NANO)


def unit_nanos(resource: str) -> int:
    """Billionths in one unit of a resource: cpu counts in milli, everything else in whole units."""
    return 10**6 if resource == CPU else NANO


class Vector(msgspec.Struct, frozen=True):
    """A vector of resources, and sentences about amounts that were cut to 64 bits."""

    resources: Resources
    problems: tuple[str, ...] = ()


def nanos(amounts: Mapping[str, str | int | float] | None) -> dict[str, int]:
    """Billionths by resource name, none of them negative. Raises `QuantityError` naming the resource."""
    read: dict[str, int] = {}
    for name, text in (amounts or {}).items():
        try:
            amount = nano(str(text))
        except QuantityError as error:
            raise QuantityError(f"{name}: {error}") from None
        if amount < 0:
            raise QuantityError(f"{name}: {quoted(str(text))} is negative")
        read[name] = amount
    return read


def vector(amounts: Mapping[str, int]) -> Vector:
    """Billionths by resource name as a vector. What does not fit into 64 bits is cut, as the API server cuts it."""
    read: dict[str, int] = {}
    problems: list[str] = []
    for name, amount in sorted(amounts.items()):
        try:
            read[name] = rounded(amount, unit_nanos(name))
        except QuantityRangeError as error:
            read[name] = error.limit
            problems.append(f"{name} {error}, and is counted as that")
    return Vector(Resources.of(read), tuple(problems))


def _read(text: str, unit: int) -> int:
    try:
        return rounded(nano(text), unit)
    except QuantityRangeError as error:
        raise QuantityRangeError(f"{quoted(text)} {error}", error.limit) from None
