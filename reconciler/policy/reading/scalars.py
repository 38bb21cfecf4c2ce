"""Scalars -> values, one function per kind. Each returns None on a problem, which it records."""

import math
import re
from collections.abc import Callable
from typing import Protocol

from reconciler.policy.field import LONGEST, Field, Kind
from reconciler.policy.problems.suggestion import choose, near
from reconciler.policy.reading.path_names import ALIASES, FREE, name_of
from reconciler.policy.values.pattern import PatternError, check_pattern
from reconciler.policy.values.schedule import ScheduleError, canonical_schedule
from reconciler.policy.values.time_zone import zone_names
from reconciler.policy.yaml_nodes import Node, Scalar, described, look_of
from reconciler.values.duration import DurationError, duration_text, parse_duration
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.money import MoneyError, parse_money
from reconciler.values.name_syntax import (
    item_name_fault,
    key_or_prefix_fault,
    object_name_fault,
    qualified_name_fault,
)
from reconciler.values.plain_scalar import Look
from reconciler.values.quantity import INT64_MAX
from reconciler.values.shown_text import cut, shown
from reconciler.values.whole_number import whole_number


class Recorder(Protocol):
    """Where problems go."""

    def fault(self, code: str, node: Node, path: str, message: str, hint: str = "") -> None:
        """Record a problem with the value at `path`."""


def text_of(record: Recorder, field: Field, node: Node, path: str, *, instant: bool = False) -> str | None:
    """The text of a scalar that must be one; a plain scalar that some parser reads as another type is rejected."""
    if not isinstance(node, Scalar):
        record.fault("WrongType", node, path, f"{name_of(path)} must be a text, not {described(node)}")
        return None
    look = look_of(node)
    if look is Look.TEXT or (instant and look is Look.TIMESTAMP):
        return None if field.kind in FREE and too_long(record, field, node.text, node, path) else node.text
    if look is Look.NULL:
        record.fault("NullValue", node, path, f"{name_of(path)} has no value", "write the value")
    elif look in (Look.INTEGER, Look.FLOAT, Look.BOOLEAN):
        record.fault("WrongType", node, path, f"{name_of(path)} must be a text, not {described(node)}", quoted(node))
    else:
        record.fault("AmbiguousText", node, path, f"{name_of(path)} is {described(node)}", quoted(node))
    return None


def quoted(node: Scalar) -> str:
    """How to write the same value as a text."""
    return f'quote it: "{node.text}"' if cut(node.text) == node.text else "quote it"


def too_long(record: Recorder, field: Field, text: str, node: Node, path: str) -> bool:
    """Whether a text, the value or a key at `path`, is longer than its field allows; it is reported."""
    longest = LONGEST[field.kind]
    if len(text) > longest:
        record.fault("TextTooLong", node, path, f"{name_of(path)} has {len(text)} characters, the most is {longest}")
    return len(text) > longest


def _string(record: Recorder, field: Field, node: Node, path: str) -> str | None:
    text = text_of(record, field, node, path)
    if text is None:
        return None
    if field.enum and text not in field.enum:
        record.fault("UnknownValue", node, path, f"{name_of(path)} is {shown(text)}", choose(text, field.enum))
        return None
    if not text.strip() and field.default != "":
        record.fault("EmptyValue", node, path, f"{name_of(path)} is empty", "write the value, or remove the key")
        return None
    if field.pattern and not re.fullmatch(field.pattern, text):
        hint = f"for example {field.examples[0]}" if field.examples else ""
        record.fault("BadFormat", node, path, f"{name_of(path)} {shown(text)} does not have the expected form", hint)
        return None
    return text


def _checked(fault_of: Callable[[str], str]) -> Callable[[Recorder, Field, Node, str], str | None]:
    def read(record: Recorder, field: Field, node: Node, path: str) -> str | None:
        text = text_of(record, field, node, path)
        if text is None:
            return None
        fault = fault_of(text)
        if not fault:
            return text
        code = "EmptyValue" if not text else "BadName"
        better = re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.")
        better = better if not fault_of(better) else better.lower()
        hint = f"for example {better}" if better and not fault_of(better) else ""
        record.fault(code, node, path, f"{name_of(path)} {shown(text)} {fault}" if text else f"{name_of(path)} {fault}", hint)
        return None

    return read


