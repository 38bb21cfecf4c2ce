"""A day with arrivals: underused clusters are repacked, and the same demand never pays twice."""

import random

import pytest

from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.rules import RuleBook
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.values.money import parse_money
from tests.benchmarks.decisions.repack_gap import POLICIES, underused
from tests.properties.happenings import scale_some_workload

DAY, TURN, EVERY = 86_400, 1_800, 6 * 3_600


@pytest.mark.parametrize("seed", [0, 1, 4, 20])
def test_each_demand_pays_once(seed: int) -> None:
    """Every six hours another number of pods. No rule is broken, and each demand comes to rest within four hours: from then on
    nothing grows, nothing leaves and no pod is evicted. Until then, each replacement begins at a lower cost than the last."""
    rng, one = random.Random(seed), underused(seed, POLICIES["on"], least=6, most=12)
    cluster = SimulatedCluster(one.world, one.policy, one.world.captured_seconds, durations=NO_DELAY, otherwise=AT_ONCE)
    writes, book, memory = SimulatedWrites(cluster), RuleBook(cluster), Memory()
    replaced, paid, costs = 0, list[str](), list[int]()
    for turn in range(DAY // TURN):
        if turn and turn * TURN % EVERY == 0:
            scale_some_workload(cluster, rng, 12)
            cluster.advance_to(cluster.now_seconds)
            costs.clear()
        plan, memory = decide(cluster.world(), one.policy, memory, cluster.now_seconds)
        if any(action.kind is ActionKind.REPLACE for action in plan.actions):
            replaced += 1
            costs.append(parse_money(plan.cost.current_per_hour or "0"))
        assert costs == sorted(set(costs), reverse=True)
        resting = turn * TURN % EVERY >= EVERY * 2 // 3
        paid += [f"{turn}: {action.kind} {action.group}" for action in plan.actions] if resting else []
        memory = settle(memory, execute(plan, cluster, writes))
        assert book.check(one.policy, plan) == ()
        cluster.advance_to(cluster.now_seconds + TURN)
    assert paid == []
    assert replaced
    moved = sum(event.kind is Happened.POD_EVICTED for event in cluster.journal.events)
    assert moved <= 6 * len(one.world.pods)
    more_pods = len(cluster.world().pods) > len(one.world.pods)
    assert more_pods or parse_money(plan.cost.desired_per_hour or "0") < sum(
        parse_money(line.price_per_hour or "0") * sum(node.name.startswith(f"{line.name}-") for node in one.world.nodes)
        for line in plan.groups
    )
