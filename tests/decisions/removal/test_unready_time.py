"""Nodes that are not ready leave by the time since they are so, and only when they were unneeded all along."""

import msgspec
import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, ScaleDown
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of


def _plan(unready_seconds: int, unneeded_seconds: int = 7200) -> Plan:
    """One node of two is not ready since then; `unneededTime` is much shorter than `unreadyTime`."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("full", 1, cpu="4", on="general-2")
    cluster.node("general-1", labels={"pool": "general"}, ready=False)
    world = cluster.world()
    first, second = world.nodes
    world = msgspec.structs.replace(world, nodes=(msgspec.structs.replace(first, ready_seconds=NOW - unready_seconds), second))
    rules = ScaleDown(unneeded_time_seconds=60, unready_time_seconds=1200)
    return plan_of(
        world,
        policy(node_group("general", scale_down=rules), budgets=(Budget(nodes=100),)),
        Memory(unneeded_since={"general-1": NOW - unneeded_seconds}),
    )


@pytest.mark.parametrize(("unready_seconds", "leaves"), [(1199, False), (1200, True)])
def test_an_unready_node_waits_unready_time(unready_seconds: int, leaves: bool) -> None:
    """Twenty minutes, though it was unneeded for two hours."""
    plan = _plan(unready_seconds)
    assert [action.reason.code for action in of_kind(plan, ActionKind.REMOVE_NODE)] == ["Unready"] * leaves
    assert blocker_codes(plan, "general-1") == ([] if leaves else ["NotUnreadyLongEnough"])


def test_the_plan_says_when() -> None:
    """Ready until 10 minutes ago: ten more to wait. NOW is 2027-01-15 08:00 UTC."""
    assert node(_plan(600), "general-1").removable_at == "2027-01-15T08:10:00Z"
