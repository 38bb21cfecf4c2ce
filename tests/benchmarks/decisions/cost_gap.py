"""How far LeastCost is from the optimum: `python -m tests.benchmarks.decisions.cost_gap [--prove SECONDS | --clusters COUNT]`.

Prints one line per instance and the medians. With `--prove` the judge first tries those that are not proved yet (about half a
minute each). It adds what it proves to tests/decisions/growth/cost/optima.json and leaves out what it cannot prove to 0.1 %.

`--clusters` compares whole plans with proved optima, on small clusters with zones, DaemonSets, GPUs or 60 groups. LeastWaste does
not see the prices there.
"""

import argparse
import statistics
from collections.abc import Sequence

import msgspec

from reconciler.decisions.decide import decide
from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import greedy_mix, least_cost
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Expander
from tests.builders import NOW
from tests.decisions.growth.cost.instances import instance, one_choice
from tests.decisions.growth.cost.judge import judge
from tests.decisions.growth.cost.optima import OPTIMA, PROVED_PERMILLE, Optimum, optima
from tests.decisions.growth.cost.scarce_clusters import KINDS, scarce
from tests.decisions.growth.cost.scarce_optimum import best_growth

# First seed, last seed, shapes and groups.
INSTANCES = ((0, 100, 8), (100, 150, 6))


def main(arguments: Sequence[str] | None = None) -> int:
    """Always 0."""
    parser = argparse.ArgumentParser(prog="cost_gap", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--prove", type=float, metavar="SECONDS", help="prove what is not proved yet, at most so long an instance"
    )
    parser.add_argument("--clusters", type=int, metavar="COUNT", help="measure plans of so many small clusters of each kind")
    options = parser.parse_args(arguments)
    if options.prove:
        prove(options.prove)
    if options.clusters:
        return clusters(options.clusters)
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


def clusters(count: int) -> int:
    """LeastCost, and LeastWaste without the prices, on so many small clusters of each kind; always 0."""
    for kind in KINDS:
        for expander in (Expander.LEAST_COST, Expander.LEAST_WASTE):
            ratios, more_waiting = [], 0
            for seed in range(count):
                cluster = scarce(kind, seed)
                best = best_growth(cluster)
                world, rules = cluster.world(expander, priced=expander is Expander.LEAST_COST)
                plan = decide(world, rules, Memory(), NOW)[0]
                prices = {group.name: group.price_micros for group in cluster.groups}
                cost = sum(prices[line.name] * line.desired for line in plan.groups)
                if sum(line.outcome is PodOutcome.UNPLACEABLE for line in plan.pods) > best.waiting:
                    more_waiting += 1
                elif best.proved and best.cost_micros:
                    ratios.append(cost / best.cost_micros)
            told = f"mean {statistics.mean(ratios):.4f}, worst {max(ratios):.3f}, {more_waiting} with more pods waiting"
            print(f"{kind}, {expander.value}: {len(ratios)} clusters, {told}", flush=True)
    return 0


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
