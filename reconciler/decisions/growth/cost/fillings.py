"""Filling one node: in an order that is given, by what pods are worth, or with whatever matches best what is still free."""

from array import array
from collections.abc import Sequence

import msgspec

from reconciler.decisions.growth.cost.master import Master, Prices
from reconciler.decisions.growth.cost.problem import Filling, Load, Problem
from reconciler.scheduling.kernels import fillings, improvements

_TURNS = 6
"""How often a node is filled by value with other weights of the resources."""


class Valued(msgspec.Struct, frozen=True):
    """A load and what its pods are worth together."""

    worth: int
    load: Load


class NodeFilling:
    """Ways to fill one node of each offer of a problem."""

    def __init__(self, problem: Problem) -> None:
        self._width = len(problem.offers[0].free)
        self._items = items = len(problem.items)
        offers = len(problem.offers)
        self.counts = array("q", [item.count for item in problem.items])
        self._needs = array("q", [need for item in problem.items for need in item.need])
        self._free = array("q", [amount for offer in problem.offers for amount in offer.free])
        self._may = bytearray(item.offers[offer] for offer in range(offers) for item in problem.items)
        self._left = array("q", bytes(8 * self._width))
        self._base = array("q", bytes(8 * self._width))
        self._least = array("q", bytes(8 * self._width * items))
        self._rows = array("q", bytes(8 * items * _TURNS))
        self._worths = array("q", bytes(8 * _TURNS))
        self._judged = array("q", bytes(8 * _TURNS))
        self._weights = array("d", bytes(8 * self._width))
        self._keys = array("d", bytes(8 * items))
        # As it was the last time: values change little between two questions.
        self._order = array("i", range(items)) * offers

    def by_worth(self, offer: int, worth: "array[int]", left: "array[int]") -> Load:
        """As `by_value` with as many of each item as there are left, the load worth most alone."""
        self._fill(offer, worth, left)
        return tuple(self._row(self._best()))

    def by_value(self, offer: int, values: "array[int]", judge: "array[int]", above: int, most: int) -> list[Load]:
        """Loads in order of value per use, with each resource weighted by its scarcity. They are the `most` loads with the
        highest worth by `values`, if they are worth more than `above` by `judge`."""
        self._fill(offer, values, self.counts)
        fillings.worths_of(judge, self._rows, _TURNS, self._judged)
        rows = dict(zip(self._worths, range(_TURNS), strict=True))
        best = [rows[worth] for worth in sorted(rows, reverse=True)[:most]]
        return [tuple(self._row(row)) for row in best if self._judged[row] > above]

    def improved(self, offer: int, values: "array[int]", counts: "array[int]", steps: int) -> tuple[Valued, int]:
        """The best of `by_value` for so many pods of each item, improved by exchanging pods, then by a search in order of value.
        Each may use `steps`; a step is a look at one item. Also the number of steps used."""
        size = self._fill(offer, values, counts)
        items = self._items
        best, trial = self._row(self._best()), array("q", bytes(8 * items))
        order = self._order[offer * items : offer * items + size]
        columns = counts, self._needs, self._width, self._free
        left = improvements.exchange(values, *columns, offer, order, self._least, self._left, self._base, trial, best, steps)
        rest = improvements.search(values, *columns, offer, order, self._keys, self._weights, self._left, trial, best, steps)
        load = tuple(best)
        return Valued(sum(map(int.__mul__, values, load)), load), 2 * steps - max(0, left) - rest

    def _fill(self, offer: int, values: "array[int]", counts: "array[int]") -> int:
        return fillings.fill_by_value(
            values, counts, self._needs, self._width, self._free, self._may, offer, offer + 1, _TURNS, self._weights, self._keys,
            self._order, self._left, self._rows, self._worths,
        )  # fmt: skip

    def _best(self) -> int:
        """The first of the rows of one offer that are worth most."""
        return max(range(_TURNS), key=lambda turn: (self._worths[turn], -turn))

    def _row(self, row: int) -> "array[int]":
        return self._rows[row * self._items : (row + 1) * self._items]


