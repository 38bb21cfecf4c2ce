"""A first mix without a solver: the filling with the lowest cost per worth of its pods, repeated."""

from array import array
from collections.abc import Callable, Sequence

import msgspec

from reconciler.decisions.growth.cost.fillings import FirstFits, NodeFilling, match
from reconciler.decisions.growth.cost.problem import Filling, Load, Mix, Problem, Room

_SCALE = 1 << 40
SMALL = 100
"""Size of a problem up to which ways are tried that take much longer than they are worth in larger ones."""

Filler = Callable[[int, "array[int]", "array[int]"], Load]
"""What one node of an offer takes, of items that are worth so much each, with so many pods of each left."""


class Ways(msgspec.Struct, frozen=True):
    """How a node may be filled: in each of these orders of all items, then by each filler."""

    orders: tuple[tuple[int, ...], ...]
    fillers: tuple[Filler, ...]

    def first(self, count: int) -> "Ways":
        """So many of them."""
        return Ways(self.orders[:count], self.fillers[: max(0, count - len(self.orders))])


def greedy(problem: Problem, worth: Sequence[int], ways: Ways) -> Mix | None:
    """The lowest price for the worth (by item) over all offers and ways to fill a node, repeated while there are pods for it.
    None if the bounds do not allow all pods."""
    left = array("q", [item.count for item in problem.items])
    values = array("q", worth)
    room = Room(problem)
    mix: list[tuple[Filling, int]] = []
    known: dict[tuple[int, int], tuple[Load, int]] = {}
    orders = len(ways.orders)
    in_order = FirstFits(problem, ways.orders)
    # By offer the best of its fillings, its price over what they are worth being the least: a row of `in_order` or a load.
    best_of: list[tuple[int | Load, int]] = [(-1, 0)] * len(problem.offers)
    while any(left):
        usable = bytearray(room.of(offer) > 0 for offer in range(len(problem.offers)))
        changed = {row // orders for row in in_order.renew(left, usable, values)}
        best: int | Load = -1
        best_offer, best_price, best_worth = -1, 1, 0
        for offer, terms in enumerate(problem.offers):
            if not usable[offer]:
                continue
            price = terms.price_micros
            for way, filler in enumerate(ways.fillers):
                load, gain = known.get((offer, way), ((), 0))
                # A filling hangs on how many pods are left only where they are too few for it.
                if not load or not all(map(int.__le__, load, left)):
                    load = filler(offer, values, left)
                    known[offer, way] = load, sum(map(int.__mul__, worth, load))
                    changed.add(offer)
            if offer in changed:
                rows = [(row, in_order.gains[row]) for row in range(offer * orders, (offer + 1) * orders)]
                best_of[offer] = _first_best(price, [*rows, *(known[offer, way] for way in range(len(ways.fillers)))])
            filling, gain = best_of[offer]
            # Of offers that cost the same for it the one that takes the most: fewer nodes.
            if gain and (best_offer < 0 or (price * best_worth, best_worth) < (best_price * gain, gain)):
                best, best_offer, best_price, best_worth = filling, offer, price, gain
        if best_offer < 0:
            return None
        chosen = Filling(best_offer, in_order.load(best) if isinstance(best, int) else best)
        # Of hundreds of items a node has a few.
        on_it = [index for index, pods in enumerate(chosen.load) if pods]
        times = min(room.of(chosen.offer), *(left[index] // chosen.load[index] for index in on_it))
        room.take(chosen.offer, times)
        for index in on_it:
            left[index] -= chosen.load[index] * times
        mix.append((chosen, times))
    return problem.trimmed(mix)


def _first_best(price: int, choices: Sequence[tuple[int | Load, int]]) -> tuple[int | Load, int]:
    """Of fillings and what they are worth the first that is worth most for the price; of those for nothing the first."""
    if price:
        return max(choices, key=lambda one: one[1])
    return next((one for one in choices if one[1]), choices[0])


def worths(problem: Problem) -> list[list[int]]:
    """The worth of one pod of each item: its share of the total requests, of a node's offer, and of the scarcer resource."""
    kinds = range(len(problem.offers[0].free))
    asked = [sum(item.need[kind] * item.count for item in problem.items) or 1 for kind in kinds]
    offered = [sum(offer.free[kind] for offer in problem.offers) or 1 for kind in kinds]
    scarce = [asked[kind] * _SCALE // offered[kind] for kind in kinds]
    return [
        [sum(need * _SCALE // total for need, total in zip(item.need, asked, strict=True)) + 1 for item in problem.items],
        [sum(need * _SCALE // total for need, total in zip(item.need, offered, strict=True)) + 1 for item in problem.items],
        [
            sum(need * weight // total for need, total, weight in zip(item.need, offered, scarce, strict=True)) + 1
            for item in problem.items
        ],
    ]


def orders(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Orders of items from large to small: by the largest share of any resource, and by each resource alone."""
    kinds = range(len(problem.offers[0].free))
    largest = [max(offer.free[kind] for offer in problem.offers) or 1 for kind in kinds]
    shares = [[need * _SCALE // most for need, most in zip(item.need, largest, strict=True)] for item in problem.items]
    keys = [[max(row) for row in shares], [sum(row) for row in shares], *([row[kind] for row in shares] for kind in kinds)]
    item_orders = [sorted(range(len(shares)), key=key.__getitem__, reverse=True) for key in keys]
    return tuple(dict.fromkeys(map(tuple, item_orders)))


def ways_to_fill(problem: Problem) -> Ways:
    """All ways to fill a node that the start tries."""
    fillers: list[Filler] = [NodeFilling(problem).by_worth]
    if problem.size <= SMALL:
        fillers.append(lambda offer, _, left: match(problem, offer, left))
    return Ways(orders(problem), tuple(fillers))
