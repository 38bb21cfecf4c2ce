"""The nodes to add, as plain numbers: pods by shape, nodes by group, bounds on nodes."""

from collections import Counter
from collections.abc import Iterable
from math import ceil, gcd
from operator import itemgetter
from typing import NamedTuple

import msgspec

_ROUNDING = 1e-8  # of a bound: what it may be too high as a floating-point number

Load = tuple[int, ...]
"""Pods a node takes, by item."""


class Filling(NamedTuple):
    """One new node of an offer and what is on it."""

    offer: int
    load: Load


Mix = tuple[tuple[Filling, int], ...]
"""Fillings and how often each is used, in canonical order."""


class Item(msgspec.Struct, frozen=True):
    """Pods of one shape: how many, what one needs by resource, and the offers (by index) that let it in."""

    count: int
    need: tuple[int, ...]
    offers: tuple[bool, ...]


class Offer(msgspec.Struct, frozen=True):
    """A group that may grow: the price of one node an hour, what is free on it by resource, and how many it may gain."""

    price_micros: int
    free: tuple[int, ...]
    most: int


class Cap(msgspec.Struct, frozen=True):
    """A bound over several offers: the sum of nodes times `weights` (by offer) stays at `bound` or below."""

    bound: int
    weights: tuple[int, ...]


class Problem(msgspec.Struct, frozen=True):
    """All pods of all items must be placed; the order of items and offers is canonical and breaks ties."""

    items: tuple[Item, ...]
    offers: tuple[Offer, ...]
    caps: tuple[Cap, ...] = ()

    @property
    def size(self) -> int:
        """Items times offers: what the work hangs on."""
        return len(self.items) * len(self.offers)

    def cost(self, mix: Mix) -> int:
        """Micros an hour."""
        return sum(self.offers[filling.offer].price_micros * times for filling, times in mix)

    def reachable(self, bound: float) -> int:
        """The least cost that a mix can have if none costs less than `bound`."""
        return reachable(bound, (offer.price_micros for offer in self.offers))

    def rank(self, mix: Mix) -> tuple[int, int]:
        """The least is the best: the cost, of those that cost the same the fewest nodes. A cloud's sizes mostly cost the same for
        what they have, and each node has to be booted, patched and watched."""
        return self.cost(mix), nodes_of(mix)

    def holds(self, offer: int, load: Load) -> bool:
        """Does one node of the offer take the load?"""
        left = list(self.offers[offer].free)
        for index, pods in enumerate(load):
            if pods:
                item = self.items[index]
                if not item.offers[offer]:
                    return False
                left = [have - need * pods for have, need in zip(left, item.need, strict=True)]
        return not any(load) or all(amount >= 0 for amount in left)

    def proper(self, mix: Mix) -> bool:
        """Are all pods placed, every node within what it offers, every bound kept?"""
        nodes = [0] * len(self.offers)
        placed = [0] * len(self.items)
        for filling, times in mix:
            nodes[filling.offer] += times
            for index, pods in enumerate(filling.load):
                if pods:
                    placed[index] += pods * times
        return (
            all(pods == item.count for pods, item in zip(placed, self.items, strict=True))
            and all(node_count <= offer.most for node_count, offer in zip(nodes, self.offers, strict=True))
            and all(sum(w * n for w, n in zip(cap.weights, nodes, strict=True)) <= cap.bound for cap in self.caps)
            and all(self.holds(filling.offer, filling.load) for filling, _ in mix)
        )

    def trimmed(self, mix: Iterable[tuple[Filling, int]]) -> Mix:
        """The same nodes without pods beyond the number asked for, and without nodes that are left empty."""
        left = [item.count for item in self.items]
        kept: Counter[Filling] = Counter()
        for filling, times in sorted(mix, key=itemgetter(0)):
            wanted, load = times, filling.load
            # Of hundreds of items a node has a few.
            on_it = [index for index, pods in enumerate(load) if pods]
            while wanted > 0:
                # As often as all of it is asked for; what is cut off is cut off once.
                whole = min((left[index] // load[index] for index in on_it), default=0)
                node_count = min(wanted, whole) or 1
                if not whole:
                    load = tuple(map(min, load, left))
                    on_it = [index for index in on_it if load[index]]
                    if not on_it:
                        break
                kept[Filling(filling.offer, load)] += node_count
                for index in on_it:
                    left[index] -= load[index] * node_count
                wanted -= node_count
        return tuple(sorted(kept.items()))


def reachable(bound: float, prices: Iterable[int]) -> int:
    """The least cost of nodes at these prices if none costs less than `bound`: a multiple of what divides all prices."""
    unit = gcd(*prices) or 1
    return -(-ceil(bound * (1 - _ROUNDING)) // unit) * unit


def nodes_of(mix: Mix) -> int:
    """How many nodes a mix has."""
    return sum(times for _, times in mix)


class Room:
    """How many more nodes of each offer the bounds allow while a mix is put together."""

    def __init__(self, problem: Problem) -> None:
        self._most = [offer.most for offer in problem.offers]
        self._caps = problem.caps
        self._bounds = [cap.bound for cap in problem.caps]

    def of(self, offer: int) -> int:
        """Nodes of the offer that may still be added."""
        most = self._most[offer]
        for bound, cap in zip(self._bounds, self._caps, strict=True):
            if cap.weights[offer] > 0:
                most = min(most, bound // cap.weights[offer])
        return most

    def take(self, offer: int, nodes: int) -> None:
        """Add nodes (negative: give back)."""
        self._most[offer] -= nodes
        for index, cap in enumerate(self._caps):
            self._bounds[index] -= cap.weights[offer] * nodes


def remainder(problem: Problem, mix: Mix) -> Problem:
    """What is left to place next to the nodes of `mix`, within the remaining bounds."""
    nodes = [0] * len(problem.offers)
    left = [item.count for item in problem.items]
    for filling, times in mix:
        nodes[filling.offer] += times
        left = [have - pods * times for have, pods in zip(left, filling.load, strict=True)]
    return msgspec.structs.replace(
        problem,
        items=tuple(msgspec.structs.replace(item, count=pods) for item, pods in zip(problem.items, left, strict=True)),
        offers=tuple(
            msgspec.structs.replace(offer, most=max(0, offer.most - node_count))
            for offer, node_count in zip(problem.offers, nodes, strict=True)
        ),
        caps=tuple(
            msgspec.structs.replace(cap, bound=cap.bound - sum(w * n for w, n in zip(cap.weights, nodes, strict=True)))
            for cap in problem.caps
        ),
    )


def stand_ins(problem: Problem) -> list[int]:
    """By offer another one that is always at least as good, or itself. It is not dearer, has as much of each resource, lets the
    same items in, and has room for all pods. Of equal offers the first."""
    everything = sum(item.count for item in problem.items)
    own = list(range(len(problem.offers)))
    lets_in = [sum(1 << index for index, item in enumerate(problem.items) if item.offers[offer]) for offer in own]
    if problem.caps:
        return own
    best: list[int] = []
    for offer in sorted(
        own, key=lambda one: (problem.offers[one].price_micros, [-have for have in problem.offers[one].free], one)
    ):
        free = problem.offers[offer].free
        for other in best:
            if lets_in[offer] & ~lets_in[other] == 0 and all(map(int.__ge__, problem.offers[other].free, free)):
                own[offer] = other
                break
        else:
            if problem.offers[offer].most >= everything:
                best.append(offer)
    return own