class FirstFits:
    """One node of each offer of a problem filled first fit, in each of some orders of all items, with the pods that are left."""

    def __init__(self, problem: Problem, orders: Sequence[Sequence[int]]) -> None:
        self._width = len(problem.offers[0].free)
        self._items = items = len(problem.items)
        self._ways = len(orders)
        self._orders = array("i", [item for order in orders for item in order])
        self._needs = array("q", [need for item in problem.items for need in item.need])
        self._free = array("q", [amount for offer in problem.offers for amount in offer.free])
        self._may = bytearray(item.offers[offer] for offer in range(len(problem.offers)) for item in problem.items)
        self._left = array("q", bytes(8 * self._width))
        rows = len(problem.offers) * self._ways
        self._loads = array("q", bytes(8 * items * rows))
        self._known = bytearray(rows)
        self._renewed = array("i", bytes(4 * rows))
        self.gains = array("q", bytes(8 * rows))

    def renew(self, left: "array[int]", usable: bytearray, worth: "array[int]") -> "array[int]":
        """Fill again if too few pods are left for the previous filling, with nodes of `usable` offers only. Returns the new rows:
        `offer * orders + order`. `gains` has the worth of the pods by row."""
        row_count = fillings.fill_each(
            self._orders, self._ways, left, self._needs, self._width, self._free, self._may, usable, self._left, self._loads,
            self._known, self._renewed, worth, self.gains,
        )  # fmt: skip
        return self._renewed[:row_count]

    def load(self, row: int) -> Load:
        """What is on the node of a row."""
        return tuple(self._loads[row * self._items : (row + 1) * self._items])


def match(problem: Problem, offer: int, left: Sequence[int]) -> Load:
    """One pod after the other, always the one whose needs match the free amounts best.

    Source: the dot-product rule for packing in several dimensions. See Panigrahy, Talwar, Uyeda, Wieder: Heuristics for vector
    bin packing, 2011. Amounts are compared as shares of the node.
    """
    offered = problem.offers[offer].free
    free = list(offered)
    load = [0] * len(left)
    open_items = [index for index, pods in enumerate(left) if pods and problem.items[index].offers[offer]]
    while open_items:
        best, best_score = -1, 0.0
        weights = [have / (total * total) if total else 0.0 for have, total in zip(free, offered, strict=True)]
        still = []
        for index in open_items:
            need = problem.items[index].need
            if load[index] >= left[index] or any(want > have for want, have in zip(need, free, strict=True)):
                continue
            still.append(index)
            score = sum(want * weight for want, weight in zip(need, weights, strict=True))
            if score > best_score:
                best, best_score = index, score
        if best < 0:
            break
        load[best] += 1
        free = [have - want for have, want in zip(free, problem.items[best].need, strict=True)]
        open_items = still
    return tuple(load)


# Which fillings of one node are worth almost what it costs at given values of the pods.


