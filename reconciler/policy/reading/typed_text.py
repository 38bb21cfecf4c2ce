"""Documents that are described by a struct: YAML nodes -> a checked value with the places of its parts, or where it is wrong.

Scenarios and policy tests are read here. Policies are not: their fields have levels, merge rules and many problems at once.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.values.quantity import QuantityError, parse_amount
from reconciler.policy.yaml_nodes import Mapping as MappingNode
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence, Spot, spot_of
from reconciler.values.clauses import clauses
from reconciler.values.decoder_words import in_plain_words
from reconciler.values.decoding import convert
from reconciler.values.duration import DurationError, parse_duration
from reconciler.values.money import MoneyError, parse_money
from reconciler.values.shown_text import shown
from reconciler.values.two_sentences import two_sentences

T = TypeVar("T", bound=msgspec.Struct)


class Span:
    """A duration as written in Go's form, in whole seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds


class Quantity:
    """A resource quantity in thousandths, so that cpu and bytes are read alike."""

    __slots__ = ("milli",)

    def __init__(self, milli: int) -> None:
        self.milli = milli


class Amount:
    """An amount of money in millionths of the policy's currency."""

    __slots__ = ("micros",)

    def __init__(self, micros: int) -> None:
        self.micros = micros


class NumberRange:
    """A whole number, or bounds that a number must be within: `9`, `7..10`, `7..` or `..10`."""

    __slots__ = ("least", "most")

    def __init__(self, least: int | None, most: int | None) -> None:
        self.least = least
        self.most = most

    def holds(self, number: int) -> bool:
        """Whether a number is within the bounds."""
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"{'' if self.least is None else self.least}..{'' if self.most is None else self.most}"


class StrictDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The ancestor of all parts of such a document: an unknown key is an error."""


class Metadata(StrictDocument, frozen=True, kw_only=True):
    """The name."""

    name: str


class DocumentError(Exception):
    """The document cannot be used; `problems` say where and why, by place."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(clauses(f"{problem.place}: {problem.message}" for problem in problems))
        self.problems = problems


class TypedText(msgspec.Struct, Generic[T], frozen=True):
    """A document with the places of its values (`$.spec.events[2].scale`), for what only shows later."""

    value: T
    spots: Mapping[str, Spot]
    source: Source

    def error(self, path: str, message: str, hint: str = "") -> DocumentError:
        """The error that `message` is wrong at `path`."""
        return document_error("BadValue", self.source, _nearest(self.spots, path), message, hint)

    def place(self, path: str) -> Place:
        """Where the value at `path`, or what it would stand in, was written."""
        return self.source.place(_nearest(self.spots, path))


def documents_of(path: str, data: bytes, api_version: str) -> tuple[Source, list[Node]]:
    """The documents of one apiVersion in a file. The file may have documents of other groups, too. Raises `DocumentError`."""
    findings = Findings()
    decoded = read_source(path, data, findings)
    documents = compose_documents(*decoded, findings) if decoded is not None else []
    if decoded is None or findings.failed:
        raise DocumentError(findings.sorted())
    return decoded[0], [document for document in documents if _api_version(document) == api_version]


def read_typed(document: Node, source: Source, kind: type[T]) -> TypedText[T]:
    """A document as a value of its type. Raises `DocumentError` for the first value that does not fit."""
    spots: dict[str, Spot] = {}
    value = _plain(document, "$", spots)
    try:
        return TypedText(convert(value, kind, dec_hook=_written), spots, source)
    except msgspec.ValidationError as error:
        raise _explained(str(error), source, spots, kind) from None


def document_error(code: str, source: Source, spot: Spot, message: str, hint: str = "") -> DocumentError:
    """The error of one problem."""
    findings = Findings()
    findings.open(source)
    findings.add(code, source, spot, message, hint)
    return DocumentError(findings.sorted())


