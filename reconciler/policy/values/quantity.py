"""Resource quantities as Kubernetes writes them (`500m`, `16Gi`, `1.5`, `12e6`), read into integers.

SOURCE: the grammar of `k8s.io/apimachinery/pkg/api/resource.Quantity`: a signed decimal number followed by nothing, a
binary suffix (Ki Mi Gi Ti Pi Ei), a decimal one (n u m k M G T P E) or an exponent (e3, E-2). Kubernetes rounds up what
is finer than a nano and caps what does not fit int64; here both are refused, since in a policy either is a mistake.
"""

import re

from reconciler.values.shown_text import shown

INT64_MAX = 2**63 - 1

_QUANTITY = re.compile(r"([-+]?)([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][-+]?[0-9]+)?")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_WRONG_SUFFIX = {"KI": "Ki", "K": "k", "KB": "k", "KIB": "Ki", "MB": "M", "MIB": "Mi", "MI": "Mi", "GB": "G", "GIB": "Gi"}
_WRONG_SUFFIX |= {"GI": "Gi", "TB": "T", "TIB": "Ti", "TI": "Ti", "PB": "P", "PIB": "Pi", "PI": "Pi", "EI": "Ei", "G": "G"}
_MAX_EXPONENT = 40  # far beyond int64 on either side; keeps a hostile `1e999999999` from being computed
MAX_LENGTH = 64


class QuantityError(ValueError):
    """A text that is no usable quantity; `code` is the problem's code, `hint` says what to write."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def parse_quantity(text: str, *, milli: bool) -> int:
    """`text` as an integer: in thousandths when `milli` (cpu), else in the base unit (bytes, count).

    Raises `QuantityError` with code `BadQuantity`, `NegativeNumber`, `FractionalAmount` or `Overflow`.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise QuantityError("BadQuantity", f"{shown(text)} is no quantity", _hint(text))
    sign, number, suffix = match[1], match[2], match[3] or ""
    whole, _, fraction = number.partition(".")
    numerator = int((whole + fraction) or "0")
    power_of_ten = -len(fraction)
    power_of_two = 0
    if suffix in _BINARY:
        power_of_two = _BINARY[suffix]
    elif suffix in _DECIMAL:
        power_of_ten += _DECIMAL[suffix]
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > _MAX_EXPONENT and numerator:
            raise QuantityError("Overflow", f"{shown(text)} does not fit a 64-bit integer")
        power_of_ten += max(-_MAX_EXPONENT, min(exponent, _MAX_EXPONENT))
    if sign == "-" and numerator:
        raise QuantityError("NegativeNumber", f"{shown(text)} is negative", "an amount is zero or more")
    if milli:
        power_of_ten += 3
    amount = numerator << power_of_two
    if power_of_ten >= 0:
        amount *= int(10**power_of_ten)
    else:
        amount, rest = divmod(amount, int(10**-power_of_ten))
        if rest:
            raise QuantityError("FractionalAmount", *_fraction(text, number, suffix, milli=milli))
    if amount > INT64_MAX:
        raise QuantityError("Overflow", f"{shown(text)} does not fit a 64-bit integer")
    return amount


def _fraction(text: str, number: str, suffix: str, *, milli: bool) -> tuple[str, str]:
    if milli:
        return f"{shown(text)} is finer than one thousandth of a cpu", "the smallest step is 1m"
    if suffix == "m":
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
