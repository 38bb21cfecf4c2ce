# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Loops over the rows of pods that move, in the same language and on the same columns as `loops`. Compiled if there was a
compiler, else interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cython


def rows_on(
    pod_node: cython.int[::1],
    pod_traits: cython.int[::1],
    pod_phase: cython.uchar[::1],
    marked: cython.uchar[::1],
    ends: cython.uchar[::1],
    succeeded: cython.int,
    failed: cython.int,
    ending: cython.bint,
    picked: cython.int[::1],
) -> int:
    """Write the rows of pods on marked nodes to `picked`. With `ending`, they are those that end with their node (`ends` by
    traits, or already finished), else the others. Returns their number."""
    row: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    goes: cython.bint
    for row in range(len(pod_node)):
        if pod_node[row] >= 0 and marked[pod_node[row]]:
            goes = ends[pod_traits[row]] != 0 or pod_phase[row] == succeeded or pod_phase[row] == failed
            if goes == ending:
                picked[size] = row
                size += 1
    return size


def seats(
    nodes: cython.int[::1],
    shapes: cython.int[::1],
    counts: cython.int[::1],
    stays: cython.uchar[::1],
    starts: cython.int[::1],
    seated: cython.int[::1],
) -> int:
    """Write to `seated` every node that stays, once for each of its pods, by shape and in the order of the entries. The nodes of
    shape s are `seated[starts[s]:starts[s + 1]]`. `starts` must have two more places than there are shapes, all 0. Entries of
    shapes beyond these are skipped. Returns the number of nodes written, or -1 if a node that stays loses pods."""
    entry: cython.Py_ssize_t
    turn: cython.Py_ssize_t
    shape: cython.Py_ssize_t
    width: cython.Py_ssize_t = len(starts) - 2
    size: cython.Py_ssize_t = 0
    for entry in range(len(nodes)):
        if shapes[entry] < width and stays[nodes[entry]]:
            if counts[entry] < 0:
                return -1
            starts[shapes[entry] + 2] += counts[entry]
            size += counts[entry]
    if size > len(seated):
        return size
    for shape in range(2, width + 2):
        starts[shape] += starts[shape - 1]
    # As in `by_node`: place s + 1 runs from the start of shape s to its end.
    for entry in range(len(nodes)):
        shape = shapes[entry]
        if shape < width and stays[nodes[entry]]:
            for turn in range(counts[entry]):
                seated[starts[shape + 1] + turn] = nodes[entry]
            starts[shape + 1] += counts[entry]
    return size


def seat(
    rows: cython.int[::1],
    nodes: cython.int[::1],
    running: cython.int,
    ready: cython.int,
    pod_node: cython.int[::1],
    pod_phase: cython.uchar[::1],
    pod_flags: cython.uchar[::1],
    pod_unschedulable: cython.longlong[::1],
) -> None:
    """The pods of these rows run on these nodes."""
    entry: cython.Py_ssize_t
    for entry in range(len(rows)):
        pod_node[rows[entry]] = nodes[entry]
        pod_phase[rows[entry]] = running
        pod_flags[rows[entry]] = ready
        pod_unschedulable[rows[entry]] = 0


def renumber(pod_node: cython.int[::1], numbers: cython.int[::1]) -> None:
    """Every node by its new number (-1: gone)."""
    row: cython.Py_ssize_t
    for row in range(len(pod_node)):
        if pod_node[row] >= 0:
            pod_node[row] = numbers[pod_node[row]]
