"""Which pods go where when what a decision foresees comes true."""

from collections import defaultdict
from itertools import compress

import msgspec

from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.cluster.world import World
from reconciler.decisions.outcome.foreseen import Foreseen


class Moves(msgspec.Struct, frozen=True):
    """`to`: by row of a pod, the node that it goes to (new ones behind those of the World); `evicted` are those of them that ran,
    `gone` rows of pods that end with their node."""

    to: dict[int, int]
    evicted: tuple[int, ...]
    gone: tuple[int, ...]

    @staticmethod
    def of(world: World, foreseen: Foreseen) -> "Moves | None":
        """None where what was bound is not what these pods need, or a pod cannot simply be made again elsewhere."""
        pods = world.pods
        leaving = bytearray(len(world.nodes) + 1)  # the last one stands for pods without a node
        for group in foreseen.groups:
            for index in group.leaving:
                leaving[index] = 1
        seats = _seats(world, foreseen, leaving)
        if seats is None:
            return None
        movers: list[int] = []
        gone: list[int] = []
        if any(leaving):
            # With their node end pods that nobody evicts, and those that have ended already.
            ends = bytes(traits.daemonset or traits.mirror for traits in world.pod_traits)
            lone = {number for number, traits in enumerate(world.pod_traits) if traits.controller is None}
            kinds, phases = pods.traits, pods.phase
            for row in compress(range(len(pods)), map(leaving.__getitem__, pods.node)):
                kind = kinds[row]
                if ends[kind] or phases[row] in FINISHED_PHASES:
                    gone.append(row)
                elif kind in lone:
                    return None
                else:
                    movers.append(row)
        to: dict[int, int] = {}
        shapes = pods.shape
        for row in (*foreseen.placed, *movers):
            free = seats.get(shapes[row])
            if not free:
                return None
            to[row] = free.pop()
        bound = {shapes[row] for row in to}
        if any(seats.values()) or any(world.pod_shapes[shape].volumes or world.pod_shapes[shape].claims for shape in bound):
            return None
        return Moves(to, tuple(movers), tuple(gone))


def _seats(world: World, foreseen: Foreseen, leaving: bytearray) -> dict[int, list[int]] | None:
    """By shape the nodes that pods go to, once for each pod, the first of them last; None where a node that stays loses pods."""
    width = len(world.pod_shapes)
    many: dict[int, int] = {}
    here = len(world.nodes)
    for node, shape, count in zip(foreseen.nodes, foreseen.shapes, foreseen.counts, strict=True):
        if shape < width and (node >= here or not leaving[node]):  # shapes beyond stand for headroom
            place = shape + node * width
            many[place] = many.get(place, 0) + count
    for group in foreseen.groups:
        for new in group.joining:
            for shape in new.daemons:
                many[shape + new.index * width] -= 1
    seats: dict[int, list[int]] = defaultdict(list)
    for place, count in reversed(many.items()):
        node, shape = divmod(place, width)
        if count < 0:
            return None
        seats[shape].extend([node] * count)
    return seats