def _enum(record: Recorder, field: Field, node: Node, path: str) -> str | None:
    if isinstance(node, Scalar) and look_of(node) in (Look.BOOLEAN, Look.WORD_BOOLEAN):
        alias = ALIASES.get(node.text.lower(), "")
        hint = f"write {alias}" if alias in field.enum else choose(node.text, field.enum)
        record.fault("UnknownValue", node, path, f"{name_of(path)} is {described(node)}", hint)
        return None
    text = text_of(record, field, node, path)
    if text is None or text in field.enum:
        return text
    alias = ALIASES.get(text.lower(), "")
    hint = f"write {alias}" if alias in field.enum else choose(text, field.enum)
    record.fault("UnknownValue", node, path, f"{name_of(path)} is {shown(text)}", hint)
    return None


def _integer(record: Recorder, field: Field, node: Node, path: str) -> int | None:
    if not isinstance(node, Scalar):
        record.fault("WrongType", node, path, f"{name_of(path)} must be an integer, not {described(node)}")
        return None
    look = look_of(node)
    if look is Look.INTEGER:
        return _bounded(record, field, int(node.text) if len(node.text) < 40 else INT64_MAX + 1, node, path)
    if look is Look.TEXT:
        digits = node.text.removesuffix("%").strip()
        hint = "" if whole_number(digits) is None else f"write {digits}"
        record.fault("WrongType", node, path, f"{name_of(path)} must be an integer, not {described(node)}", hint)
    elif look is Look.FLOAT:
        record.fault(
            "FloatValue", node, path, f"{name_of(path)} must be an integer, not {described(node)}", _whole(field, node.text)
        )
    elif look is Look.BOOLEAN:
        record.fault("WrongType", node, path, f"{name_of(path)} must be an integer, not {described(node)}")
    else:
        hint = "write plain decimal digits"
        if look in (Look.OCTAL, Look.UNDERSCORE):
            digits = node.text.replace("_", "").lstrip("0") or "0"
            hint = hint if whole_number(digits) is None else f"write {digits}"
        record.fault("AmbiguousNumber", node, path, f"{name_of(path)} is {described(node)}", hint)
    return None


def _whole(field: Field, text: str) -> str:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return ""
    if field.kind is Kind.PERCENT and 0 < number <= 1:
        return f"write {round(number * 100)} (percent)"
    if not abs(number) < 2**53:  # nor is a NaN
        return "write a whole number"
    return f"write {int(number)}" if number == int(number) else f"write {math.floor(number)} or {math.ceil(number)}"


def _bounded(record: Recorder, field: Field, value: int, node: Node, path: str) -> int | None:
    low, high = field.minimum, field.maximum
    shown_value = node.text if isinstance(node, Scalar) and len(node.text) < 40 else "this number"
    if not -INT64_MAX - 1 <= value <= INT64_MAX:
        record.fault("Overflow", node, path, f"{name_of(path)}: {shown_value} does not fit into a 64-bit integer")
    elif low is not None and value < low:
        code = "NegativeNumber" if low == 0 else "OutOfRange"
        record.fault(code, node, path, f"{name_of(path)} is {shown_value}, the least is {low}")
    elif high is not None and value > high:
        what = "a percentage is from 0 to 100" if field.kind is Kind.PERCENT else ""
        record.fault("OutOfRange", node, path, f"{name_of(path)} is {shown_value}, the most is {high}", what)
    else:
        return value
    return None


def _integer_or_percent(record: Recorder, field: Field, node: Node, path: str) -> int | tuple[int] | None:
    if not (isinstance(node, Scalar) and look_of(node) is Look.TEXT and node.text.endswith("%")):
        return _integer(record, field, node, path)
    percent = whole_number(node.text[:-1])
    if percent is None:
        record.fault(
            "WrongType", node, path, f'{name_of(path)} must be an integer or a percentage such as "10%", not {described(node)}'
        )
        return None
    if percent > 100:
        record.fault("OutOfRange", node, path, f"{name_of(path)} is {node.text}, the most is 100%")
        return None
    return (percent,)


