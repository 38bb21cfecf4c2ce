"""Making a mix cheaper step by step: a cheaper node for the same load, two loads on one node, a node less."""

from collections import Counter
from functools import reduce
from itertools import compress
from typing import NamedTuple

from reconciler.decisions.growth.cost.problem import Filling, Load, Mix, Problem, Room

# Beyond this many nodes (different loads) only cheaper nodes are looked for; the rest would take long and gain little.
_MOST_NODES, _MOST_LOADS = 300, 80
_PASSES, _EMPTIEST = 12, 8


def polish(problem: Problem, mix: Mix) -> Mix:
    """A mix that costs at most as much."""
    work = _Polish(problem, mix)
    work.downgrade()
    if sum(times for _, times in mix) <= _MOST_NODES and len(mix) <= _MOST_LOADS:
        for _ in range(_PASSES):
            if not work.merge() and not work.dissolve():
                break
            work.downgrade()
    return tuple(sorted((filling, times) for filling, times in work.nodes.items() if times))


class _Taken(NamedTuple):
    """What a load takes by resource, and the offers whose labels and taints let all its pods in, a bit each."""

    used: tuple[int, ...]
    offers: int

    def fits(self, offer: int, free: tuple[int, ...]) -> bool:
        """Does a node of the offer take it?"""
        return bool(self.offers >> offer & 1) and all(map(int.__le__, self.used, free))

    def with_more(self, other: "_Taken") -> "_Taken":
        """Both loads on one node."""
        return _Taken(tuple(map(int.__add__, self.used, other.used)), self.offers & other.offers)


class _Polish:
    def __init__(self, problem: Problem, mix: Mix) -> None:
        self.nodes: Counter[Filling] = Counter(dict(mix))
        self._problem = problem
        self._prices = [offer.price_micros for offer in problem.offers]
        self._by_price = sorted(range(len(problem.offers)), key=lambda offer: (self._prices[offer], offer))
        self._kinds = range(len(problem.offers[0].free))
        self._needs = [tuple(item.need[kind] for item in problem.items) for kind in self._kinds]
        # By item a bit for every offer that lets it in.
        self._lets_in = [sum(1 << offer for offer, may in enumerate(item.offers) if may) for item in problem.items]
        self._known: dict[Load, _Taken] = {}
        self._room = Room(problem)
        for filling, times in mix:
            self._room.take(filling.offer, times)

    def taken(self, load: Load) -> "_Taken":
        """What a load takes, and which offers let it in."""
        found = self._known.get(load)
        if found is None:
            used = tuple(sum(map(int.__mul__, needs, load)) for needs in self._needs)
            offers = reduce(int.__and__, compress(self._lets_in, load), (1 << len(self._prices)) - 1)
            found = self._known[load] = _Taken(used, offers)
        return found

    def downgrade(self) -> None:
        """The cheapest node that takes the load."""
        offers = self._problem.offers
        for filling in sorted(self.nodes):
            taken, left = self.taken(filling.load), self.nodes[filling]
            for offer in self._by_price:
                if self._prices[offer] >= self._prices[filling.offer] or not left:
                    break
                times = min(left, max(0, self._room.of(offer))) if taken.fits(offer, offers[offer].free) else 0
                if times:
                    self._swap(((filling, times),), ((Filling(offer, filling.load), times),))
                    left -= times

    def _swap(self, old: tuple[tuple[Filling, int], ...], new: tuple[tuple[Filling, int], ...]) -> None:
        for filling, times in old:
            self.nodes[filling] -= times
            self._room.take(filling.offer, -times)
        for filling, times in new:
            self.nodes[filling] += times
            self._room.take(filling.offer, times)

    def merge(self) -> bool:
        """Pairs of loads onto one node that costs less than both, each load looked at once."""
        changed = False
        largest = [max(offer.free[kind] for offer in self._problem.offers) for kind in self._kinds]
        present = sorted(filling for filling, times in self.nodes.items() if times)
        taken = [self.taken(filling.load) for filling in present]
        counts = [self.nodes[filling] for filling in present]
        for position, one in enumerate(present):
            for place in range(position, len(present)):
                needed = 2 if place == position else 1
                if counts[position] < needed or counts[place] < needed:
                    continue
                both = taken[position].with_more(taken[place])
                if all(map(int.__le__, both.used, largest)) and self._merge(one, present[place], both):
                    changed = True
                    counts = [self.nodes[filling] for filling in present]
        return changed

    def _merge(self, one: Filling, other: Filling, taken: "_Taken") -> bool:
        both = self._prices[one.offer] + self._prices[other.offer]
        for offer in self._by_price:
            if self._prices[offer] >= both:
                return False
            if taken.fits(offer, self._problem.offers[offer].free):
                if self._room.of(offer) <= 0:
                    continue
                load = tuple(map(int.__add__, one.load, other.load))
                self._known[load] = taken
                self._swap(((one, 1), (other, 1)), ((Filling(offer, load), 1),))
                return True
        return False

    def dissolve(self) -> bool:
        """Spread the load of one of the emptiest nodes over the free room of the others."""
        present = [filling for filling, times in self.nodes.items() if times]
        for filling in sorted(present, key=lambda one: (self._share(one), one))[:_EMPTIEST]:
            self.nodes[filling] -= 1
            moves = self._spread(filling.load)
            self.nodes[filling] += 1
            if moves is not None:
                self._swap(((filling, 1), *((old, 1) for old, _ in moves)), tuple((new, 1) for _, new in moves))
                return True
        return False

    def _share(self, filling: Filling) -> float:
        """The largest share of a resource that the load takes."""
        free = self._problem.offers[filling.offer].free
        return max(taken / have if have else 0.0 for taken, have in zip(self.taken(filling.load).used, free, strict=True))

    def _spread(self, load: Load) -> list[tuple[Filling, Filling]] | None:
        items = self._problem.items
        left = list(load)
        moves = []
        for filling in sorted(self.nodes):
            offer = self._problem.offers[filling.offer]
            spare = tuple(map(int.__sub__, offer.free, self.taken(filling.load).used))
            for _ in range(self.nodes[filling]):
                free, more = list(spare), [0] * len(left)
                for index, item in enumerate(items):
                    if left[index] and item.offers[filling.offer]:
                        many = min(left[index], *(have // need for have, need in zip(free, item.need, strict=True) if need))
                        more[index] = many
                        free = [have - need * many for have, need in zip(free, item.need, strict=True)]
                if not any(more):
                    break
                left = [have - many for have, many in zip(left, more, strict=True)]
                moves.append((filling, Filling(filling.offer, tuple(map(int.__add__, filling.load, more)))))
                if not any(left):
                    return moves
        return None
