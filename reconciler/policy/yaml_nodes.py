"""The tree of one YAML document: scalars, sequences and mappings, each with its place in the text; nothing is constructed."""

from typing import TypeAlias

import msgspec

from reconciler.values.plain_scalar import Look, look_of_plain
from reconciler.values.shown_text import cut, shown


class Scalar(msgspec.Struct, frozen=True, gc=False):
    """A scalar. `plain`: it was written without quotes and not as block text, so its look determines its type.

    Lines and columns count from 1; the end is exclusive, as the parser reports it.
    """

    text: str
    plain: bool
    line: int
    column: int
    end_line: int
    end_column: int


class Sequence(msgspec.Struct, frozen=True):
    """A list of nodes."""

    items: tuple["Node", ...]
    line: int
    column: int
    end_line: int
    end_column: int


class Mapping(msgspec.Struct, frozen=True):
    """Pairs of key and value in the order of the text, duplicates included."""

    pairs: tuple[tuple["Node", "Node"], ...]
    line: int
    column: int
    end_line: int
    end_column: int


Node: TypeAlias = Scalar | Sequence | Mapping


class Spot(msgspec.Struct, frozen=True, gc=False):
    """A stretch of one line: where a problem points and how many characters it underlines."""

    line: int
    column: int
    width: int = 1


def spot_of(node: Node) -> Spot:
    """The stretch of a node; of its first character when it spans lines."""
    return Spot(node.line, node.column, max(1, node.end_column - node.column) if node.end_line == node.line else 1)


def spot_of_entry(key: Node, value: Node) -> Spot:
    """The stretch of `key: value` when both are on one line, else of the key."""
    if value.end_line == key.line and value.end_column > key.column and isinstance(value, Scalar):
        return Spot(key.line, key.column, value.end_column - key.column)
    return spot_of(key)


def look_of(scalar: Scalar) -> Look:
    """What `scalar` looks like; quoted ones are text."""
    return look_of_plain(scalar.text) if scalar.plain else Look.TEXT


def is_null(node: Node) -> bool:
    """Whether nothing was written."""
    return isinstance(node, Scalar) and look_of(node) is Look.NULL


def described(node: Node) -> str:
    """A node in words, for messages: `the text 'x'`, `the number 5`, `a list`."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    look = look_of(node)
    if look is Look.NULL:
        return "nothing"
    if look is Look.TEXT:
        return f"the text {shown(node.text)}"
    text = cut(node.text)
    return f"the {look.value.split()[0]} {text}" if " " not in look.value else f"{text}, a {look.value}"
