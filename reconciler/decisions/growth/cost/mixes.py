"""The least hourly cost over mixes: start without a solver, columns while they pay, whole numbers within counted work."""

from collections.abc import Callable, Sequence
from types import ModuleType

import msgspec

from reconciler.decisions.growth.cost.columns import generate
from reconciler.decisions.growth.cost.master import Master, Prices
from reconciler.decisions.growth.cost.parts import parts
from reconciler.decisions.growth.cost.polish import polish
from reconciler.decisions.growth.cost.pricing import Pricing
from reconciler.decisions.growth.cost.problem import Filling, Mix, Problem, nodes_of
from reconciler.decisions.growth.cost.start import SMALL, greedy, ways_to_fill, worths

_LARGE = 200  # size above which only quick steps are taken
_FEW_WAYS = 2  # ways to fill a node that large problems try
_MANY_NODES = 100
_CLOSE_PERMILLE = 2
_BRANCH_NODES = 5
_MOST_FILLINGS = 200  # that large problems choose from in whole numbers: 1,200 took 6 s and cost the same
_NEAR_STEPS, _NEAR_FILLINGS = 2_000, 60


class Answer(msgspec.Struct, frozen=True):
    """The cheapest mix found and the cost of the greedy one, in micros; `bound_micros` is what the linear program over the
    fillings says (0: it was not asked)."""

    mix: Mix
    cost_micros: int
    greedy_micros: int
    bound_micros: int = 0
    solver_missing: bool = False


def work(problem: Problem) -> int:
    """Steps that the plan's budget is charged, about one a question whether a pod shape fits a node."""
    return 100 * len(problem.items) * len(problem.offers)


def least_cost(problem: Problem, given: Mix, solver: Callable[[], ModuleType | None]) -> Answer:
    """At most as dear as `given`, which places everything, and of no more nodes where as dear. `solver` is called where a mix may
    still be cheaper."""
    if not problem.proper(given):
        return Answer(given, problem.cost(given), problem.cost(given))
    apart = parts(problem)
    found = [_least_cost(part.problem, part.of(given), solver) for part in apart]
    if len(apart) == 1:
        return found[0]
    width = len(problem.items)
    mix = [pair for part, answer in zip(apart, found, strict=True) for pair in part.whole(answer.mix, width)]
    return Answer(
        tuple(sorted(mix)),
        sum(answer.cost_micros for answer in found),
        sum(answer.greedy_micros for answer in found),
        sum(answer.bound_micros or answer.cost_micros for answer in found),
        any(answer.solver_missing for answer in found),
    )


def _least_cost(problem: Problem, given: Mix, solver: Callable[[], ModuleType | None]) -> Answer:
    """Method: column generation for the cutting-stock form of the problem (Gilmore, Gomory 1961) with one knapsack an offer;
    the columns found are then chosen in whole numbers.
    """
    start, starts = greedy_mix(problem, given)
    cost = problem.cost(start)
    if cost <= at_least(problem, start):
        return Answer(start, cost, cost)
    highs = solver()
    if highs is None:
        return Answer(start, cost, cost, solver_missing=True)
    master = Master(highs, problem)
    for mix in (*starts, start):
        master.add(filling for filling, _ in mix)
    prices = generate(problem, master)
    if prices is None:
        return Answer(start, cost, cost)
    best = _cheapest(problem, _whole(problem, master, prices, start))
    return Answer(best, problem.cost(best), cost, round(prices.bound))


def at_least(problem: Problem, mix: Mix) -> int:
    """A bound on any mix that needs no solver: by each resource alone at its best price, and two nodes of the cheapest
    offer where `mix` is one node (a cheaper single node would have been found)."""
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
    return bound


