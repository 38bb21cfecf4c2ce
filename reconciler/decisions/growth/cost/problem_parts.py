"""Splits a problem into independent parts: they share no pods and no bounds."""

from collections.abc import Container
from itertools import compress

import msgspec

from reconciler.decisions.growth.cost.problem import Filling, Mix, Problem


class Part(msgspec.Struct, frozen=True):
    """One part as a problem of its own; `items` and `offers` are their numbers in the whole problem."""

    problem: Problem
    items: tuple[int, ...]
    offers: tuple[int, ...]

    def of(self, mix: Mix) -> Mix:
        """What a mix of the whole problem has in this part."""
        offers = {offer: place for place, offer in enumerate(self.offers)}
        return tuple(
            (Filling(offers[filling.offer], tuple(filling.load[item] for item in self.items)), times)
            for filling, times in mix
            if filling.offer in offers
        )

    def whole(self, mix: Mix, width: int) -> list[tuple[Filling, int]]:
        """A mix of this part as one of the whole problem, which has `width` items."""
        pairs = []
        for filling, times in mix:
            load = [0] * width
            for item, pods in zip(self.items, filling.load, strict=True):
                load[item] = pods
            pairs.append((Filling(self.offers[filling.offer], tuple(load)), times))
        return pairs


def parts(problem: Problem, useful: Container[int] | None = None) -> list[Part]:
    """The parts in order of their first items, with the offers that are `useful` (None: all). The problem itself is the one part
    if a bound is over several offers."""
    if problem.caps:
        return [Part(problem, tuple(range(len(problem.items))), tuple(range(len(problem.offers))))]
    # By offer the first item of its part.
    part_of: dict[int, int] = {}
    known = set[tuple[int, ...]]()
    for number, item in enumerate(problem.items):
        offers = tuple(offer for offer in compress(range(len(item.offers)), item.offers) if useful is None or offer in useful)
        if offers in known:
            # Whatever goes to the same nodes is in one part already.
            continue
        known.add(offers)
        joined = {part_of[offer] for offer in offers if offer in part_of} | {number}
        first = min(joined)
        part_of = {offer: first if part in joined else part for offer, part in part_of.items()}
        part_of.update(dict.fromkeys(offers, first))
    firsts = sorted(set(part_of.values()))
    return [_part(problem, [offer for offer, part in sorted(part_of.items()) if part == first]) for first in firsts]


def _part(problem: Problem, offers: list[int]) -> Part:
    items = [number for number, item in enumerate(problem.items) if any(item.offers[offer] for offer in offers)]
    chosen = tuple(
        msgspec.structs.replace(problem.items[number], offers=tuple(problem.items[number].offers[offer] for offer in offers))
        for number in items
    )
    part = Problem(items=chosen, offers=tuple(problem.offers[offer] for offer in offers))
    return Part(part, tuple(items), tuple(offers))
