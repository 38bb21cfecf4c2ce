"""Whole decisions on clusters drawn anew at every run, under the default budgets, expanders and work budget. Each has its twin
of equal pods and machines in `tests.benchmarks.decisions.decide`. Bounds are multiples of the yardstick; those of settled columns
are multiples of the decision that they begin with, that of twice the apps of the one with half of them."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, full_decision
from reconciler.decisions.work import Work
from reconciler.simulation.settled import come_to_rest
from tests.benchmarks.measure import Case
from tests.benchmarks.mixed.apps import USUAL
from tests.benchmarks.mixed.situations import (
    Situation,
    all_apart,
    half_empty,
    large,
    many_rules,
    one_a_node,
    replica_sets,
    spread_over_hosts,
    unique_anti_affinity,
)
from tests.builders import NOW

SEEDS = 9
_VAST = {"nodes": 15_000, "groups": 100, "low": 1_000}
_HARDEST = {"nodes": 15_000, "groups": 60, "apps": 400, "pending": 100_000, "low": 7_500, "rules": USUAL}
"""About 375,000 pods with rules, of which 100,000 wait. Half of the nodes are underused. On some seeds, the default work budget
does not examine every node for removal."""


def cases() -> Iterator[Case]:
    """Each name says what is there; the seeds are printed with the figures."""
    yield _case("mixed: 50 apps x 1,000, 20 groups", replica_sets, 1.25)
    yield _case("mixed: 100 apps x 500, 20 groups", partial(replica_sets, apps=100, each=500), 1.6)
    half, whole = replica_sets, partial(replica_sets, apps=100, each=500)
    yield _case("mixed: 100 apps / 50 apps", whole, 1.3, beside=half)
    yield _case("mixed: host spread of 10 apps, 2,000 pods", spread_over_hosts, 0.4)
    yield _case("mixed: 100 apps with rules, 3,000 pods", many_rules, 12.0)
    yield _case("mixed: host anti-affinity, 1,000, 20 groups", one_a_node, 0.4)
    yield _case("mixed: 2,000 nodes x 40 pods of 50 apps", half_empty, 0.75)
    yield _case("mixed: 5,000 nodes, 5,000 pending", large, 1.5)
    yield _case("mixed: 5,000 nodes, 300 apps with rules", partial(large, rules=USUAL, low=300), None)
    yield _case("mixed: 15,000 nodes, 1,000 candidates", partial(large, **_VAST), 5.0, seeds=3)
    yield _case(
        "mixed: 15,000 nodes, 375,000 pods with rules",
        partial(large, **_HARDEST),
        None,
        seeds=3,
        whole=False,
    )
    for pods, bound in ((1_000, 5.0), (2_000, 11.0), (4_000, 25.0)):
        yield _case(f"unique anti-affinity, {pods:,} pods", partial(unique_anti_affinity, pods=pods), bound, seeds=3)
    yield _settled("50 apps x 1,000, 20 groups", replica_sets, 6.0)
    yield _settled("2,000 nodes x 40 pods of 50 apps", half_empty, 10.0)
    yield _settled("5,000 nodes, 5,000 pending", large, 5.0)
    yield _settled("5,000 nodes, 300 apps with rules", partial(large, rules=USUAL, low=300), None)
    yield _case("1,200 pods that all keep apart", partial(all_apart, pods=1_200), 15.0, seeds=3)


def _settled(name: str, make: Callable[[int], Situation], bound: float | None, *, seeds: int = SEEDS) -> Case:
    """The settled column as a multiple of the decision that it begins with."""
    drawn = tuple(secrets.randbelow(1 << 31) for _ in range(seeds))
    return Case(
        f"settled / decide: {name}",
        partial(_to_rest, make),
        seeds=drawn,
        bound_multiple=bound,
        beside=partial(_prepared, make),
    )


def _to_rest(make: Callable[[int], Situation], seed: int) -> Callable[[], object]:
    world, rules, memory = make(seed)
    decision = full_decision(world, rules, memory, NOW, Work(DEFAULT_WORK_BUDGET))

    def run() -> str:
        rest = come_to_rest(world, rules, decision.memory, NOW, decision.plan, DEFAULT_WORK_BUDGET, decision)
        if any(problem.code == "SettlingCutShort" for problem in rest.plan.problems):
            raise RuntimeError(f"seed {seed}: the work budget ran out on the way to the rest")
        return rest.plan.summary

    return run


def _case(
    name: str,
    make: Callable[[int], Situation],
    bound: float | None,
    *,
    seeds: int = SEEDS,
    beside: Callable[[int], Situation] | None = None,
    whole: bool = True,
) -> Case:
    drawn = tuple(secrets.randbelow(1 << 31) for _ in range(seeds))
    other = None if beside is None else partial(_prepared, beside)
    return Case(name, partial(_prepared, make, whole=whole), seeds=drawn, bound_multiple=bound, beside=other)


def _prepared(make: Callable[[int], Situation], seed: int, *, whole: bool = True) -> Callable[[], object]:
    """`whole`: the work budget must suffice."""
    situation = make(seed)

    def run() -> str:
        plan, _ = decide(*situation, NOW)
        cut = [problem.code for problem in plan.problems if problem.code in ("WorkBudgetExhausted", "NamespaceDelayed")]
        if whole and (cut or any(blocker.code == "NotExamined" for line in plan.nodes for blocker in line.blockers)):
            raise RuntimeError(f"seed {seed}: the work budget ran out")
        return plan.summary

    return run
