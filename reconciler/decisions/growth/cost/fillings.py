"""Filling one node: in an order that is given, by what pods are worth, or with whatever matches best what is still free."""

from array import array
from collections.abc import Sequence
from math import ceil

import msgspec

from reconciler.decisions.growth.cost.problem import Load, Problem
from reconciler.scheduling.kernels import fillings, improvements

_TURNS = 6
"""How often a node is filled by value with other weights of the resources."""


_A_POD = 1e-9
"""The share of a node that the kernels count for each pod on top of what it uses."""


class Valued(msgspec.Struct, frozen=True):
    """A load and what its pods are worth together. No load is worth more than `at_most`."""

    worth: int
    load: Load
    at_most: int


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
        worth = sum(map(int.__mul__, values, load))
        at_most = self._at_most(offer, int(order[0]), worth if rest > 0 else None) if size else 0
        return Valued(worth, load, max(worth, at_most)), 2 * steps - max(0, left) - rest

    def _at_most(self, offer: int, first: int, found: int | None) -> int:
        """What no load of the node filled last is worth more than. `first` is the item with the most value per use, and `found`
        the worth that a search came to at its end."""
        shares = sum(self._weights[kind] for kind in range(self._width) if self._free[offer * self._width + kind] > 0)
        rounding = self._keys[first] * _A_POD * (1 + sum(self.counts))
        return ceil(rounding + (self._keys[first] * shares if found is None else found))

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
