"""Consolidation as Karpenter documents it, on the clusters of `repack_gap`, to compare evictions and cost.

SOURCE: karpenter.sh, concepts, disruption, "Consolidation". Empty nodes go first. Then several nodes go together, with at most
one cheaper new node. Then one node goes, with at most one cheaper new node. Candidates are sorted by the cost of disruption: here
their number of pods. Of the first 100, a binary search finds how many go together. The new node costs less than each node
of its own kind that goes. Pods are placed largest first, on nodes that are there before the new one.

Machines come at once, and pods move where the trial placed them. So this is the best that the rule can do.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

MOST_TOGETHER = 100
Requests = tuple[int, ...]


class Machine(msgspec.Struct, frozen=True):
    """A kind of node: its price in millionths per hour, and what it offers to pods."""

    price_micros: int
    free: Requests


class Stands(msgspec.Struct):
    """A node with its pods."""

    machine: Machine
    pods: list[Requests]


class Came(msgspec.Struct, frozen=True):
    """What the rule came to."""

    cost_micros: int
    evictions: int


def consolidated(nodes: Sequence[Stands], machines: Sequence[Machine]) -> Came:
    """The end of the rule: nothing is empty, and neither several nodes nor one can go."""
    there, evictions = list(nodes), 0
    while True:
        there = sorted((node for node in there if node.pods), key=lambda node: len(node.pods))
        moved = _several(there, machines)
        for index in range(len(there)) if moved is None else ():
            moved = _without(there, {index}, machines)
            if moved is not None:
                break
        if moved is None:
            return Came(sum(node.machine.price_micros for node in there), evictions)
        there, count = moved
        evictions += count


def _several(there: Sequence[Stands], machines: Sequence[Machine]) -> tuple[list[Stands], int] | None:
    """As many of the first nodes as a binary search finds, two at least."""
    least, most, found = 2, min(len(there), MOST_TOGETHER), None
    while least <= most:
        middle = (least + most) // 2
        moved = _without(there, set(range(middle)), machines)
        if moved is None:
            most = middle - 1
        else:
            least, found = middle + 1, moved
    return found


def _without(there: Sequence[Stands], gone: set[int], machines: Sequence[Machine]) -> tuple[list[Stands], int] | None:
    """The nodes without those at these positions, and how many pods moved; None if that takes more than one cheaper node."""
    stay = [node for index, node in enumerate(there) if index not in gone]
    pods = sorted((pod for index in gone for pod in there[index].pods), reverse=True)
    free = np.array([_left(node) for node in stay], dtype=np.int64).reshape(len(stay), len(machines[0].free))
    added: list[list[Requests]] = [[] for _ in stay]
    waiting = []
    for pod in pods:
        fits = (free >= pod).all(axis=1)
        place = int(fits.argmax()) if stay else 0
        if stay and fits[place]:
            free[place] -= pod
            added[place].append(pod)
        else:
            waiting.append(pod)
    new = []
    if waiting:
        needed = [sum(column) for column in zip(*waiting, strict=True)]
        replaced = [there[index].machine for index in gone]
        fitting = [one for one in machines if all(map(int.__ge__, one.free, needed))]
        # A new node of a kind that goes is a detour: the others of that kind could go alone.
        bound = min([sum(one.price_micros for one in replaced), *(one.price_micros for one in fitting if one in replaced)])
        fitting = [one for one in fitting if one.price_micros < bound]
        if not fitting:
            return None
        new = [Stands(min(fitting, key=lambda one: one.price_micros), waiting)]
    return [*(Stands(node.machine, node.pods + more) for node, more in zip(stay, added, strict=True)), *new], len(pods)


def _left(node: Stands) -> list[int]:
    used = [sum(column) for column in zip(*node.pods, strict=True)] or [0] * len(node.machine.free)
    return [offered - taken for offered, taken in zip(node.machine.free, used, strict=True)]
