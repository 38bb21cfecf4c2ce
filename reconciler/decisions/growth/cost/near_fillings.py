"""Fillings of one node that are worth almost their cost, given values of the pods."""

from collections.abc import Sequence

from reconciler.decisions.growth.cost.problem import Load, Problem


class Pricing:
    """Searches by depth, items by value for the resources that they take; a branch ends where no rest can be good enough."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        # All resources weigh alike, as shares of the node.
        self._weights = [[1 / amount if amount else 0.0 for amount in offer.free] for offer in problem.offers]

    def near(self, offer: int, values: Sequence[int], above: int, steps: int) -> tuple[list[Load], bool]:
        """Fillings worth more than `above` to which no pod can be added. Also whether these are all, because `steps` lasted."""
        problem = self._problem
        order = [index for index in self._order(offer, values) if problem.items[index].offers[offer]]
        search = _Search(problem, offer, order, values, above, steps)
        search.descend(0, list(problem.offers[offer].free), 0)
        return search.loads, search.steps > 0

    def _order(self, offer: int, values: Sequence[int]) -> list[int]:
        weights = self._weights[offer]
        density = [
            value / (sum(map(float.__mul__, weights, map(float, item.need))) + 1e-9)
            for item, value in zip(self._problem.items, values, strict=True)
        ]
        return sorted(range(len(density)), key=density.__getitem__, reverse=True)


class _Search:
    def __init__(self, problem: Problem, offer: int, order: list[int], values: Sequence[int], above: int, steps: int) -> None:
        self.loads: list[Load] = []
        self.steps = steps
        self._above = above
        self._order = order
        self._values = [values[index] for index in order]
        self._needs = [problem.items[index].need for index in order]
        free = problem.offers[offer].free
        self._most = [
            min(
                problem.items[index].count,
                *(have // need for have, need in zip(free, problem.items[index].need, strict=True) if need),
            )
            for index in order
        ]
        self._kinds = range(len(free))
        self._width = len(problem.items)
        self._chosen = [0] * len(order)
        # By depth: the most that a unit of each resource can still bring, and the most that all items together can.
        self._dense = [[0.0] * len(free) for _ in range(len(order) + 1)]
        self._whole = [0] * (len(order) + 1)
        for depth in range(len(order) - 1, -1, -1):
            self._whole[depth] = self._whole[depth + 1] + self._values[depth] * self._most[depth]
            for kind in self._kinds:
                need = self._needs[depth][kind]
                mine = self._values[depth] / need if need else float("inf")
                self._dense[depth][kind] = max(mine, self._dense[depth + 1][kind])

    def descend(self, depth: int, free: list[int], value: int) -> None:
        """All fillings from this item on."""
        self.steps -= 1
        if depth == len(self._order) and value > self._above and self._full(free):
            self.loads.append(self._load(depth))
        if depth == len(self._order) or self.steps <= 0:
            return
        # What is used up and needed by nobody is no number here, which `min` passes over: the first one is.
        hope = min(self._whole[depth], *map(float.__mul__, map(float, free), self._dense[depth]))
        if value + hope <= self._above:
            return
        need, gain = self._needs[depth], self._values[depth]
        most = self._most[depth]
        for have, want in zip(free, need, strict=True):
            if have < want * most:
                most = have // want
        for pods in range(most, -1, -1):
            self._chosen[depth] = pods
            self.descend(depth + 1, [have - want * pods for have, want in zip(free, need, strict=True)], value + gain * pods)
        self._chosen[depth] = 0

    def _load(self, depth: int) -> Load:
        load = [0] * self._width
        for position, pods in enumerate(self._chosen[:depth]):
            load[self._order[position]] = pods
        return tuple(load)

    def _full(self, free: list[int]) -> bool:
        """Can no pod be added?"""
        return not any(
            pods < most and all(map(int.__le__, need, free))
            for pods, most, need in zip(self._chosen, self._most, self._needs, strict=True)
        )
