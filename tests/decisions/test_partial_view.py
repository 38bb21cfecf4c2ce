"""A view with a hole: nothing is removed, and the plan says what is missing."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Budget
from tests.builders import CAPTURED, NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, plan_of

RULES = policy(node_group("general"), budgets=(Budget(nodes=100),))


@pytest.mark.parametrize("kind", ["Pod", "PodDisruptionBudget", "ReplicaSet"])
def test_without_one_of_these_kinds_nothing_leaves(kind: str) -> None:
    """Not even a node that is empty for an hour: what is on it, or what protects that, may just not have been seen."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world(captured=tuple(one for one in CAPTURED if one != kind), not_captured=(kind,))
    plan = plan_of(world, RULES, Memory(unneeded_since={"general-1": NOW - 3600}))
    assert not plan.actions
    assert blocker_codes(plan, "general-1") == ["RemovalsHalted"]
    (problem,) = plan.problems
    assert problem.message.startswith(f"{kind} objects were not captured")


def test_a_controller_of_a_kind_that_was_not_captured_keeps_its_node_alone() -> None:
    """StatefulSets are not in the view: the node with such a pod stays, the empty one leaves."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("db", 1, cpu="100m", on="general-1", owner="StatefulSet")
    world = cluster.world(
        captured=tuple(one for one in CAPTURED if one != "StatefulSet"), not_captured=("StatefulSet",), controllers=()
    )
    plan = plan_of(world, RULES, Memory(unneeded_since={"general-1": NOW - 3600, "general-2": NOW - 3600}))
    assert [action.nodes for action in plan.actions] == [("general-2",)]
    assert blocker_codes(plan, "general-1") == ["ControllerUnknown"]
