"""The cheapest mix of a few pods by trying everything; for problems without bounds on nodes."""

from functools import cache
from itertools import product

from reconciler.decisions.growth.cost.problem import Problem


def cheapest(problem: Problem) -> int:
    """Micros an hour: over all ways to choose what goes onto the node that takes the first pod left, and so on."""

    @cache
    def price(load: tuple[int, ...]) -> int | None:
        able = [offer.price_micros for index, offer in enumerate(problem.offers) if problem.holds(index, load)]
        return min(able, default=None)

    @cache
    def rest(left: tuple[int, ...]) -> int:
        first = next((index for index, pods in enumerate(left) if pods), None)
        if first is None:
            return 0
        ranges = [range(1 if index == first else 0, pods + 1) for index, pods in enumerate(left)]
        return min(
            cost + rest(tuple(have - pods for have, pods in zip(left, load, strict=True)))
            for load in product(*ranges)
            if (cost := price(load)) is not None
        )

    return rest(tuple(item.count for item in problem.items))
