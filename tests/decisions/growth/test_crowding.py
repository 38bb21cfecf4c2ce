"""Pods with a choice leave scarce groups to pods that have none."""

import pytest

from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Expander
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of

LEAST_COST = (Expander.LEAST_COST,)


def _waiting(plan: Plan) -> set[str]:
    return {line.pod for line in plan.pods if line.outcome is PodOutcome.UNPLACEABLE}


def _cards(small_max: int, priority: int = 0) -> Plan:
    """At most one node with two cards, and nodes with one card. Two pods want one card and much memory, one wants two cards."""
    cluster = ClusterBuilder()
    cluster.group("double", nodes=0, cpu="8", memory="64Gi", gpu=2)
    cluster.group("single", nodes=0, cpu="8", memory="64Gi", gpu=1)
    cluster.pods("one", 2, cpu="1", memory="20Gi", gpu=1, priority=priority)
    cluster.pods("two", 1, cpu="1", memory="1Gi", gpu=2)
    groups = node_group("double", max=1, price_per_hour="1.0"), node_group("single", max=small_max, price_per_hour="0.9")
    return plan_of(cluster.world(), policy(*groups, expanders=LEAST_COST))


def test_pods_with_a_choice_leave_the_scarce_node_to_the_others() -> None:
    """The large pods come first and would fill the node with two cards."""
    plan = _cards(small_max=2)
    assert _waiting(plan) == set()
    assert {line.name: line.desired for line in plan.groups} == {"double": 1, "single": 2}


def test_nothing_is_gained_where_the_others_would_wait_instead() -> None:
    """Without another group for them, two pods get their cards and one waits, not the other way round."""
    assert _waiting(_cards(small_max=0)) == {"shop/two-1"}


def test_a_higher_priority_keeps_the_scarce_node() -> None:
    assert _waiting(_cards(small_max=2, priority=5)) == {"shop/two-1"}


@pytest.mark.parametrize("zonal", [1, 3])
def test_pods_of_a_zone_come_before_those_that_run_anywhere(zonal: int) -> None:
    """Zone a has room for three pods of 3 cpu on nodes of 4. Larger pods without a zone would take it, as it is the cheapest."""
    cluster = ClusterBuilder()
    for zone in "ab":
        cluster.group(zone, nodes=0, cpu="4", memory="16Gi", labels={"topology.kubernetes.io/zone": zone})
    cluster.pods("free", 3, cpu="4")
    cluster.pods("zonal", zonal, cpu="3", node_selector={"topology.kubernetes.io/zone": "a"})
    rules = policy(node_group("a", max=3, price_per_hour="0.1"), node_group("b", price_per_hour="0.2"), expanders=LEAST_COST)
    plan = plan_of(cluster.world(), rules)
    assert _waiting(plan) == set()
    assert {line.name: line.desired for line in plan.groups} == {"a": 3, "b": zonal}


@pytest.mark.parametrize(
    ("age_of_large", "priority", "waiting"),
    [(60, 0, {"shop/large-1"}), (61, 0, {"shop/small-1", "shop/small-2"}), (60, 1, {"shop/small-1", "shop/small-2"})],
)
def test_two_small_pods_come_before_a_large_one(age_of_large: int, priority: int, waiting: set[str]) -> None:
    """The only node has 4 cpu: room for a pod of 3 cpu or for two of 2 cpu, which are 60 s old. kube-scheduler serves an older
    pod, or one of a higher priority, first. So they would lose the room again."""
    cluster = ClusterBuilder()
    cluster.group("only", nodes=0, cpu="4", memory="16Gi")
    cluster.pods("large", 1, cpu="3", priority=priority, age=age_of_large)
    cluster.pods("small", 2, cpu="2", age=60)
    plan = plan_of(cluster.world(), policy(node_group("only", max=1)))
    assert _waiting(plan) == waiting