def _duration(record: Recorder, field: Field, node: Node, path: str) -> int | None:
    if isinstance(node, Scalar) and look_of(node) in (Look.INTEGER, Look.FLOAT):
        number = cut(node.text)
        of_seconds = f"{number}s, " if look_of(node) is Look.INTEGER else ""  # there are only whole ones
        hint = (
            f"write {duration_text(field.minimum or 0)}"
            if number == "0"
            else f"a duration has a unit: {of_seconds}{number}m or {number}h"
        )
        record.fault("BadDuration", node, path, f"{name_of(path)} is the bare number {number}", hint)
        return None
    text = text_of(record, field, node, path)
    if text is None or text in field.enum:
        return None
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        hint = choose(text, field.enum) if field.enum and near(text, field.enum) else error.hint
        record.fault("BadDuration", node, path, f"{name_of(path)}: {error}", hint)
        return None
    if field.minimum is not None and seconds < field.minimum:
        code = "NegativeNumber" if seconds < 0 else "OutOfRange"
        record.fault(code, node, path, f"{name_of(path)} is {text}, the least is {duration_text(field.minimum)}")
        return None
    return seconds


def money_value(record: Recorder, field: Field, node: Node, path: str) -> str | None:
    """An amount of money as a decimal string. None after a problem, which it records."""
    if isinstance(node, Scalar) and look_of(node) in (Look.FLOAT, Look.INTEGER):
        hint = quoted(node)
        record.fault(
            "FloatValue", node, path, f"{name_of(path)} is the number {cut(node.text)}, but money is a decimal string", hint
        )
        return None
    text = text_of(record, field, node, path)
    if text is None:
        return None
    try:
        parse_money(text)
    except MoneyError as error:
        record.fault("BadMoney", node, path, f"{name_of(path)}: {error}", error.hint)
        return None
    return text


def _instant(record: Recorder, field: Field, node: Node, path: str) -> int | None:
    text = text_of(record, field, node, path, instant=True)
    if text is None:
        return None
    try:
        return parse_instant(text)
    except InstantError as error:
        record.fault("BadInstant", node, path, f"{name_of(path)}: {error}", error.hint)
        return None


def _cron(record: Recorder, field: Field, node: Node, path: str) -> str | None:
    text = text_of(record, field, node, path)
    if text is None:
        return None
    try:
        canonical_schedule(text)
    except ScheduleError as error:
        record.fault("BadSchedule", node, path, f"{name_of(path)}: {error}", error.hint)
        return None
    return text


def _time_zone(record: Recorder, field: Field, node: Node, path: str) -> str | None:
    text = text_of(record, field, node, path)
    if text is None or text == field.default or text in zone_names():
        return text
    best = near(text, zone_names(), 0.75) or near(text, {name.rpartition("/")[2] for name in zone_names()}, 0.75)
    full = best if best in zone_names() else next((n for n in sorted(zone_names()) if n.endswith("/" + best)), best)
    hint = f"did you mean {full}?" if best else "write an IANA name such as Europe/Berlin"
    record.fault("UnknownTimeZone", node, path, f"{name_of(path)}: unknown time zone {shown(text)}", hint)
    return None


def _regex(record: Recorder, field: Field, node: Node, path: str) -> str | None:
    text = text_of(record, field, node, path)
    if text is None:
        return None
    if not text:
        record.fault(
            "EmptyValue", node, path, f"{name_of(path)} is empty and would match every name", 'write ".*" if that is meant'
        )
        return None
    try:
        check_pattern(text)
    except PatternError as error:
        record.fault(error.code, node, path, f"{name_of(path)}: {error}", error.hint)
        return None
    return text


READERS: dict[Kind, Callable[..., object]] = {
    Kind.STRING: _string,
    Kind.NAME: _checked(item_name_fault),
    Kind.OBJECT_NAME: _checked(object_name_fault),
    Kind.LABEL_KEY: _checked(qualified_name_fault),
    Kind.KEY_OR_PREFIX: _checked(key_or_prefix_fault),
    Kind.ENUM: _enum,
    Kind.INTEGER: _integer,
    Kind.PERCENT: _integer,
    Kind.INTEGER_OR_PERCENT: _integer_or_percent,
    Kind.DURATION: _duration,
    Kind.MONEY: money_value,
    Kind.INSTANT: _instant,
    Kind.CRON: _cron,
    Kind.TIME_ZONE: _time_zone,
    Kind.REGEX: _regex,
}
