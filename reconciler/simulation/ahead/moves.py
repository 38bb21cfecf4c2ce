"""Which pods go where when what a decision foresees comes true."""

from array import array
from collections import defaultdict

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.outcome.foreseen import Foreseen
from reconciler.scheduling.departing import departing
from reconciler.scheduling.kernels import loops, rows


class Moves(msgspec.Struct, frozen=True):
    """`nodes`: where the pods of `rows` go, one for each (new ones behind those of the World); `evicted` are those of them that
    ran, `gone` rows of pods that end with their node."""

    rows: "array[int]"
    nodes: "array[int]"
    evicted: "array[int]"
    gone: "array[int]"

    @staticmethod
    def of(world: World, foreseen: Foreseen) -> "Moves | None":
        """None where what was bound is not what these pods need, or a pod cannot simply be made again elsewhere."""
        leaving = bytearray(len(world.nodes))
        for group in foreseen.groups:
            for index in group.leaving:
                leaving[index] = 1
        evicted, gone = (departing(world, leaving, ending=ending) for ending in (False, True))
        lone = {number for number, traits in enumerate(world.pod_traits) if traits.controller is None}
        if not lone.isdisjoint(_taken(world.pods.traits, evicted)):
            return None
        movers = array("i", foreseen.placed) + evicted
        wanted, order = _starts(world), _room(movers)
        loops.by_node(_taken(world.pods.shape, movers), wanted, order)
        offered, nodes = _starts(world), _room(movers)
        if _seats(world, foreseen, leaving, offered, nodes) != len(movers) or wanted != offered:
            return None
        moving = [shape for shape, first, end in zip(world.pod_shapes, wanted, wanted[1:], strict=False) if first < end]
        if any(shape.volumes or shape.claims for shape in moving):
            return None
        return Moves(_taken(movers, order), nodes, evicted, gone)


def _seats(world: World, foreseen: Foreseen, leaving: bytearray, starts: "array[int]", found: "array[int]") -> int:
    """Write the nodes that pods go to, once for each pod and shape by shape, and where each shape starts; DaemonSet pods of new
    nodes are none of them. How many there are; below zero where a node that stays loses pods."""
    daemons = [(new.index, shape) for group in foreseen.groups for new in group.joining for shape in new.daemons]
    nodes = foreseen.nodes + array("i", [node for node, _ in daemons])
    shapes = foreseen.shapes + array("i", [shape for _, shape in daemons])
    counts = foreseen.counts + array("i", (-1,)) * len(daemons)
    stays = bytearray(not leaves for leaves in leaving) + b"\1" * (max(nodes, default=0) + 1)
    many = rows.seats(nodes, shapes, counts, stays, starts, found)
    if many >= 0:
        return many
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for node, shape, count in zip(nodes, shapes, counts, strict=True):
        sums[node, shape] += count
    nodes, shapes = (array("i", column) for column in zip(*sums, strict=True))
    starts[:] = _starts(world)
    return rows.seats(nodes, shapes, array("i", sums.values()), stays, starts, found)


def _starts(world: World) -> "array[int]":
    return array("i", bytes(4 * (len(world.pod_shapes) + 2)))


def _room(column: "array[int]") -> "array[int]":
    return array("i", bytes(4 * len(column)))


def _taken(column: "array[int]", order: "array[int]") -> "array[int]":
    found = _room(order)
    if order:
        loops.take(memoryview(column).cast("B"), 4, order, memoryview(found).cast("B"))
    return found
