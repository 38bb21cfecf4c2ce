"""The least hourly cost over mixes: start without a solver, columns while they pay, whole numbers within counted work."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import gcd
from types import ModuleType

import msgspec

from reconciler.decisions.growth.cost.columns import ROUNDING, generate
from reconciler.decisions.growth.cost.dives import PREFERENCES, Dives
from reconciler.decisions.growth.cost.greedy import SMALL, greedy, ways_to_fill, worths
from reconciler.decisions.growth.cost.master import Master, Prices
from reconciler.decisions.growth.cost.near_fillings import Pricing
from reconciler.decisions.growth.cost.polish import polish
from reconciler.decisions.growth.cost.problem import Filling, Item, Mix, Problem, nodes_of, remainder, stand_ins
from reconciler.decisions.growth.cost.problem_parts import parts

_LARGE = 200  # size above which only quick steps are taken
_FEW_WAYS = 2  # ways to fill a node that large problems try
_ENOUGH_PERMILLE = 4  # so far above the linear program's bound the search ends
_PROVED_PERMILLE = 1000  # one part of so many is the most that a proved bound may be below that of the linear program
_FEW_PODS = 40  # of which the cheapest mix of all is searched for
_BRANCH_NODES = 5
_NEAR_STEPS, _NEAR_FILLINGS = 2_000, 60


class Answer(msgspec.Struct, frozen=True):
    """The cheapest mix found and its cost in micros. No mix costs less than `bound_micros` (0: nothing is known). This is
    `proved`, or the linear program over the fillings that were found says so."""

    mix: Mix
    cost_micros: int
    bound_micros: int = 0
    proved: bool = True
    solver_missing: bool = False


def least_cost(problem: Problem, given: Mix, solver: Callable[[], ModuleType | None]) -> Answer:
    """At most as dear as `given`, which places everything, and of no more nodes where as dear. `solver` is called where a mix may
    still be cheaper."""
    if not problem.proper(given):
        return Answer(given, problem.cost(given))
    instead = stand_ins(problem)
    apart = parts(problem, frozenset(instead))
    moved = Counter[Filling]()
    for filling, times in given:
        moved[Filling(instead[filling.offer], filling.load)] += times
    mix = tuple(sorted(moved.items()))
    answers = [_least_cost(part.problem, part.of(mix), solver) for part in apart]
    width = len(problem.items)
    pairs = [pair for part, answer in zip(apart, answers, strict=True) for pair in part.whole(answer.mix, width)]
    return Answer(
        tuple(sorted(pairs)),
        sum(answer.cost_micros for answer in answers),
        sum(answer.bound_micros for answer in answers),
        all(answer.proved for answer in answers),
        any(answer.solver_missing for answer in answers),
    )


def _least_cost(problem: Problem, given: Mix, solver: Callable[[], ModuleType | None]) -> Answer:
    """Method: column generation for the cutting-stock form of the problem (Gilmore, Gomory 1961), with one knapsack per offer.
    Then dives round its linear program. For few pods, a solve in whole numbers chooses among the columns.
    """
    start = greedy_mix(problem, given) if _few(problem) else _cheapest(problem, [given, given])
    least = problem.reachable(at_least(problem, start))
    if problem.cost(start) <= least:
        return Answer(start, problem.cost(start), problem.cost(start))
    highs = solver()
    if highs is not None:
        master = Master(highs, problem)
        for mix in (given, start):
            master.add(filling for filling, _ in mix)
        prices = generate(problem, master)
        if prices is not None:
            best, optimal = _whole(problem, master, prices, start)
            cost = problem.cost(best)
            known = cost if optimal else max(least, problem.reachable(prices.proved))
            bound = max(known, problem.reachable(prices.bound))
            proved = known * _PROVED_PERMILLE >= min(cost, bound) * (_PROVED_PERMILLE - 1)
            return Answer(best, cost, min(cost, known if proved else bound), proved)
    best = greedy_mix(problem, start)
    return Answer(best, problem.cost(best), least, solver_missing=highs is None)


def at_least(problem: Problem, mix: Mix) -> int:
    """A lower bound on any mix, without a solver: each resource alone at its best price, and of few pods each item alone. If
    `mix` is one node, the bound is at least two nodes of the cheapest offer, because a cheaper single node would have been
    found."""
    usable = [offer for index, offer in enumerate(problem.offers) if any(item.offers[index] for item in problem.items)]
    bound = 0
    for kind in range(len(problem.offers[0].free)):
        asked = sum(item.need[kind] * item.count for item in problem.items)
        if asked:
            bound = max(
                bound, min(-(-asked * offer.price_micros // offer.free[kind]) for offer in usable if offer.free[kind] > 0)
            )
    if nodes_of(mix) == 1:
        bound = max(bound, min(problem.cost(mix), 2 * min(offer.price_micros for offer in usable)))
    most = problem.cost(mix)
    return max(bound, *(_alone(problem, item, most) for item in problem.items)) if _few(problem) else bound


def _alone(problem: Problem, item: Item, most: int) -> int:
    """The least cost of whole nodes for the pods of one item, `most` at most, if each offer gives no more nodes than it may."""
    costs = [0, *(most for _ in range(item.count))]
    for offer, lets_in in zip(problem.offers, item.offers, strict=True):
        fits = min((have // need for have, need in zip(offer.free, item.need, strict=True) if need), default=item.count)
        left, step = (min(offer.most, -(-item.count // fits)) if lets_in and fits > 0 else 0), 1
        while left > 0:
            # 1, 2, 4, ... nodes at once: some of these steps make up any number of nodes.
            nodes = min(step, left)
            for pods in range(item.count, 0, -1):
                costs[pods] = min(costs[pods], costs[max(0, pods - nodes * fits)] + nodes * offer.price_micros)
            left, step = left - nodes, 2 * step
    return costs[item.count]


def greedy_mix(problem: Problem, given: Mix) -> Mix:
    """The cheapest of `given` and all greedy mixes, polished."""
    large = _large(problem)
    ways = ways_to_fill(problem).first(_FEW_WAYS) if large else ways_to_fill(problem)
    mixes = [given]
    for worth in worths(problem)[: 1 if large else None]:
        mix = greedy(problem, worth, ways)
        if mix is not None:
            mixes.append(mix)
    return _cheapest(problem, [given, *dict.fromkeys(mixes)])


def _few(problem: Problem) -> bool:
    return sum(item.count for item in problem.items) <= _FEW_PODS and problem.size <= SMALL


def _large(problem: Problem) -> bool:
    return problem.size > _LARGE


def _whole(problem: Problem, master: Master, prices: Prices, start: Mix) -> tuple[Mix, bool]:
    """A mix in whole numbers: rounded down with a greedy rest, then by dives, and of few pods the solver's own. The search ends
    near the bound of the linear program, or at the least cost that is possible above it. Also whether the solver proved that no
    mix costs less."""
    enough = problem.reachable(prices.bound)
    if not _few(problem):
        enough = max(enough, round(prices.bound * (1000 + _ENOUGH_PERMILLE)) // 1000)
    best = start
    rounded = _rounded(problem, master.fillings, prices)
    if rounded is not None:
        best = _cheapest(problem, [best, rounded])
    dives = Dives(problem, master)
    for preference in PREFERENCES:
        if problem.cost(best) <= enough:
            return best, False
        mix = dives.dive(prices, problem.cost(best), preference)
        if mix is not None:
            best = _cheapest(problem, [best, mix])
    if _few(problem) and problem.cost(best) > enough:
        return _searched(problem, master, prices, best)
    return best, False


def _searched(problem: Problem, master: Master, prices: Prices, best: Mix) -> tuple[Mix, bool]:
    """The solver's choice among the fillings, then among those that are nearly worth their node as well.

    A mix cheaper than the best holds no filling whose reduced cost is above what is still to be gained. Where all others can be
    listed, what the solver then chooses is the optimum. What is gained must be more than all that values lose by rounding.
    """
    master.add(filling for filling, _ in best)
    chosen, proved = master.whole(best, prices, _BRANCH_NODES)
    if chosen is not None:
        best = _cheapest(problem, [best, chosen])
    near, listed = _near(problem, prices, problem.cost(best) - round(prices.bound))
    if master.add(near):
        chosen, proved = master.whole(best, prices, _BRANCH_NODES)
        if chosen is not None:
            best = _cheapest(problem, [best, chosen])
    costs = [offer.price_micros for offer in problem.offers]
    most_nodes = min(_FEW_PODS, problem.cost(best) // max(1, min(costs)))
    return best, proved and listed and prices.exact and gcd(*costs) > ROUNDING * most_nodes + _FEW_PODS


def _cheapest(problem: Problem, mixes: Sequence[Mix]) -> Mix:
    """The cheapest of mixes once what they have too much is cut off and they are polished. The first one is proper, and stays as
    it is."""
    neat = [mixes[0], *(polish(problem, problem.trimmed(mix)) for mix in mixes[1:])]
    return min((mix for mix in neat if problem.proper(mix)), key=lambda mix: (problem.rank(mix), mix))


def _near(problem: Problem, prices: Prices, slack: int) -> tuple[list[Filling], bool]:
    """Fillings within `slack` of paying, the nearest of them where there are too many. Also whether these are all."""
    pricing, candidates, listed = Pricing(problem), list[tuple[int, Filling]](), True
    for offer, price in enumerate(prices.prices):
        loads, whole = pricing.near(offer, prices.values, price - slack - 1, _NEAR_STEPS)
        candidates += [(price - sum(map(int.__mul__, prices.values, load)), Filling(offer, load)) for load in loads]
        listed = listed and whole
    return [filling for _, filling in sorted(candidates)[:_NEAR_FILLINGS]], listed and len(candidates) <= _NEAR_FILLINGS


def _rounded(problem: Problem, fillings: Sequence[Filling], prices: Prices) -> Mix | None:
    """What the linear program says rounded down; for the pods that are left greedily, worth what the program says."""
    sure = [(filling, int(amount + 1e-6)) for filling, amount in zip(fillings, prices.amounts, strict=True)]
    kept = problem.trimmed(pair for pair in sure if pair[1])
    rest = remainder(problem, kept)
    if not any(item.count for item in rest.items):
        return kept
    large = _large(problem)
    ways = ways_to_fill(rest).first(_FEW_WAYS) if large else ways_to_fill(rest)
    values = [[value + 1 for value in prices.values], *(() if large else worths(problem)[:1])]
    mixes = [mix for mix in (greedy(rest, worth, ways) for worth in values) if mix is not None]
    if not mixes:
        return None
    best = min((polish(rest, mix) for mix in mixes), key=lambda mix: (rest.rank(mix), mix))
    return merged(kept, best)


def merged(one: Mix, other: Mix) -> Mix:
    """Both together."""
    sums = dict(one)
    for filling, times in other:
        sums[filling] = sums.get(filling, 0) + times
    return tuple(sorted(sums.items()))
