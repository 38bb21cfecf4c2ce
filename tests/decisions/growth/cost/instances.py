"""Random instances of pods and priced groups, by seed: amounts that clusters really use, prices near what such nodes cost."""

import random

import msgspec

from reconciler.decisions.growth.cost.greedy import greedy, ways_to_fill, worths
from reconciler.decisions.growth.cost.problem import Item, Mix, Offer, Problem

_QUARTER_GIB = 1 << 28


def instance(seed: int, *, pods: int = 200, shapes: int = 8, offers: int = 8) -> Problem:
    """At least `pods` pods. Resources: cpu, memory, pods; every third instance has a fourth that two shapes need."""
    rng = random.Random(seed)
    fourth = seed % 3 == 0
    bought = []
    for number in range(offers):
        cores = rng.choice((4, 8, 8, 16, 16, 32))
        gib = cores * rng.choice((2, 4, 8))
        cards = rng.choice((1, 2, 4)) if fourth and number % 3 == 0 else 0
        micros = int((cores * 31_611 + gib * 4_237) * rng.uniform(0.8, 1.25)) + cards * 400_000
        free = (cores * 1000 - 250, (gib * 4 - 3) * _QUARTER_GIB, 110, *((cards,) if fourth else ()))
        bought.append(Offer(price_micros=micros // 100 * 100, free=free, most=1000))
    asked = []
    for number in range(shapes):
        cpu = rng.choice((500, 750, 1000, 1500, 2000, 3000, 3500))
        quarters = max(2, cpu * 4 * rng.choice((1, 2, 3, 4, 6, 8)) // 1000)
        card = 1 if fourth and number < 2 else 0
        need = (cpu, quarters * _QUARTER_GIB, 1, *((card,) if fourth else ()))
        closed = rng.randrange(offers) if rng.random() < 0.3 else -1
        lets_in = tuple(
            index != closed and all(n <= f for n, f in zip(need, offer.free, strict=True)) for index, offer in enumerate(bought)
        )
        count = rng.randint(pods // shapes, 2 * pods // shapes)
        asked.append(Item(count=count, need=need, offers=lets_in))
    return Problem(items=tuple(item for item in asked if any(item.offers)), offers=tuple(bought))


def few_pods(seed: int) -> Problem:
    """At most twelve pods of an instance."""
    rng = random.Random(seed)
    problem = instance(seed, pods=8, shapes=rng.randint(2, 4), offers=rng.randint(2, 6))
    items, left = [], 12
    for item in problem.items:
        count = min(item.count, left)
        left -= count
        if count:
            items.append(msgspec.structs.replace(item, count=count))
    return msgspec.structs.replace(problem, items=tuple(items))


def one_choice(problem: Problem) -> Mix:
    """A plain answer that places everything: nodes filled from large to small, the best for its price again and again."""
    mix = greedy(problem, worths(problem)[0], ways_to_fill(problem).first(1))
    assert mix is not None
    return mix
