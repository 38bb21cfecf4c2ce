"""How far LeastCost is from the optimum: `python -m tests.benchmarks.decisions.cost_gap [--prove SECONDS | --without-prices]`.

Prints one line per instance and the medians. With `--prove` the judge first tries those that are not proved yet (about half a
minute each). It adds what it proves to tests/decisions/growth/cost/optima.json and leaves out what it cannot prove to 0.1 %.

`--without-prices` measures LeastWaste on the same instances: the waste that nodes add beside the greedy growth, with a tenth of
the smallest node per machine, against the linear bound of the search. The true gap is at most that.
"""

import argparse
import statistics
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import at_least, greedy_mix, least_cost
from reconciler.decisions.growth.cost.problem import Problem, nodes_of
from tests.decisions.growth.cost.instances import instance, one_choice
from tests.decisions.growth.cost.judge import judge
from tests.decisions.growth.cost.optima import OPTIMA, PROVED_PERMILLE, Optimum, optima

# First seed, last seed, shapes and groups.
INSTANCES = ((0, 100, 8), (100, 150, 6))


def main(arguments: Sequence[str] | None = None) -> int:
    """Always 0."""
    parser = argparse.ArgumentParser(prog="cost_gap", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--prove", type=float, metavar="SECONDS", help="prove what is not proved yet, at most so long an instance"
    )
    parser.add_argument("--without-prices", action="store_true", help="measure LeastWaste against the linear bound")
    options = parser.parse_args(arguments)
    if options.prove:
        prove(options.prove)
    if options.without_prices:
        return waste_gap()
    costs, starts = [], []
    print("instance  mix/bound  start/bound  one choice/bound")
    for optimum in optima():
        problem = optimum.problem()
        given = one_choice(problem)
        answer = least_cost(problem, given, solver)
        costs.append(answer.cost_micros / optimum.bound_micros)
        starts.append(problem.cost(greedy_mix(problem, given)) / optimum.bound_micros)
        print(f"{optimum.seed:8}  {costs[-1]:9.4f}  {starts[-1]:11.4f}  {problem.cost(given) / optimum.bound_micros:16.4f}")
    mean, median = statistics.mean(costs), statistics.median(costs)
    print(f"{len(costs)} instances: median {median:.4f}, mean {mean:.4f}, worst {max(costs):.4f}")
    print(f"greedy start: median {statistics.median(starts):.4f}, worst {max(starts):.4f}")
    return 0


def waste_gap() -> int:
    """The same for LeastWaste; always 0."""
    gaps, before, nodes = [], [], [0, 0]
    print("instance  mix/bound  one choice/bound  machines")
    for optimum in optima():
        problem = optimum.problem()
        asked = [sum(item.need[kind] * item.count for item in problem.items) for kind in (0, 1)]
        given = one_choice(_weighed(problem, [Fraction(1, amount) for amount in asked], nearly=0))
        have = [sum(problem.offers[filling.offer].free[kind] * times for filling, times in given) for kind in (0, 1)]
        problem = _weighed(problem, [Fraction(amount, had**2) for amount, had in zip(asked, have, strict=True)], nearly=10)
        answer = least_cost(problem, given, solver)
        bound = answer.bound_micros or at_least(problem, answer.mix)
        gaps.append(answer.cost_micros / bound)
        before.append(problem.cost(given) / bound)
        counts = nodes_of(given), nodes_of(answer.mix)
        nodes = [total + many for total, many in zip(nodes, counts, strict=True)]
        print(f"{optimum.seed:8}  {gaps[-1]:9.4f}  {before[-1]:16.4f}  {counts[0]} -> {counts[1]}")
    print(f"{len(gaps)} instances: median {statistics.median(gaps):.4f}, mean {statistics.mean(gaps):.4f}, worst {max(gaps):.4f}")
    print(f"one choice: mean {statistics.mean(before):.4f}, worst {max(before):.4f}; machines {nodes[0]} -> {nodes[1]}")
    return 0


def _weighed(problem: Problem, weights: Sequence[Fraction], nearly: int) -> Problem:
    """Each offer counts its cpu and memory by these weights, and `nearly` percent of the smallest one more."""
    counts = [float(sum(weight * offer.free[kind] for kind, weight in enumerate(weights))) for offer in problem.offers]
    counts = [1e9 * (count + min(counts) * nearly / 100) for count in counts]
    offers = tuple(
        msgspec.structs.replace(offer, price_micros=int(count)) for offer, count in zip(problem.offers, counts, strict=True)
    )
    return msgspec.structs.replace(problem, offers=offers)


def prove(seconds: float) -> None:
    """Add the optima of instances that can be proved in the time."""
    found = optima()
    known = {optimum.seed for optimum in found}
    asked = [(seed, kinds) for first, end, kinds in INSTANCES for seed in range(first, end) if seed not in known]
    for seed, kinds in asked:
        verdict = judge(instance(seed, shapes=kinds, offers=kinds), seconds=seconds)
        print(f"instance {seed}: {verdict.best_micros} micros an hour, gap {verdict.gap:.5f}, {verdict.arcs} arcs", flush=True)
        if verdict.gap * 1000 <= PROVED_PERMILLE:
            bound = round(verdict.bound_micros)
            found.append(Optimum(seed=seed, best_micros=verdict.best_micros, bound_micros=bound, kinds=kinds))
    found.sort(key=lambda optimum: optimum.seed)
    OPTIMA.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


if __name__ == "__main__":
    raise SystemExit(main())
