"""Makes a mix cheaper in steps: a cheaper node for a load, two loads on one node, one node less.

At last two loads on one node that costs as much as both.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reconciler.decisions.growth.cost.problem import Filling, Load, Mix, Problem, Room, nodes_of

# Beyond this many nodes (different loads) only cheaper nodes are looked for; the rest would take long and gain little.
_MOST_NODES, _MOST_LOADS = 300, 80
_PASSES, _EMPTIEST = 12, 8


def polish(problem: Problem, mix: Mix) -> Mix:
    """A mix that costs at most as much, and has no more nodes."""
    work = _Polish(problem, mix)
    work.downgrade()
    if nodes_of(mix) <= _MOST_NODES and len(mix) <= _MOST_LOADS:
        for _ in range(_PASSES):
            if not work.merge() and not work.dissolve():
                break
            work.downgrade()
        for _ in range(_PASSES):
            if not work.merge(as_dear=True) and not work.gather():
                break
    return tuple(sorted((filling, times) for filling, times in work.nodes.items() if times))


class _Taken(NamedTuple):
    """What a load takes by resource, and the offers whose labels and taints let all its pods in, a bit each."""

    used: tuple[int, ...]
    offers: int

    def with_more(self, other: "_Taken") -> "_Taken":
        """Both loads on one node."""
        return _Taken(tuple(map(int.__add__, self.used, other.used)), self.offers & other.offers)


class _Sizes:
    """Which offers have room for what is taken, a bit each, the cheapest offer first."""

    def __init__(self, problem: Problem) -> None:
        offers = problem.offers
        self.by_price = sorted(range(len(offers)), key=lambda offer: (offers[offer].price_micros, offer))
        self._steps: list[tuple[list[int], list[int]]] = []
        for kind in range(len(offers[0].free)):
            sizes = sorted({offer.free[kind] for offer in offers})
            bits = [self.bits(offers[offer].free[kind] >= size for offer in range(len(offers))) for size in sizes]
            self._steps.append((sizes, [*bits, 0]))

    def bits(self, are: Iterable[bool]) -> int:
        """A bit for each offer that is told to be, in order of price."""
        flags = list(are)
        return sum(1 << rank for rank, offer in enumerate(self.by_price) if flags[offer])

    def taking(self, taken: _Taken, among: int = -1) -> Iterator[int]:
        """The offers that take it, the cheapest first, of those `among` which are asked for."""
        bits = taken.offers & among
        if not bits:
            return
        for amount, (sizes, of) in zip(taken.used, self._steps, strict=True):
            bits &= of[bisect_left(sizes, amount)]
        while bits:
            lowest = bits & -bits
            yield self.by_price[lowest.bit_length() - 1]
            bits ^= lowest


class _Polish:
    def __init__(self, problem: Problem, mix: Mix) -> None:
        self.nodes: Counter[Filling] = Counter(dict(mix))
        self._problem = problem
        self._prices = [offer.price_micros for offer in problem.offers]
        self._sizes = _Sizes(problem)
        self._needs = [item.need for item in problem.items]
        self._nothing = (0,) * len(problem.offers[0].free)
        self._every = (1 << len(problem.offers)) - 1
        self._lets_in = [self._sizes.bits(item.offers) for item in problem.items]
        self._known: dict[Load, _Taken] = {}
        self._room = Room(problem)
        for filling, times in mix:
            self._room.take(filling.offer, times)

    def taken(self, load: Load) -> "_Taken":
        """What a load takes, and which offers let it in."""
        taken = self._known.get(load)
        if taken is None:
            used, offers = self._nothing, self._every
            for index, pods in enumerate(load):
                if pods:
                    used = tuple([have + need * pods for have, need in zip(used, self._needs[index], strict=True)])
                    offers &= self._lets_in[index]
            taken = self._known[load] = _Taken(used, offers)
        return taken

    def downgrade(self) -> None:
        """The cheapest node that takes the load."""
        for filling in sorted(self.nodes):
            left = self.nodes[filling]
            for offer in self._sizes.taking(self.taken(filling.load)):
                if self._prices[offer] >= self._prices[filling.offer] or not left:
                    break
                times = min(left, max(0, self._room.of(offer)))
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

    def merge(self, *, as_dear: bool = False) -> bool:
        """Pairs of loads onto one node that costs less than both (`as_dear`: or as much), each load looked at once."""
        changed = False
        present = sorted(filling for filling, times in self.nodes.items() if times)
        taken = [self.taken(filling.load) for filling in present]
        counts = [self.nodes[filling] for filling in present]
        open_offers = self._open()
        for position, one in enumerate(present):
            if not open_offers:
                # Only a merge makes room, and none is left.
                break
            for place in range(position, len(present)):
                needed = 2 if place == position else 1
                if counts[position] < needed or counts[place] < needed:
                    continue
                both = taken[position].with_more(taken[place])
                if self._merge(one, present[place], both, open_offers, as_dear=as_dear):
                    changed = True
                    counts = [self.nodes[filling] for filling in present]
                    open_offers = self._open()
        return changed

    def _open(self) -> int:
        """The offers of which the bounds allow more nodes, a bit each."""
        return self._sizes.bits(self._room.of(offer) > 0 for offer in range(len(self._prices)))

    def _merge(self, one: Filling, other: Filling, taken: "_Taken", open_offers: int, *, as_dear: bool) -> bool:
        both = self._prices[one.offer] + self._prices[other.offer]
        for offer in self._sizes.taking(taken, open_offers):
            if self._prices[offer] > both or (self._prices[offer] == both and not as_dear):
                return False
            load = tuple(map(int.__add__, one.load, other.load))
            self._known[load] = taken
            self._swap(((one, 1), (other, 1)), ((Filling(offer, load), 1),))
            return True
        return False

    def gather(self) -> bool:
        """Several loads onto one node that costs at most as much as theirs together, the dearest that fit first."""
        present = sorted(self.nodes.elements(), key=lambda one: (-self._prices[one.offer], one))
        for rank, offer in reversed(list(enumerate(self._sizes.by_price))):
            if self._room.of(offer) <= 0:
                continue
            chosen, left = [], self._problem.offers[offer].free
            for filling in present:
                used, offers = self.taken(filling.load)
                if filling.offer != offer and offers >> rank & 1 and all(map(int.__le__, used, left)):
                    chosen.append(filling)
                    left = tuple(map(int.__sub__, left, used))
            if len(chosen) > 1 and sum(self._prices[filling.offer] for filling in chosen) >= self._prices[offer]:
                load = tuple(map(sum, zip(*(filling.load for filling in chosen), strict=True)))
                self._swap(tuple(Counter(chosen).items()), ((Filling(offer, load), 1),))
                return True
        return False

    def dissolve(self) -> bool:
        """Spread the load of one of the emptiest nodes over the free room of the others."""
        present = [filling for filling, times in self.nodes.items() if times]
        roomy = [(filling, spare) for filling in sorted(present) if (spare := self._spare(filling)) is not None]
        if not roomy:
            return False
        for filling in sorted(present, key=lambda one: (self._share(one), one))[:_EMPTIEST]:
            self.nodes[filling] -= 1
            moves = self._spread(filling.load, roomy)
            self.nodes[filling] += 1
            if moves is not None:
                self._swap(((filling, 1), *((old, 1) for old, _ in moves)), tuple((new, 1) for _, new in moves))
                return True
        return False

    def _share(self, filling: Filling) -> float:
        """The largest share of a resource that the load takes."""
        free = self._problem.offers[filling.offer].free
        return max(taken / have if have else 0.0 for taken, have in zip(self.taken(filling.load).used, free, strict=True))

    def _spare(self, filling: Filling) -> tuple[int, ...] | None:
        """What is free next to a load; None where that is too little for any pod."""
        spare = tuple(map(int.__sub__, self._problem.offers[filling.offer].free, self.taken(filling.load).used))
        for item in self._problem.items:
            if item.offers[filling.offer] and all(map(int.__ge__, spare, item.need)):
                return spare
        return None

    def _spread(self, load: Load, roomy: Sequence[tuple[Filling, tuple[int, ...]]]) -> list[tuple[Filling, Filling]] | None:
        items = self._problem.items
        left = list(load)
        moves = []
        for filling, spare in roomy:
            for _ in range(self.nodes[filling]):
                free, more = list(spare), [0] * len(left)
                for index, item in enumerate(items):
                    if left[index] and item.offers[filling.offer]:
                        pods = min(left[index], *(have // need for have, need in zip(free, item.need, strict=True) if need))
                        more[index] = pods
                        free = [have - need * pods for have, need in zip(free, item.need, strict=True)]
                if not any(more):
                    break
                left = [have - pods for have, pods in zip(left, more, strict=True)]
                moves.append((filling, Filling(filling.offer, tuple(map(int.__add__, filling.load, more)))))
                if not any(left):
                    return moves
        return None


def work(problem: Problem) -> int:
    """Steps that the plan's budget is charged, about one a question whether a pod shape fits a node."""
    return 100 * len(problem.items) * len(problem.offers)
