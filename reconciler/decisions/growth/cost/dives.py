"""Whole nodes from a linear program. Take the nodes that it is sure of, solve it again for the pods that are left, and so on.

Source: diving heuristics with column generation, as in Sadykov, Vanderbeck, Pessoa, Tahiri, Uchoa: Primal heuristics for
branch-and-price, 2019. Whole-number searches of a solver took ten times as long, for mixes that cost 0.2 % less on average.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence

from reconciler.decisions.growth.cost.fillings import NodeFilling
from reconciler.decisions.growth.cost.master import Master, Prices
from reconciler.decisions.growth.cost.problem import Filling, Mix, Problem, Room, remainder

_SURE = 1e-6
_ROUNDS = 5  # how often fillings are looked for before a node is taken
_STEPS_OF_A_NODE = 300  # for one node filled with the pods that are left
_MOST_STEPS = 1_000_000  # of all dives of one problem, a step being one item in one filling of a linear program

Preference = Callable[[Problem, Prices, Filling, float], float]
"""How much a filling is wanted of which the linear program has only a part."""


def _worth(problem: Problem, prices: Prices, filling: Filling, _: float) -> float:
    price = problem.offers[filling.offer].price_micros
    return sum(map(int.__mul__, prices.values, filling.load)) / max(1, price)


PREFERENCES: tuple[Preference, ...] = (
    lambda _problem, _prices, _filling, part: part,
    _worth,
    lambda problem, _prices, filling, part: part * problem.offers[filling.offer].price_micros,
    lambda problem, _prices, filling, _part: -problem.offers[filling.offer].price_micros,
)


class Dives:
    """Of one problem, one for each of `PREFERENCES`."""

    def __init__(self, problem: Problem, master: Master) -> None:
        self._problem = problem
        self._master = master
        self._node = NodeFilling(problem)
        self._left = _MOST_STEPS

    def dive(self, prices: Prices, below: int, preference: Preference) -> Mix | None:
        """All pods on whole nodes; None if that cannot cost less than `below` micros. `prices` are those of the whole problem."""
        taken, rest = Counter[Filling](), self._problem
        solved: Prices | None = prices
        while solved is not None and self._left > 0:
            nodes = self._sure(rest, solved) or self._wanted(rest, solved, preference)
            if not nodes:
                break
            taken.update(dict(nodes))
            rest = remainder(rest, tuple(nodes))
            if not any(item.count for item in rest.items):
                return tuple(sorted(taken.items()))
            solved = self._solved(rest)
            if solved is None or self._problem.cost(tuple(taken.items())) + solved.bound >= below - 1:
                break
        return None

    def _sure(self, rest: Problem, prices: Prices) -> list[tuple[Filling, int]]:
        """Fillings that the linear program has whole, as often as there are pods for them."""
        left, nodes = [item.count for item in rest.items], []
        for amount, filling in sorted(self._used(prices, 1 - _SURE), reverse=True):
            times = min(int(amount + _SURE), *(left[item] // pods for item, pods in enumerate(filling.load) if pods))
            if times:
                nodes.append((filling, times))
                left = [have - pods * times for have, pods in zip(left, filling.load, strict=True)]
        return nodes

    def _wanted(self, rest: Problem, prices: Prices, preference: Preference) -> list[tuple[Filling, int]]:
        """The filling that is wanted most, once: of those for which there are enough pods, or else the pods that are left.
        Nothing if the bounds allow no node of which the linear program has a part."""
        left, room = [item.count for item in rest.items], Room(rest)
        some = [pair for pair in self._used(prices, _SURE) if room.of(pair[1].offer) > 0]
        if not some:
            return []

        def rank(pair: tuple[float, Filling]) -> tuple[bool, float, float, Filling]:
            part, filling = pair
            return _within(filling.load, left), preference(rest, prices, filling, part), part, filling

        _, filling = max(some, key=rank)
        return [(Filling(filling.offer, tuple(map(min, filling.load, left))), 1)]

    def _used(self, prices: Prices, least: float) -> list[tuple[float, Filling]]:
        """Fillings that the linear program uses at least so much, with how much. Those that came later are not in it."""
        return [pair for pair in zip(prices.amounts, self._master.fillings, strict=False) if pair[0] >= least]

    def _solved(self, rest: Problem) -> Prices | None:
        """The linear program for the pods that are left, with fillings made for them."""
        counts = array("q", [item.count for item in rest.items])
        self._master.pose(rest)
        prices = self._master.relaxed()
        for _ in range(_ROUNDS):
            self._left -= len(rest.items) * len(self._master.fillings)
            if prices is None:
                return None
            values, found = array("q", prices.values), []
            for offer, price in enumerate(prices.prices):
                best, _ = self._node.improved(offer, values, counts, _STEPS_OF_A_NODE)
                if best.worth > price:
                    found.append(Filling(offer, best.load))
            if not self._master.add(found):
                break
            prices = self._master.relaxed()
        return prices


def _within(load: Sequence[int], left: Sequence[int]) -> bool:
    return all(map(int.__le__, load, left))
