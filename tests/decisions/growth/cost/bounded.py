"""Small random problems with bounds on nodes, all ways to fill one node, and the cheapest mix by trying everything."""

import random
from functools import cache
from itertools import product

from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Load, Mix, Offer, Problem


def bounded(seed: int) -> Problem:
    """At most nine pods of three items on three offers, of which there are few, under one or two bounds over several."""
    rng = random.Random(seed)
    offers = tuple(
        Offer(
            price_micros=rng.randint(3, 12) * 10_000,
            free=(rng.randint(2, 7), rng.randint(2, 7)),
            most=rng.choice((1, 2, 3, 20)),
        )
        for _ in range(3)
    )
    items = tuple(
        Item(
            count=rng.randint(1, 3),
            need=(rng.randint(0, 2), rng.randint(1, 2)),
            offers=(True, rng.random() < 0.8, rng.random() < 0.8),
        )
        for _ in range(3)
    )
    caps = tuple(Cap(rng.randint(3, 7), tuple(rng.randint(0, 3) for _ in offers)) for _ in range(rng.choice((1, 1, 2))))
    return Problem(items, offers, tuple(cap for cap in caps if any(cap.weights)))


def every_filling(problem: Problem) -> list[Filling]:
    """All that one node may take, nothing left out but the empty node."""
    loads = list(product(*(range(item.count + 1) for item in problem.items)))
    return [
        Filling(offer, load) for offer in range(len(problem.offers)) for load in loads if any(load) and problem.holds(offer, load)
    ]


@cache
def cheapest_bounded(problem: Problem) -> tuple[int, int] | None:
    """Micros an hour of the cheapest mix and the fewest nodes that such a mix has; None where nothing places all pods."""
    fillings = every_filling(problem)

    @cache
    def rest(left: Load, most: tuple[int, ...], bounds: tuple[int, ...]) -> tuple[int, int] | None:
        first = next((index for index, pods in enumerate(left) if pods), None)
        if first is None:
            return 0, 0
        found = []
        for offer, load in fillings:
            taken = tuple(bound - cap.weights[offer] for bound, cap in zip(bounds, problem.caps, strict=True))
            if not load[first] or not most[offer] or min(taken, default=0) < 0 or any(map(int.__gt__, load, left)):
                continue
            fewer = tuple(many - (index == offer) for index, many in enumerate(most))
            after = rest(tuple(map(int.__sub__, left, load)), fewer, taken)
            if after is not None:
                found.append((after[0] + problem.offers[offer].price_micros, after[1] + 1))
        return min(found, default=None)

    pods = tuple(item.count for item in problem.items)
    few = tuple(min(offer.most, sum(pods)) for offer in problem.offers)
    return rest(pods, few, tuple(cap.bound for cap in problem.caps))


def some_mix(problem: Problem) -> Mix | None:
    """Any mix that places everything: one pod a node wherever that is allowed, else the first that is found."""
    fillings = every_filling(problem)

    def rest(left: Load, most: tuple[int, ...], bounds: tuple[int, ...]) -> list[Filling] | None:
        first = next((index for index, pods in enumerate(left) if pods), None)
        if first is None:
            return []
        for offer, load in fillings:
            taken = tuple(bound - cap.weights[offer] for bound, cap in zip(bounds, problem.caps, strict=True))
            if not load[first] or not most[offer] or min(taken, default=0) < 0 or any(map(int.__gt__, load, left)):
                continue
            fewer = tuple(many - (index == offer) for index, many in enumerate(most))
            after = rest(tuple(map(int.__sub__, left, load)), fewer, taken)
            if after is not None:
                return [Filling(offer, load), *after]
        return None

    pods = tuple(item.count for item in problem.items)
    found = rest(pods, tuple(min(offer.most, sum(pods)) for offer in problem.offers), tuple(cap.bound for cap in problem.caps))
    return None if found is None else tuple(sorted((filling, found.count(filling)) for filling in set(found)))
