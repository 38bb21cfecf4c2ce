"""The tree of one YAML document: scalars, sequences and mappings, each with its place in the text; nothing is constructed."""

from typing import TypeAlias

import msgspec


class Scalar(msgspec.Struct, frozen=True, gc=False):
    """A scalar. `plain` is true when it was written without quotes (and is no block text), so that its look gives it a type.

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