def greedy_mix(problem: Problem, given: Mix) -> tuple[Mix, list[Mix]]:
    """The cheapest of `given` and all greedy mixes, polished, and all of them as they were."""
    large = _large(problem)
    ways = ways_to_fill(problem).first(_FEW_WAYS) if large else ways_to_fill(problem)
    found = [given]
    for worth in worths(problem)[: 1 if large else None]:
        mix = greedy(problem, worth, ways)
        if mix is not None:
            found.append(mix)
    polished = [mix for mix in (polish(problem, mix) for mix in found) if problem.proper(mix)]
    return min((given, *polished), key=lambda mix: (problem.rank(mix), mix)), found


def _large(problem: Problem) -> bool:
    return problem.size > _LARGE


def _whole(problem: Problem, master: Master, prices: Prices, start: Mix) -> list[Mix]:
    """Mixes in whole numbers: rounded down with a greedy rest, and for problems that are not large the solver's own."""
    rounded = _rounded(problem, master.fillings, prices)
    found = [start] if rounded is None else [start, rounded]
    large = _large(problem)
    if large and sum(prices.amounts) > _MANY_NODES:
        # What is lost by rounding is the less the more nodes there are.
        return found
    best = _cheapest(problem, found)
    master.add(filling for filling, _ in best)
    chosen, _ = master.whole(best, prices, _BRANCH_NODES, _MOST_FILLINGS if large else None)
    if chosen is not None:
        found.append(chosen)
        best = _cheapest(problem, found)
    # A mix cheaper than the best holds no filling whose reduced cost is above what is still to be gained; where all others
    # can be listed, what the solver then chooses is the optimum.
    slack = problem.cost(best) - round(prices.bound)
    close = slack <= problem.cost(best) * _CLOSE_PERMILLE // 1000
    if problem.size <= SMALL and not close and master.add(_near(problem, prices, slack)):
        chosen, _ = master.whole(best, prices, _BRANCH_NODES)
        if chosen is not None:
            found.append(chosen)
    return found


def _cheapest(problem: Problem, mixes: Sequence[Mix]) -> Mix:
    """The cheapest of mixes once what they have too much is cut off and they are polished; the first of them is proper."""
    neat = [mixes[0], *(polish(problem, problem.trimmed(mix)) for mix in mixes[1:])]
    return min((mix for mix in neat if problem.proper(mix)), key=lambda mix: (problem.rank(mix), mix))


def _near(problem: Problem, prices: Prices, slack: int) -> list[Filling]:
    """Fillings within `slack` of paying, the nearest of them where there are too many."""
    pricing = Pricing(problem)
    found = [
        (price - sum(map(int.__mul__, prices.values, load)), Filling(offer, load))
        for offer, price in enumerate(prices.prices)
        for load in pricing.near(offer, prices.values, price - slack - 1, _NEAR_STEPS)
    ]
    return [filling for _, filling in sorted(found)[:_NEAR_FILLINGS]]


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
    found = [mix for mix in (greedy(rest, worth, ways) for worth in values) if mix is not None]
    if not found:
        return None
    best = min((polish(rest, mix) for mix in found), key=lambda mix: (rest.rank(mix), mix))
    return merged(kept, best)


def remainder(problem: Problem, mix: Mix) -> Problem:
    """What is left to place beside the nodes of `mix`, within what the bounds leave."""
    nodes = [0] * len(problem.offers)
    left = [item.count for item in problem.items]
    for filling, times in mix:
        nodes[filling.offer] += times
        left = [have - pods * times for have, pods in zip(left, filling.load, strict=True)]
    return msgspec.structs.replace(
        problem,
        items=tuple(msgspec.structs.replace(item, count=many) for item, many in zip(problem.items, left, strict=True)),
        offers=tuple(
            msgspec.structs.replace(offer, most=max(0, offer.most - many))
            for offer, many in zip(problem.offers, nodes, strict=True)
        ),
        caps=tuple(
            msgspec.structs.replace(cap, bound=cap.bound - sum(w * n for w, n in zip(cap.weights, nodes, strict=True)))
            for cap in problem.caps
        ),
    )


def merged(one: Mix, other: Mix) -> Mix:
    """Both together."""
    sums = dict(one)
    for filling, times in other:
        sums[filling] = sums.get(filling, 0) + times
    return tuple(sorted(sums.items()))
