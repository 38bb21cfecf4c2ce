"""Nodes that a condition calls broken are replaced within budgets, unless too many are broken at once."""

import msgspec
import pytest

from reconciler.cluster.nodes.node import ZONE_LABEL, NodeCondition
from reconciler.cluster.world import World
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, ConditionStatus, Health, RemovalReason, Repair
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, group, node, of_kind, plan_of

GPUS = Repair(condition="AcceleratedHardwareReady", status=ConditionStatus.FALSE, toleration_seconds=600)
ALL = Health(repair=(GPUS,), ok_unready_count=3, max_unready_percent=45)


def _broken(world: World, *names: str, since: int = 600, status: str = "False", kind: str = GPUS.condition) -> World:
    """The World in which the condition of these nodes has had its status for so many seconds."""
    condition = NodeCondition(kind, status, NOW - since)
    nodes = tuple(msgspec.structs.replace(one, conditions=(condition,)) if one.name in names else one for one in world.nodes)
    return msgspec.structs.replace(world, nodes=nodes)


def _full(nodes: int = 4, *, zones: int = 1) -> World:
    """Nodes of one group, each with a pod that fills it. They are in `zones` zones in turn."""
    cluster = ClusterBuilder()
    for zone in range(zones):
        name = "general" if not zone else f"general{zone}"
        cluster.group(name, nodes=nodes, cpu="4", labels={ZONE_LABEL: f"z{zone}"})
        for number in range(1, nodes + 1):
            cluster.pods(f"{name}-web{number}", 1, cpu="4", on=f"{name}-{number}", labels={"app": f"{name}{number}"})
    return cluster.world()


def _plan(world: World, health: Health = ALL, *, budgets: tuple[Budget, ...] = (), most: int = 20) -> Plan:
    names = sorted({one.ref.name for one in world.targets})
    return plan_of(world, policy(*(node_group(name, max=most) for name in names), health=health, budgets=budgets))


def _removed(plan: Plan) -> list[str]:
    return [name for action in of_kind(plan, ActionKind.REMOVE_NODE) for name in action.nodes]


def test_room_comes_before_the_drain() -> None:
    """Nothing has room for the pod of the broken node: the group grows first."""
    plan = _plan(_broken(_full(), "general-2"))
    assert group(plan, "general").desired == 5
    (reason,) = (one for one in group(plan, "general").reasons if one.code == "RoomForRepair")
    assert reason.message == "1 new node for 1 pod whose node is broken: condition AcceleratedHardwareReady is False"
    assert not _removed(plan)


def test_a_broken_node_leaves_once_there_is_room() -> None:
    """A new node is there and empty."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="4")
    for number in (1, 2):
        cluster.pods(f"web{number}", 1, cpu="4", on=f"general-{number}")
    plan = _plan(_broken(cluster.world(), "general-2"))
    (action,) = of_kind(plan, ActionKind.REMOVE_NODE)
    assert (action.nodes, action.reason.code, action.reason.message) == (
        ("general-2",),
        "Repaired",
        "general-2 is broken: condition AcceleratedHardwareReady is False since 2027-01-15T07:50:00Z. 1 pod fits elsewhere",
    )


@pytest.mark.parametrize(
    ("since", "status", "kind", "removed"),
    [
        (600, "False", GPUS.condition, True),
        (599, "False", GPUS.condition, False),
        (9000, "Unknown", GPUS.condition, False),
        (9000, "False", "StorageReady", False),
    ],
)
def test_what_counts(since: int, status: str, kind: str, removed: bool) -> None:
    """Its type, its status and its age: exactly the toleration is enough."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="3", on="general-1")
    world = _broken(cluster.world(), "general-1", since=since, status=status, kind=kind)
    assert _removed(_plan(world)) == (["general-1"] if removed else [])


def test_budgets_bound_repairs() -> None:
    """Two are broken, and one may leave."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=6)
    for number in (1, 2):
        cluster.pods(f"web{number}", 1, cpu="1", on=f"general-{number}")
    world = _broken(cluster.world(), "general-1", "general-2")
    assert len(_removed(_plan(world, budgets=(Budget(nodes=1, reasons=(RemovalReason.REPAIRED,)),)))) == 1


def test_nothing_is_repaired_in_an_outage() -> None:
    """Four of eight nodes: more than 3 and more than 45 percent."""
    world = _broken(_full(8), *(f"general-{number}" for number in range(1, 5)))
    plan = _plan(world)
    assert group(plan, "general").desired == 8
    assert "RepairHeld" in blocker_codes(plan, "general-1")
    (why,) = (one.message for one in node(plan, "general-1").blockers if one.code == "RepairHeld")
    assert why == "4 of 8 nodes of all groups are broken or not ready, so none is repaired"


def test_an_outage_of_one_zone() -> None:
    """All four nodes of a zone, one of another: the other one is repaired."""
    world = _broken(_full(4, zones=3), "general-1", "general-2", "general-3", "general-4", "general1-1")
    plan = _plan(world)
    assert (group(plan, "general").desired, group(plan, "general1").desired) != (4, 4)
    assert sum(line.desired - 4 for line in plan.groups) == 1
    assert "4 of 4 nodes of zone z0" in "".join(one.message for one in node(plan, "general-1").blockers)


def test_without_rules_nothing_is_repaired() -> None:
    """The default."""
    plan = _plan(_broken(_full(), "general-2"), Health())
    assert group(plan, "general").desired == 4
