"""Resource quantities as Kubernetes writes them (`500m`, `16Gi`, `1.5`, `12e6`): texts as exact numbers, and amounts as texts.

SOURCE: the grammar of `k8s.io/apimachinery/pkg/api/resource.Quantity`: a signed decimal number followed by nothing, a
binary suffix (Ki Mi Gi Ti Pi Ei), a decimal one (n u m k M G T P E) or an exponent (e3, E-2).
"""

import re

import msgspec

INT64_MAX = 2**63 - 1
MAX_LENGTH = 64
"""Characters of a quantity. Nobody means a number with more, and arithmetic on a million digits never ends."""

_FORM = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]+))?")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# With 64 digits the answer beyond it is known: far above 64 bits, or far below one billionth.
_LARGEST_EXPONENT = 2 * MAX_LENGTH
_PRINTED = tuple((suffix, 1 << _BINARY[suffix]) for suffix in ("Pi", "Ti", "Gi", "Mi", "Ki"))


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
        raise QuantityFormError("is no quantity")
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
    """`500` cpu -> `500m`, `68719476736` memory -> `64Gi`; exact, and the shortest binary form for bytes."""
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        for suffix, unit in _PRINTED:
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)
