"""Evicted pods are bound in any order: a node leaves only when none of its pods can take the last place of another."""

import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Limit, PolicySet, ScaleDown
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of

AT_ONCE = ScaleDown(unneeded_time_seconds=0)


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("general", scale_down=AT_ONCE), budgets=(Budget(nodes=100),), **fields)


def _plan(second: str, third: str, small: str = "400m") -> Plan:
    """general-1 holds a pod of 1.5 cores and a small one; of the two others so much cpu is taken by pods that stay."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="4")
    for number, cpu in ((2, second), (3, third)):
        cluster.pods(f"base-{number}", 1, cpu=cpu, on=f"general-{number}", traits={"safe_to_evict": "false"})
    cluster.pods("large", 1, cpu="1500m", on="general-1")
    cluster.pods("small", 1, cpu=small, on="general-1")
    return plan_of(cluster.world(), _rules())


def test_a_small_pod_that_could_take_the_only_place_of_a_large_one_keeps_the_node() -> None:
    """1.6 and 0.5 cores are free: the large pod fits on the first of them only, where the small one may go before it."""
    plan = _plan("2400m", "3500m")
    assert plan.actions == ()
    (blocker,) = node(plan, "general-1").blockers
    assert (blocker.code, blocker.pod) == ("NoPlaceToMove", "shop/large-1")
    assert blocker.message == (
        "1 pod like it (1500m cpu, 0Mi memory each) fits elsewhere only if no other pod of the node takes that place first"
    )


@pytest.mark.parametrize(
    ("second", "third", "small"),
    [
        ("2100m", "3500m", "400m"),  # 1.9 and 0.5 free: both fit on the first
        ("2400m", "2400m", "400m"),  # 1.6 and 1.6 free: wherever the small one goes, the other node is left
        ("2400m", "3500m", "100m"),  # 1.6 and 0.5 free: the small one takes 0.1 of it
    ],
)
def test_places_that_nobody_can_take_let_it_go(second: str, third: str, small: str) -> None:
    """Whatever the order, both pods find a place."""
    assert [one.nodes for one in of_kind(_plan(second, third, small), ActionKind.REMOVE_NODE)] == [("general-1",)]


def test_places_that_one_node_takes_are_taken_for_the_next() -> None:
    """Room for the pods of one of two nodes: the other one stays, and says that there is none left."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, cpu="4")
    cluster.pods("base", 1, cpu="2300m", on="general-3", traits={"safe_to_evict": "false"})
    cluster.pods("large", 2, cpu="1500m", on=["general-1", "general-2"])
    cluster.pods("small", 2, cpu="100m", on=["general-1", "general-2"])
    plan = plan_of(cluster.world(), _rules())
    assert [one.nodes for one in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-1",)]
    assert blocker_codes(plan, "general-2") == ["NoPlaceToMove"]


@pytest.mark.parametrize(("lowest", "gone"), [(2, 0), (1, 1)])
def test_nodes_that_are_leaving_do_not_count_for_a_minimum_of_a_limit(lowest: int, gone: int) -> None:
    """Three empty nodes of which one is being drained: with a minimum of two no other may go, with one another one may."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    rules = _rules(limits=(Limit(name="floor", min=(("nodes", lowest),)),))
    plan = plan_of(cluster.world(), rules, Memory(leaving={"general-1": 1_799_999_940}))
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == gone
    assert blocker_codes(plan, "general-3") == ["LimitMin"]
