"""Making a mix cheaper step by step: a cheaper node for the same load, two loads on one node, a node less."""

from collections import Counter

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


class _Polish:
    def __init__(self, problem: Problem, mix: Mix) -> None:
        self.nodes: Counter[Filling] = Counter(dict(mix))
        self._problem = problem
        self._prices = [offer.price_micros for offer in problem.offers]
        self._by_price = sorted(range(len(problem.offers)), key=lambda offer: (self._prices[offer], offer))
        self._kinds = range(len(problem.offers[0].free))
        self._used: dict[Load, tuple[int, ...]] = {}
        self._room = Room(problem)
        for filling, times in mix:
            self._room.take(filling.offer, times)

    def used(self, load: Load) -> tuple[int, ...]:
        """What a load takes, by resource."""
        found = self._used.get(load)
        if found is None:
            pairs = [(item.need, pods) for item, pods in zip(self._problem.items, load, strict=True) if pods]
            found = self._used[load] = tuple(sum(need[kind] * pods for need, pods in pairs) for kind in self._kinds)
        return found

    def lets_in(self, offer: int, load: Load) -> bool:
        """Do the node's labels and taints let all pods of the load in?"""
        return all(item.offers[offer] for item, pods in zip(self._problem.items, load, strict=True) if pods)

    def downgrade(self) -> None:
        """The cheapest node that takes the load."""
        offers = self._problem.offers
        for filling in sorted(self.nodes):
            used = self.used(filling.load)
            for offer in self._by_price:
                if self._prices[offer] >= self._prices[filling.offer] or not self.nodes[filling]:
                    break
                fits = all(map(int.__le__, used, offers[offer].free)) and self.lets_in(offer, filling.load)
                times = min(self.nodes[filling], max(0, self._room.of(offer))) if fits else 0
                if times:
                    self._swap(((filling, times),), ((Filling(offer, filling.load), times),))

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
        for position, one in enumerate(present):
            for other in present[position:]:
                needed = 2 if one == other else 1
                if self.nodes[one] < needed or self.nodes[other] < needed:
                    continue
                sums = tuple(map(int.__add__, self.used(one.load), self.used(other.load)))
                if all(map(int.__le__, sums, largest)) and self._merge(one, other, sums):
                    changed = True
        return changed

    def _merge(self, one: Filling, other: Filling, sums: tuple[int, ...]) -> bool:
        both = self._prices[one.offer] + self._prices[other.offer]
        load = tuple(map(int.__add__, one.load, other.load))
        for offer in self._by_price:
            if self._prices[offer] >= both:
                return False
            if all(map(int.__le__, sums, self._problem.offers[offer].free)) and self.lets_in(offer, load):
                if self._room.of(offer) <= 0:
                    continue
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
        return max(taken / have if have else 0.0 for taken, have in zip(self.used(filling.load), free, strict=True))

    def _spread(self, load: Load) -> list[tuple[Filling, Filling]] | None:
        items = self._problem.items
        left = list(load)
        moves = []
        for filling in sorted(self.nodes):
            offer = self._problem.offers[filling.offer]
            spare = tuple(map(int.__sub__, offer.free, self.used(filling.load)))
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
