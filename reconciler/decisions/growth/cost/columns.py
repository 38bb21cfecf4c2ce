"""Generates the fillings that a linear program would use, round by round, within counted work."""

from array import array
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from msgspec.structs import replace

from reconciler.decisions.growth.cost.fillings import NodeFilling, Valued
from reconciler.decisions.growth.cost.master import Master, Prices
from reconciler.decisions.growth.cost.problem import Filling, Problem

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
        search.at_most.clear()
        prices = master.relaxed()
        if prices is None or search.left <= 0:
            break
    return None if prices is None else replace(prices, proved=search.proved(problem, prices), exact=search.nothing_pays(prices))


class _ColumnsSearch:
    """Fillings that are worth more than their node costs. `left` is the work that all rounds may still take. `at_most` has, by
    offer, what no filling is worth more than by the last program, if a closer look found that."""

    def __init__(self, problem: Problem) -> None:
        self.left = _ALL_STEPS
        self.at_most: dict[int, int] = {}
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
            if added or self.nothing_pays(prices):
                return added
            self._steps *= _CLOSER
        return 0

    def nothing_pays(self, prices: Prices) -> bool:
        """Whether the last look proved of every offer that no filling is left that a look would add."""
        return len(self.at_most) == len(self._every) and all(
            most <= prices.prices[offer] + ROUNDING for offer, most in self.at_most.items()
        )

    def _looked_at(self, prices: Prices) -> list[Filling]:
        """The best of so many steps an offer, of enough offers, the one after the last first."""
        values, best_fillings = array("q", prices.values), list[Filling]()
        for offer in (*self._every[self._first :], *self._every[: self._first]):
            best = self._look(offer, values, self._steps)
            if best.worth > prices.prices[offer] + ROUNDING:
                best_fillings.append(Filling(offer, best.load))
                if len(best_fillings) == _ENOUGH:
                    self._first = (offer + 1) % len(self._every)
                    break
        return best_fillings

    def _look(self, offer: int, values: "array[int]", steps: int) -> Valued:
        best, taken = self._node.improved(offer, values, self._node.counts, steps)
        self.left -= taken
        self.at_most[offer] = min(best.at_most, self.at_most.get(offer, best.at_most))
        return best

    def proved(self, problem: Problem, prices: Prices) -> int:
        """What no mix costs less than. Values are scaled down until no filling is worth more than its node costs.

        Source: A. A. Farley: A note on bounding a class of linear programming problems, including cutting stock problems, 1990.
        """
        values, share = array("q", prices.values), Fraction(1)
        for index, offer in enumerate(problem.offers):
            if index not in self.at_most:
                self._look(index, values, _CLOSE_STEPS)
            # With caps, the value of the bounds on a node is rounded.
            worth = self.at_most[index] - (prices.prices[index] - offer.price_micros - bool(problem.caps))
            if worth > offer.price_micros:
                share = min(share, Fraction(offer.price_micros, worth))
        asked = sum(value * item.count for value, item in zip(prices.values, problem.items, strict=True))
        return max(0, ceil((asked - prices.charged) * share))
