"""What grew for a demand does not shrink for it: clusters in which the spare room of new nodes would do for old ones."""

import random

import pytest

from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory, Purchase
from reconciler.policy.documents import Budget, Expander, PolicySet, ScaleDown
from reconciler.policy.pace import Pace
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.rules import RuleBook
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from reconciler.simulation.settled import settled
from tests.builders import ClusterBuilder, node_group, policy

SEEDS = range(25)


def _cluster(seed: int) -> tuple[ClusterBuilder, PolicySet]:
    """One to three nodes of 4 cores, a third full of small pods, and pods that each fill more than half of another."""
    rng = random.Random(seed)
    cluster = ClusterBuilder()
    for name in ("general", "other")[: rng.randint(1, 2)]:
        nodes = cluster.group(name, nodes=rng.randint(1, 3), cpu="4")
        for node in nodes:
            cluster.pods(f"small-{node}", rng.randint(2, 6), cpu="300m", on=node)
    cluster.pods("large", rng.randint(8, 12), cpu=f"{rng.choice((2_600, 3_000, 3_300))}m")
    rules = policy(
        *(node_group(name, max=20, scale_down=ScaleDown(unneeded_time_seconds=60)) for name in ("general", "other")),
        budgets=(Budget(nodes=100),),
        expanders=(rng.choice(list(Expander)),),
        pace=Pace(delay_after_add_seconds=60),
    )
    return cluster, rules


@pytest.mark.parametrize("seed", SEEDS)
def test_the_settled_column_does_not_fall_behind_what_grew(seed):
    """Where a plan grows a group, it comes to rest at no less."""
    cluster, rules = _cluster(seed)
    world = cluster.world()
    plan, _ = decide(world, rules, Memory(), world.captured_seconds)
    rest = settled(world, rules, Memory(), world.captured_seconds, plan)
    grown = [line for line in rest.groups if line.desired > line.current]
    assert grown
    assert all(line.settled >= line.desired for line in grown)


def test_the_settled_column_does_not_mistake_an_older_purchase_for_that_of_the_plan():
    """What the plan itself buys is bought for this demand, whatever was bought before for another."""
    for seed in SEEDS:
        cluster, rules = _cluster(seed)
        world = cluster.world()
        older = Memory(purchase=Purchase(since={}, pods={"00000000": 1}, policy="sha256:other", last_seconds=1))
        plan, _ = decide(world, rules, older, world.captured_seconds)
        rest = settled(world, rules, older, world.captured_seconds, plan)
        assert all(line.settled >= line.desired for line in rest.groups if line.desired > line.current)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_up_and_down_for_one_demand(seed):
    """Turn by turn: neither a node that was bought leaves, nor an old one of the group that grew."""
    cluster, rules = _cluster(seed)
    world = cluster.world()
    simulated = SimulatedCluster(world, rules, world.captured_seconds, durations=NO_DELAY, otherwise=AT_ONCE)
    writes, book, memory = SimulatedWrites(simulated), RuleBook(simulated), Memory()
    for _ in range(20):
        plan, memory = decide(simulated.world(), rules, memory, simulated.now_seconds)
        memory = settle(memory, execute(plan, simulated, writes))
        assert book.check(rules, plan) == ()
        simulated.advance_to(simulated.now_seconds + 60)
