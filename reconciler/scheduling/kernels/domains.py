# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Passes over the domains of nodes, in the same language and on the same columns as `loops`: compiled where there was a compiler,
interpreted elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython


def mark_above(domain_of: cython.int[::1], counts: cython.longlong[::1], most: cython.longlong, mask: cython.uchar[::1]) -> None:
    """Write 1 to `mask` for each node in whose domain more than `most` pods are; nodes in none (below 0) stay as they are."""
    node: cython.Py_ssize_t
    for node in range(len(domain_of)):
        if domain_of[node] >= 0 and counts[domain_of[node]] > most:
            mask[node] = 1


def mark_empty(domain_of: cython.int[::1], counts: cython.longlong[::1], mask: cython.uchar[::1]) -> None:
    """Write 1 to `mask` for each node in whose domain no pod is, and for those in none (below 0)."""
    node: cython.Py_ssize_t
    for node in range(len(domain_of)):
        if domain_of[node] < 0 or counts[domain_of[node]] <= 0:
            mask[node] = 1


def split(nodes: cython.int[::1], domain_of: cython.int[::1], width: cython.int, groups: cython.int[::1]) -> None:
    """Split the groups of the nodes by their domains, one number lower for none (-1): group g becomes `width` groups from
    `g * width` on."""
    entry: cython.Py_ssize_t
    for entry in range(len(nodes)):
        groups[entry] = groups[entry] * width + domain_of[nodes[entry]] + 1


def count_cells(
    shapes: cython.uchar[::1],
    first: cython.int,
    cell_shape: cython.int[::1],
    cell_node: cython.int[::1],
    cell_count: cython.int[::1],
    size: cython.Py_ssize_t,
    domain_of: cython.int[::1],
    counts_node: cython.uchar[::1],
    counts: cython.longlong[::1],
) -> None:
    """Add the pods of the cells whose shape is in `shapes` (a bit each from `first`) to the domain of their node. The node must
    be in a domain (not below 0) and count."""
    cell: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    node: cython.Py_ssize_t
    most: cython.Py_ssize_t = 8 * len(shapes)
    for cell in range(size):
        shape = cell_shape[cell] - first
        if 0 <= shape < most and shapes[shape >> 3] >> (shape & 7) & 1:
            node = cell_node[cell]
            if domain_of[node] >= 0 and counts_node[node]:
                counts[domain_of[node]] += cell_count[cell]


def turned(
    rows: cython.uchar[::1],
    row_count: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    columns: cython.uchar[::1],
    height: cython.Py_ssize_t,
) -> None:
    """Write a table of bits, `row_count` rows of `width` bytes, to `columns` column by column, `height` bytes each, all 0
    before."""
    row: cython.Py_ssize_t
    byte: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    eight: cython.uchar
    for row in range(row_count):
        for byte in range(width):
            eight = rows[row * width + byte]
            if eight:
                for bit in range(8):
                    if eight >> bit & 1:
                        columns[(8 * byte + bit) * height + (row >> 3)] |= 1 << (row & 7)
