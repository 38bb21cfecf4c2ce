"""Quantities of objects as integers.

The rounding is that of apimachinery's `resource.Quantity`: finer than a billionth rounds away from zero, and so does every
reading in a coarser unit. Sums are made in billionths and rounded once, as the scheduler does it.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from reconciler.cluster.values.quoted import quoted
from reconciler.cluster.values.resources import CPU, Resources
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.quantity import INT64_MAX, QuantityFormError, parse_quantity

NANO = 10**9


class QuantityError(UnreadableError):
    """An invalid quantity."""


class QuantityRangeError(QuantityError):
    """A quantity that does not fit into 64 bits; `limit` is the nearest number that does."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


@lru_cache(maxsize=1 << 16)
def nano(text: str) -> int:
    """The amount in billionths, rounded away from zero. Raises `QuantityError`."""
    try:
        amount, _ = parse_quantity(text).units(-9)
    except QuantityFormError:
        raise QuantityError(f"invalid quantity {quoted(text)}. Write a number such as 2, 500m, 1.5Gi or 1e3") from None
    return amount


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
