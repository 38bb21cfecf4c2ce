"""How far LeastCost is from the optimum: `python -m tests.benchmarks.decisions.cost_gap [--prove SECONDS]`.

Prints a line an instance and the medians. With `--prove` the judge first tries those that are not proved yet (about half a
minute each) and adds what it proves to tests/decisions/cost/optima.json; those that it cannot prove to 0.1 % in the time given
are left out.
"""

import argparse
import statistics
from collections.abc import Sequence

import msgspec

from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import least_cost
from tests.decisions.cost.instances import instance, one_choice
from tests.decisions.cost.judge import judge
from tests.decisions.cost.optima import OPTIMA, PROVED_PERMILLE, Optimum, optima

# First seed, last seed, shapes and groups.
INSTANCES = ((0, 100, 8), (100, 150, 6))


def main(arguments: Sequence[str] | None = None) -> int:
    """Always 0."""
    parser = argparse.ArgumentParser(prog="cost_gap", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--prove", type=float, metavar="SECONDS", help="prove what is not proved yet, at most so long an instance"
    )
    options = parser.parse_args(arguments)
    if options.prove:
        prove(options.prove)
    costs, starts = [], []
    print("instance  mix/bound  start/bound  one choice/bound")
    for optimum in optima():
        problem = optimum.problem()
        given = one_choice(problem)
        answer = least_cost(problem, given, solver)
        costs.append(answer.cost_micros / optimum.bound_micros)
        starts.append(answer.greedy_micros / optimum.bound_micros)
        print(f"{optimum.seed:8}  {costs[-1]:9.4f}  {starts[-1]:11.4f}  {problem.cost(given) / optimum.bound_micros:16.4f}")
    mean, median = statistics.mean(costs), statistics.median(costs)
    print(f"{len(costs)} instances: median {median:.4f}, mean {mean:.4f}, worst {max(costs):.4f}")
    print(f"greedy start: median {statistics.median(starts):.4f}, worst {max(starts):.4f}")
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
