"""What a selector of devices computes with: attributes and capacities of one device, and how values compare.

Source: package `cel` of dynamic-resource-allocation 1.36, and cel-go. A domain that a device does not have is an empty map. A
name that it does not have is an error. Values of different types are unequal, and have no order.
"""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.devices.resource_slice import Attribute, AttributeKind, Device
from reconciler.cluster.values.quantity import QuantityError, nano
from reconciler.values.quantity import MAX_LENGTH
from reconciler.values.shown_text import shown

_NANOS_A_MILLI = 10**6


class SelectorError(Exception):
    """The selector fails on a device, as kube-scheduler's would: it gives up the whole attempt to place the pod."""


class NotEvaluatedError(Exception):
    """The selector uses something that is not evaluated here; the message names it, with its place."""


class Quantity(msgspec.Struct, frozen=True):
    """An amount in billionths."""

    nanos: int


class Semver(msgspec.Struct, frozen=True):
    """A version as a key that orders versions as semver.org does; the build does not count."""

    key: tuple[int, int, int, tuple[tuple[int, int, str], ...]]


class Present(msgspec.Struct, frozen=True):
    """An optional value that is there; None stands for one that is not."""

    value: object


class Names(dict[str, object]):
    """Values by name within one domain."""


class Domains(dict[str, Names]):
    """Maps by domain; one that is not there is empty."""


class DeviceValue(msgspec.Struct, frozen=True):
    """The variable `device`."""

    driver: str
    multiple: bool
    attributes: Domains
    capacity: Domains


def device_value(driver: str, device: Device) -> DeviceValue:
    """A device as its selectors see it. Raises `SelectorError` for an invalid version, and `NotEvaluatedError`."""
    if device.unmodelled:
        raise NotEvaluatedError(f"{device.unmodelled} of device {device.name}")
    attributes, capacity = Domains(), Domains()
    for item in device.attributes:
        domain, name = qualified(item.name, driver)
        attributes.setdefault(domain, Names())[name] = _value(item)
    for one in device.capacities:
        domain, name = qualified(one.name, driver)
        capacity.setdefault(domain, Names())[name] = Quantity(one.milli * _NANOS_A_MILLI)
    return DeviceValue(driver, device.multiple, attributes, capacity)


def qualified(name: str, driver: str) -> tuple[str, str]:
    """The domain and the rest of the name of an attribute or capacity; without a domain it is in that of the driver."""
    domain, slash, rest = name.partition("/")
    return (domain, rest) if slash else (driver, name)


def _value(item: Attribute) -> object:
    if item.kind is AttributeKind.INT:
        return int(item.text)
    if item.kind is AttributeKind.BOOL:
        return item.text == "true"
    return semver(item.text) if item.kind is AttributeKind.VERSION else item.text


def quantity(text: object) -> Quantity:
    """`quantity("40Gi")`."""
    if not isinstance(text, str):
        raise SelectorError("quantity takes a text")
    if len(text) > MAX_LENGTH:
        raise NotEvaluatedError(f"a quantity of more than {MAX_LENGTH} characters")
    try:
        return Quantity(nano(text))
    except QuantityError as error:
        raise SelectorError(str(error)) from None


def semver(text: object) -> Semver:
    """`semver("1.2.3")`, strictly of three numbers without leading zeros."""
    if not isinstance(text, str):
        raise SelectorError("semver takes a text")
    rest, _, build = text.partition("+")
    core, dash, before = rest.partition("-")
    numbers = core.split(".")
    marks = before.split(".") if dash else []
    if len(numbers) != 3 or not all(map(_is_number, numbers)) or not all(map(_is_mark, marks)):
        raise SelectorError(f"{shown(text)} is not a semantic version")
    if "+" in text and not all(_is_word(part) for part in build.split(".")):
        raise SelectorError(f"{shown(text)} is not a semantic version")
    # Source: blang/semver reads numbers into 64 bits.
    if any(len(part) > 20 or int(part) >= 1 << 64 for part in (*numbers, *filter(_is_digits, marks))):
        raise SelectorError(f"{shown(text)} is not a semantic version")
    major, minor, patch = map(int, numbers)
    # A version with marks comes before the same one without. Numbers come before words.
    marked = tuple((0, int(mark), "") if _is_digits(mark) else (1, 0, mark) for mark in marks)
    return Semver((major, minor, patch, marked or ((2, 0, ""),)))


