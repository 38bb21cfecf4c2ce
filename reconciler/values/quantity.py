"""Resource quantities as Kubernetes writes them (`500m`, `16Gi`, `1.5`, `12e6`): texts as exact numbers, and amounts as texts.

SOURCE: the grammar of `k8s.io/apimachinery/pkg/api/resource.Quantity`. A quantity is a signed decimal number. A binary suffix (Ki
Mi Gi Ti Pi Ei), decimal one (n u m k M G T P E) or exponent (e3, E-2) follows.
"""

import re
from enum import Enum
from functools import lru_cache

import msgspec

from reconciler.values.money import PRICE_HOURS, price_text

INT64_MAX = 2**63 - 1
MAX_LENGTH = 64
"""The most characters of a quantity. Nobody needs more, and arithmetic on a million digits never ends."""

_FORM = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]+))?")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# With 64 digits the answer beyond it is known: far above 64 bits, or far below one billionth.
_LARGEST_EXPONENT = 2 * MAX_LENGTH
_LARGEST_FIRST = tuple((suffix, 1 << power) for suffix, power in reversed(_BINARY.items()))


class QuantityFormError(ValueError):
    """An invalid quantity."""


class Quantity(msgspec.Struct, frozen=True):
    """A number as written: `integer` times a power of ten. `number` and `suffix` are its parts, for messages."""

    integer: int
    power_of_ten: int
    number: str
    suffix: str

    def units(self, power_of_ten: int) -> tuple[int, bool]:
        """In units of a power of ten (-3: thousandths), rounded away from zero; and whether nothing was rounded."""
        power = self.power_of_ten - power_of_ten
        if power >= 0:
            return self.integer * 10**power, True
        amount, rest = divmod(abs(self.integer), 10**-power)
        amount += rest > 0
        return -amount if self.integer < 0 else amount, not rest


def parse_quantity(text: str) -> Quantity:
    """The exact number. Raises `QuantityFormError`. An exponent beyond 128 is read as 128."""
    match = _FORM.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise QuantityFormError("is not a quantity")
    sign, number, suffix, exponent = match.groups()
    whole, _, fraction = number.partition(".")
    integer = int(whole + fraction)
    power = 0
    if exponent is not None:
        # Nothing times any power is nothing, and 10**999999999 never ends.
        power = max(-_LARGEST_EXPONENT, min(int(exponent), _LARGEST_EXPONENT)) if integer else 0
    elif suffix in _BINARY:
        integer <<= _BINARY[suffix]
    elif suffix:
        power = _DECIMAL[suffix]
    return Quantity(-integer if sign == "-" else integer, power - len(fraction), number, suffix or "")


def quantity_text(resource: str, amount: int) -> str:
    """`500` cpu -> `500m`, `68719476736` memory -> `64Gi`; exact, and the shortest binary form for bytes. Money as `12.50`."""
    if resource in PRICE_HOURS:
        return price_text(amount)
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if in_bytes(resource):
        for suffix, unit in _LARGEST_FIRST:
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def in_bytes(resource: str) -> bool:
    """Whether amounts of a resource are bytes."""
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


class Rounding(Enum):
    """Which way what is too fine for people goes."""

    NEAREST = 0
    DOWN = -1
    UP = 1


def amount_text(resource: str, amount: int, rounding: Rounding = Rounding.NEAREST) -> str:
    """An amount (cpu in milli) as short text for people: `7800` cpu -> `7.8`, `6442450944` memory -> `6Gi`.

    Bytes have at most one decimal. Rounded down or up they have two. What is needed goes up and what is free goes down, so they
    never look equal if the first is larger.
    """
    if amount < 0:
        return f"-{amount_text(resource, -amount, Rounding(-rounding.value))}"
    if resource in PRICE_HOURS:
        return price_text(amount)
    if resource == "cpu":
        return _decimal(amount, 1000, 3, rounding)
    if in_bytes(resource):
        for suffix, unit in _LARGEST_FIRST:
            if amount >= unit:
                return _decimal(amount, unit, 1 if rounding is Rounding.NEAREST else 2, rounding) + suffix
    return str(amount)


@lru_cache(maxsize=4096)
def permille_text(permille: int) -> str:
    """A share of thousandths in percent: `562` -> `56.2%`."""
    return f"{_decimal(permille, 10, 1, Rounding.NEAREST)}%"


def _decimal(amount: int, unit: int, places: int, rounding: Rounding) -> str:
    """`amount / unit` without zeros at its end; halves go to the even digit."""
    digits, rest = divmod(amount * 10**places, unit)
    if rounding is Rounding.NEAREST:
        digits += 2 * rest + (digits & 1) > unit
    elif rounding is Rounding.UP:
        digits += rest > 0
    whole, fraction = divmod(digits, 10**places)
    return f"{whole}.{fraction:0{places}d}".rstrip("0").rstrip(".") if fraction else str(whole)


_NOTHING_ELSE = re.compile(r"[0-9]{1,19}(\.[0-9]{1,9})?(m|k|[KMGTPE]i?|[eE][0-9]{1,2})?")


def is_quantity(text: str) -> bool:
    """Whether it is an amount and nothing else: no room for another number, and no sign."""
    return _NOTHING_ELSE.fullmatch(text) is not None