_INTEGER = re.compile("[-+]?[0-9]{1,18}")
_RANGE = re.compile(r"([0-9]{1,9})?\.\.([0-9]{1,9})?")
_AT = re.compile("(.*) - at `(.*)`", re.DOTALL)
_UNKNOWN = re.compile("Object contains unknown field `(.*)`")
_MISSING = re.compile("Object missing required field `(.*)`")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def _api_version(document: Node) -> str:
    if isinstance(document, MappingNode):
        for key, value in document.pairs:
            if isinstance(key, Scalar) and key.text == "apiVersion" and isinstance(value, Scalar):
                return value.text
    return ""


def _plain(node: Node, path: str, spots: dict[str, Spot]) -> object:
    """Nodes as plain values, every place written down by path."""
    spots.setdefault(path, spot_of(node))
    if isinstance(node, Scalar):
        if node.plain and node.text.lower() in _WORDS:
            return _WORDS[node.text.lower()]
        return int(node.text) if node.plain and _INTEGER.fullmatch(node.text) else node.text
    if isinstance(node, Sequence):
        return [_plain(item, f"{path}[{index}]", spots) for index, item in enumerate(node.items)]
    values: dict[str, object] = {}
    for key, value in node.pairs:
        name = key.text if isinstance(key, Scalar) else ""
        spots[f"{path}.{name}#"] = spot_of(key)
        values[name] = _plain(value, f"{path}.{name}", spots)
    return values


def _written(kind: type, value: object) -> object:
    """Durations, quantities, amounts of money and ranges. Whole numbers are quantities and ranges, too."""
    try:
        if kind is Span:
            if not isinstance(value, str):
                raise ValueError(f"invalid duration {value!r}. Write it like 90s, 10m or 1h30m")
            return Span(parse_duration(value))
        if kind is Amount:
            if not isinstance(value, str):
                raise ValueError(f'invalid amount of money {value!r}. Write it in quotes, like "0.768"')
            return Amount(parse_money(value))
        if kind is NumberRange:
            return _range(value)
        return Quantity(parse_amount(str(value), milli=True))
    except (DurationError, MoneyError, QuantityError) as error:
        raise ValueError(two_sentences(str(error), error.hint)) from None


def _range(value: object) -> NumberRange:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return NumberRange(value, value)
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[0] == "..":
        text = shown(value) if isinstance(value, str) else str(value)
        raise ValueError(f"invalid number or range {text}. Write 9, 7..10, 7.. or ..10")
    least, most = (None if part is None else int(part) for part in match.groups())
    if least is not None and most is not None and least > most:
        raise ValueError(f"the range {value} is empty. Write the smaller number first")
    return NumberRange(least, most)


def _explained(text: str, source: Source, spots: Mapping[str, Spot], kind: type) -> DocumentError:
    match = _AT.fullmatch(text)
    message, path = (match[1], match[2]) if match else (text, "$")
    unknown = _UNKNOWN.fullmatch(message)
    if unknown:
        known = _siblings(path, kind)
        near = difflib.get_close_matches(unknown[1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else (f"known here: {', '.join(known)}" if known else "")
        spot = _nearest(spots, f"{path}.{unknown[1]}#")
        return document_error("UnknownField", source, spot, f"unknown key {shown(unknown[1])}", hint)
    hint = f"add the key {missing[1]}" if (missing := _MISSING.fullmatch(message)) else ""
    message = in_plain_words(message).replace("`", "")
    return document_error("BadValue", source, _nearest(spots, path), message[:1].lower() + message[1:], hint)


def _siblings(path: str, top: type) -> list[str]:
    """The keys that an object at a path may have."""
    kind: object = top
    for part in re.findall(r"[^.$\[\]]+", re.sub(r"\[[^\]]*\]", "", path)):
        fields = {field.encode_name: field.type for field in _fields(kind)}
        kind = fields.get(part)
    return [field.encode_name for field in _fields(kind)]


def _fields(kind: object) -> Iterator[msgspec.structs.FieldInfo]:
    """The fields of a struct type, also inside lists, optionals and annotations."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from msgspec.structs.fields(kind)
    for inner in getattr(kind, "__args__", ()):
        yield from _fields(inner)


def _nearest(spots: Mapping[str, Spot], path: str) -> Spot:
    while path:
        if path in spots:
            return spots[path]
        path = path[: max(path.rfind("."), path.rfind("["))] if path != "$" else ""
    return Spot(1, 1)