def _is_digits(text: str) -> bool:
    """Digits of ASCII alone: a number of any length, unlike `whole_number`."""
    return bool(text) and set(text) <= set("0123456789")


def _is_number(text: str) -> bool:
    return _is_digits(text) and (text == "0" or text[0] != "0")


def _is_word(text: str) -> bool:
    return bool(text) and text.isascii() and text.replace("-", "a").isalnum()


def _is_mark(text: str) -> bool:
    return _is_word(text) and (not _is_digits(text) or _is_number(text))


def equal(one: object, other: object) -> bool:
    """`==`. Raises `NotEvaluatedError` for maps, lists and optional values.

    Source: cel-go takes values of different types for unequal. The quantities and versions of Kubernetes fail instead, when one
    of them is on the left.
    """
    if type(one) is not type(other) and isinstance(one, Quantity | Semver):
        raise SelectorError(f"{_kind(one)} and {_kind(other)} cannot be compared")
    return not unequal(one, other)


def unequal(one: object, other: object) -> bool:
    """`!=`, which does not fail: in cel-go, everything that is not equal is unequal. Raises `NotEvaluatedError` as `==`."""
    for value in (one, other):
        if isinstance(value, dict | list | Present):
            raise NotEvaluatedError("== of maps, lists or optional values")
    return type(one) is not type(other) or one != other


_ORDERS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


def ordered(operator: str, one: object, other: object) -> bool:
    """`<`, `<=`, `>` and `>=` of numbers, texts and booleans."""
    if type(one) is type(other):
        if isinstance(one, int) and isinstance(other, int):
            return _ORDERS[operator]((one > other) - (one < other))
        if isinstance(one, str) and isinstance(other, str):
            return _ORDERS[operator]((one > other) - (one < other))
    raise SelectorError(f"no order between {_kind(one)} and {_kind(other)}")


def compared(one: object, other: object) -> int:
    """`a.compareTo(b)` of quantities or versions: -1, 0 or 1."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return (one.nanos > other.nanos) - (one.nanos < other.nanos)
    if isinstance(one, Semver) and isinstance(other, Semver):
        return (one.key > other.key) - (one.key < other.key)
    raise SelectorError(f"{_kind(one)} and {_kind(other)} cannot be compared")


def contains(element: object, within: object) -> bool:
    """`a in b` of a list or a map."""
    if isinstance(within, list):
        if isinstance(element, Quantity | Semver):
            # cel-go fails with some lists, and does not with others.
            raise NotEvaluatedError("a quantity or a version in a list")
        return any(type(element) is type(item) and equal(element, item) for item in within)
    if isinstance(within, dict):
        return isinstance(element, str) and element in within
    raise SelectorError(f"nothing is in {_kind(within)}")


def selected(value: object, name: object) -> object:
    """`map.name` and `map["name"]`."""
    if not isinstance(value, dict) or not isinstance(name, str):
        raise SelectorError(f"{_kind(value)} has no fields")
    if name in value:
        return value[name]
    if isinstance(value, Domains):
        return Names()
    raise SelectorError(f"no such key: {name}")


def text_of(value: object) -> str:
    """The value as the text that a function of texts needs."""
    if not isinstance(value, str):
        raise SelectorError(f"{_kind(value)} is not a text")
    return value


def truth(value: object) -> bool:
    """The value as a boolean."""
    if not isinstance(value, bool):
        raise SelectorError(f"{_kind(value)} is not a boolean")
    return value


def _kind(value: object) -> str:
    names: dict[type, str] = {bool: "a boolean", int: "a number", str: "a text", Quantity: "a quantity", Semver: "a version"}
    return names.get(type(value), "a map or a list")