class Pricing:
    """Searches by depth, items by value for the resources that they take; a branch ends where no rest can be good enough."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        # All resources weigh alike, as shares of the node.
        self._weights = [[1 / amount if amount else 0.0 for amount in offer.free] for offer in problem.offers]

    def near(self, offer: int, values: Sequence[int], above: int, steps: int) -> list[Load]:
        """Fillings worth more than `above` to which no pod can be added, all of them if `steps` last."""
        problem = self._problem
        order = [index for index in self._order(offer, values) if problem.items[index].offers[offer]]
        search = _Search(problem, offer, order, values, above, steps)
        search.descend(0, list(problem.offers[offer].free), 0)
        return search.loads

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


# Fillings that pay: those that the linear program would use are found round by round, within counted work.

ROUNDING = 5  # micros: what duals lose when they become integers
_ROUNDS = 300
_OF_EACH = 2  # fillings of an offer that one round adds
_ENOUGH = 6  # fillings that a closer look adds before the linear program says what they change
_CLOSE_STEPS, _CLOSER, _CLOSEST_STEPS = 30_000, 4, 1_000_000
# The work that all rounds of a problem may take, in steps of a closer look. A node filled by value costs a number of steps per
# item. The linear program costs a number per item and filling. Both were measured. With 20 offers, this bound ends the rounds
# from 50 items on. Without it, twice the items took 1.4 to 1.7 times as long, for mixes whose cost was the same within 0.3 %.
_ALL_STEPS, _STEPS_BY_VALUE, _STEPS_OF_PROGRAM = 14_000_000, 12, 1


def generate(problem: Problem, master: Master) -> Prices | None:
    """Add fillings that the linear program would use, until none is found or the work is used up. First come nodes filled by
    value, then results of ever closer searches. None if the program did not finish.

    Values are the mean of the last ones and those before, because they change much between programs (P. Wentges: Weighted
    Dantzig-Wolfe decomposition, 1997).
    """
    search = _ColumnsSearch(problem)
    prices = master.relaxed()
    if prices is None:
        return None
    smooth = prices.values
    for _ in range(_ROUNDS):
        smooth = [(one + other) // 2 for one, other in zip(smooth, prices.values, strict=True)]
        if not search.by_value(master, prices, smooth):
            if not search.closely(master, prices):
                break
            smooth = prices.values
        search.left -= _STEPS_OF_PROGRAM * len(problem.items) * len(master.fillings)
        prices = master.relaxed()
        if prices is None or search.left <= 0:
            break
    return prices


class _ColumnsSearch:
    """Fillings that are worth more than their node costs; `left` is the work that all rounds may still take."""

    def __init__(self, problem: Problem) -> None:
        self.left = _ALL_STEPS
        self._items = len(problem.items)
        self._every = range(len(problem.offers))
        self._node = NodeFilling(problem)
        self._steps = _CLOSE_STEPS
        # Offers that gave something the last time: mostly they do so again. The first that a closer look begins with.
        self._likely: Sequence[int] = self._every
        self._first = 0

    def by_value(self, master: Master, prices: Prices, smooth: Sequence[int]) -> int:
        """Add nodes filled by `smooth` values, or by those of the last program where they give nothing; how many are new."""
        for values, offers in ((smooth, self._likely), (prices.values, self._every)):
            worths, judge = array("q", values), array("q", prices.values)
            candidates = [
                Filling(offer, load)
                for offer in offers
                for load in self._node.by_value(offer, worths, judge, prices.prices[offer] + ROUNDING, _OF_EACH)
            ]
            self.left -= _STEPS_BY_VALUE * self._items * len(offers)
            added = master.add(candidates)
            if added:
                self._likely = sorted({filling.offer for filling in candidates})
                return added
        self._likely = self._every
        return 0

    def closely(self, master: Master, prices: Prices) -> int:
        """Add what a closer look gives, ever closer until that is something; how many are new."""
        while self.left > 0 and self._steps <= _CLOSEST_STEPS:
            added = master.add(self._looked_at(prices))
            if added:
                return added
            self._steps *= _CLOSER
        return 0

    def _looked_at(self, prices: Prices) -> list[Filling]:
        """The best of so many steps an offer, of enough offers, the one after the last first."""
        values, best_fillings = array("q", prices.values), list[Filling]()
        for offer in (*self._every[self._first :], *self._every[: self._first]):
            best, taken = self._node.improved(offer, values, self._node.counts, self._steps)
            self.left -= taken
            if best.worth > prices.prices[offer] + ROUNDING:
                best_fillings.append(Filling(offer, best.load))
                if len(best_fillings) == _ENOUGH:
                    self._first = (offer + 1) % len(self._every)
                    break
        return best_fillings
