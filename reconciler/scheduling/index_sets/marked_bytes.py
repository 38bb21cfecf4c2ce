"""Combines bytes by node (0 or 1) without a loop over nodes."""

from collections.abc import Iterable


def union(one: bytearray, other: bytearray) -> bytearray:
    """1 where either has 1. Both have one byte per node."""
    both = int.from_bytes(one, "little") | int.from_bytes(other, "little")
    return bytearray(both.to_bytes(len(one), "little"))


def marked(mask: bytearray, nodes: Iterable[int]) -> bytearray:
    """A copy with 1 at these nodes as well."""
    copy = bytearray(mask)
    for node in nodes:
        copy[node] = 1
    return copy
