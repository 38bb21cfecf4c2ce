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
