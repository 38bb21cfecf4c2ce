"""What fails in the middle of a repack leaves the cluster as it was before, and the plan says why nothing else begins."""

from collections.abc import Callable

import pytest

from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour, Shortage
from reconciler.simulation.embedded.rules import RuleBook
from reconciler.simulation.embedded.writes import SimulatedWrites
from reconciler.simulation.execution import execute
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group
from tests.values import selector

TURN, HOURS = 60, 3
PRICES = {"small": "0.20", "mid": "0.35", "big": "0.80"}
CORES = {"small": "4", "mid": "8", "big": "16"}
NEVER = MachineBehaviour(shortages=(Shortage(from_seconds=NOW, until_seconds=NOW + 1_000_000),))


def _rules() -> PolicySet:
    scale_down = ScaleDown(unneeded_time_seconds=600, consolidation=Consolidation(mode=Toggle.ENABLED))
    groups = (node_group(name, price_per_hour=price, scale_down=scale_down) for name, price in PRICES.items())
    return policy(*groups, budgets=(Budget(nodes=100),))


def _cluster(rules: PolicySet, **behaviours: MachineBehaviour) -> SimulatedCluster:
    """A node of 16 cores (0.80) with four pods of 3, and one with as many and room for a fifth. Nodes of 8 and 4 cores (0.55)
    take the other three."""
    cluster = ClusterBuilder()
    for name, cpu in CORES.items():
        cluster.group(name, nodes=2 if name == "big" else 0, cpu=cpu)
    cluster.pods("web", 8, cpu="3", on=["big-1"] * 4 + ["big-2"] * 4)
    return SimulatedCluster(cluster.world(), rules, NOW, behaviours=behaviours)


def _three_hours(cluster: SimulatedCluster, rules: PolicySet, fails: Callable[[SimulatedCluster], None]) -> tuple[Plan, Memory]:
    """`fails` is called when the replacement has begun. No rule is broken in any iteration."""
    writes, book, memory, began = SimulatedWrites(cluster), RuleBook(cluster), Memory(), False
    for _ in range(HOURS * 3600 // TURN):
        plan, memory = decide(cluster.world(), rules, memory, cluster.now_seconds)
        memory = settle(memory, execute(plan, cluster, writes))
        assert book.check(rules, plan) == ()
        if not began and any(action.kind is ActionKind.REPLACE for action in plan.actions):
            began = True
            fails(cluster)
        cluster.advance_to(cluster.now_seconds + TURN)
    assert began
    return decide(cluster.world(), rules, memory, cluster.now_seconds)


def _nothing(_: SimulatedCluster) -> None:
    """What fails was there from the beginning."""


def _paused(cluster: SimulatedCluster) -> None:
    assert cluster.hold(machine_deployment("big"), "incident")


def _guarded(cluster: SimulatedCluster) -> None:
    cluster.objects.budgets["shop", "web"] = DisruptionBudget(
        namespace="shop", name="web", selector=selector(app="web"), min_available="8", disruptions_allowed=0
    )


@pytest.mark.parametrize(
    ("fails", "behaviours", "code"),
    [
        (_nothing, {"mid": NEVER}, "ReplacementUnpaid"),
        (_nothing, {"mid": NEVER, "small": NEVER}, "NotUnderutilized"),
        (_paused, {}, "GroupHeld"),
        (_guarded, {}, "NotEnoughPdb"),
    ],
    ids=["one new node never comes", "no new node comes", "the group is held", "a PDB appears"],
)
def test_a_failure_leaves_the_cluster_as_it_was(
    fails: Callable[[SimulatedCluster], None], behaviours: dict[str, MachineBehaviour], code: str
) -> None:
    """All pods run, no taint is left, and what was added has gone again: two nodes of 0.80."""
    rules = _rules()
    cluster = _cluster(rules, **behaviours)
    plan, memory = _three_hours(cluster, rules, fails)
    world = cluster.world()
    assert (memory.replacements, plan.actions, plan.cost.current_per_hour) == ((), (), "1.60")
    assert min(world.pods.node) >= 0
    assert not any(world.node_shapes[node.shape].taints for node in world.nodes)
    assert code in (*codes(group(plan, "big")), *blocker_codes(plan, "big-1"))
