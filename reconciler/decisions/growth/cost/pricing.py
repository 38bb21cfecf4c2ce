"""Which filling of one node would be worth most at given values of the pods: quickly, or exactly within a number of steps."""

from collections.abc import Sequence

from reconciler.decisions.growth.cost.filling import fill
from reconciler.decisions.growth.cost.problem import Load, Problem


class Pricing:
    """Searches by depth, items by value for the resources that they take; a branch ends where no rest can be good enough."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._counts = [item.count for item in problem.items]
        kinds = range(len(problem.offers[0].free))
        # Weights under which the items are ordered: all resources alike as shares of the node, then each one alone.
        self._weights = [
            [
                [1 / offer.free[kind] if offer.free[kind] and chosen in (kind, -1) else 0.0 for kind in kinds]
                for chosen in (-1, *kinds)
            ]
            for offer in problem.offers
        ]

    def quick(self, offer: int, values: Sequence[int]) -> list[Load]:
        """Fillings in order of value for what a pod takes, by each weighing of the resources."""
        found = [fill(self._problem, offer, order, self._counts) for order in self._orders(offer, values)]
        return list(dict.fromkeys(found))

    def exact(self, offer: int, values: Sequence[int], above: int, steps: int) -> tuple[Load | None, bool]:
        """The filling worth most if that is above `above`, and whether the search came to its end within `steps`."""
        problem = self._problem
        order = [index for index in self._orders(offer, values)[0] if values[index] > 0 and problem.items[index].offers[offer]]
        search = _Search(problem, offer, order, values, above, steps)
        search.descend(0, list(problem.offers[offer].free), 0)
        if search.best is None:
            return None, search.steps > 0
        return self._filled_up(offer, search.best), search.steps > 0

    def near(self, offer: int, values: Sequence[int], above: int, steps: int) -> list[Load]:
        """Fillings worth more than `above` to which no pod can be added, all of them if `steps` last."""
        problem = self._problem
        order = [index for index in self._orders(offer, values)[0] if problem.items[index].offers[offer]]
        search = _Search(problem, offer, order, values, above, steps)
        search.found = []
        search.descend(0, list(problem.offers[offer].free), 0)
        return search.found

    def _filled_up(self, offer: int, load: Load) -> Load:
        """With the room that is left given to pods without value: it may serve when numbers become whole."""
        problem = self._problem
        free = list(problem.offers[offer].free)
        full = list(load)
        for item, pods in zip(problem.items, load, strict=True):
            free = [have - need * pods for have, need in zip(free, item.need, strict=True)]
        for index in self._orders(offer, [1] * len(load))[0][::-1]:
            item = problem.items[index]
            if item.offers[offer]:
                many = min(item.count - full[index], *(have // need for have, need in zip(free, item.need, strict=True) if need))
                full[index] += many
                free = [have - need * many for have, need in zip(free, item.need, strict=True)]
        return tuple(full)

    def _orders(self, offer: int, values: Sequence[int]) -> list[list[int]]:
        items = self._problem.items
        found = []
        for weights in self._weights[offer]:
            density = [
                value / (sum(map(float.__mul__, weights, map(float, item.need))) + 1e-9)
                for item, value in zip(items, values, strict=True)
            ]
            found.append(sorted(range(len(items)), key=density.__getitem__, reverse=True))
        return found


class _Search:
    def __init__(self, problem: Problem, offer: int, order: list[int], values: Sequence[int], above: int, steps: int) -> None:
        self.best: Load | None = None
        self.found: list[Load] | None = None
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
        if self.found is not None:
            if depth == len(self._order) and value > self._above and self._full(free):
                self.found.append(self._load(depth))
        elif value > self._above:
            self._above = value
            self.best = self._load(depth)
        if depth == len(self._order) or self.steps <= 0:
            return
        hope = min(
            self._whole[depth],
            *(have * dense for have, dense in zip(free, self._dense[depth], strict=True) if have or dense < 1e300),
        )
        if value + hope <= self._above:
            return
        need, gain = self._needs[depth], self._values[depth]
        many = self._most[depth]
        for have, want in zip(free, need, strict=True):
            if want and have < want * many:
                many = have // want
        for pods in range(many, -1, -1):
            self._chosen[depth] = pods
            self.descend(depth + 1, [have - want * pods for have, want in zip(free, need, strict=True)], value + gain * pods)
        self._chosen[depth] = 0

    def _load(self, depth: int) -> Load:
        load = [0] * self._width
        for position, many in enumerate(self._chosen[:depth]):
            load[self._order[position]] = many
        return tuple(load)

    def _full(self, free: list[int]) -> bool:
        """Can no pod be added?"""
        return not any(
            many < most and all(map(int.__le__, need, free))
            for many, most, need in zip(self._chosen, self._most, self._needs, strict=True)
        )
