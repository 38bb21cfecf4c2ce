"""Generates the fillings that a linear program would use, round by round, within counted work."""

from array import array
from collections.abc import Sequence

from reconciler.decisions.growth.cost.fillings import NodeFilling
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
