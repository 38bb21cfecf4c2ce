"""The pods that wait for a node. There may be tens of thousands of them, so they are listed once for a decision, by shape."""

from array import array
from collections.abc import Mapping, Sequence

from reconciler.cluster.pods.pod_table import FINISHED_PHASES, pod_flags
from reconciler.cluster.world import World
from reconciler.scheduling.kernels import loops

WaitingPods = Mapping[int, Sequence[int]]
"""Rows of pods, by shape and in World order."""


def as_range(rows: Sequence[int]) -> Sequence[int]:
    """The same rising rows, as a range if none is left out."""
    return range(rows[0], rows[-1] + 1) if len(rows) == rows[-1] - rows[0] + 1 else rows


def waiting_pods(world: World) -> WaitingPods:
    """`PodTable.pending`, by shape. Shapes without such a pod are not in it."""
    pods, shapes = world.pods, len(world.pod_shapes)
    starts, order = array("i", bytes(4 * (shapes + 2))), array("i", bytes(4 * len(pods)))
    columns = (pods.node, pods.deletion_seconds, pods.phase, pods.flags, pods.shape)
    if not loops.waiting_pods(*columns, *FINISHED_PHASES, pod_flags(ready=False, gated=True), starts, order):
        return {}
    waiting = {shape: order[starts[shape] : starts[shape + 1]] for shape in range(shapes) if starts[shape] < starts[shape + 1]}
    if pods.unknown_node:
        waiting = {shape: array("i", (row for row in rows if row not in pods.unknown_node)) for shape, rows in waiting.items()}
    return {shape: as_range(rows) for shape, rows in waiting.items() if rows}


def waiting_since(world: World, waiting: WaitingPods) -> Mapping[int, int]:
    """By shape: since when the first of its pods waits (Unix seconds)."""
    refused, created = world.pods.unschedulable_seconds, world.pods.created_seconds
    since = {}
    for shape, rows in waiting.items():
        first = min(map(refused.__getitem__, rows))
        # 0 where kube-scheduler has said nothing yet.
        since[shape] = first or min(refused[row] or created[row] for row in rows)
    return since
