"""A group whose nodes are mostly not ready does not grow, and says so; the others do."""

import pytest

from reconciler.plan.plan import Plan
from reconciler.policy.documents import Health, Tier
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

TIERS = (Tier(name="first"), Tier(name="second"))


def _sick(nodes: int, unready: int, min_size: int = 0, **fields: object) -> Plan:
    """`sick` with full nodes of which some are not ready, `other` of the next tier, and a pod that waits."""
    cluster = ClusterBuilder()
    names = cluster.group("sick", nodes=nodes)
    for name in names[:unready]:
        cluster.node(name, labels={"pool": "sick"}, ready=False)
    cluster.pods("full", nodes, cpu="4", on=list(names))
    cluster.group("other", nodes=0)
    cluster.pods("web", 1, cpu="4")
    groups = (node_group("sick", tier="first", min=min_size), node_group("other", tier="second"))
    return plan_of(cluster.world(), policy(*groups, tiers=TIERS, **fields))


@pytest.mark.parametrize(
    ("nodes", "unready", "grows"),
    [(6, 3, True), (9, 4, True), (8, 4, False), (10, 5, False)],
    ids=["3 of 6: no more than 3", "44.4 %", "50 %", "5 of 10"],
)
def test_more_than_three_and_more_than_45_percent(nodes: int, unready: int, grows: bool) -> None:
    """The golden numbers of the test on unready nodes, here among those of one group."""
    plan = _sick(nodes, unready)
    assert (group(plan, "sick").desired > nodes) is grows
    assert group(plan, "other").desired == int(not grows)


def test_the_group_says_why_it_does_not_grow() -> None:
    """With the numbers, in its own line."""
    (reason,) = [reason for reason in group(_sick(8, 4), "sick").reasons if reason.code == "GroupUnhealthy"]
    assert reason.message == "sick does not grow: 4 of its 8 nodes are not ready, more than 3 and more than 45%"


def test_a_pod_that_only_this_group_could_run_says_so_too() -> None:
    """The reason stands at the pod when nobody else serves it."""
    cluster = ClusterBuilder()
    for name in cluster.group("sick", nodes=4):
        cluster.node(name, labels={"pool": "sick"}, ready=False)
    cluster.pods("web", 1, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("sick")))
    assert codes(pod(plan, "shop/web-1")) == ["GroupsExhausted", "GroupUnhealthy"]


def test_the_bounds_are_those_of_the_policy() -> None:
    """At most 60 percent: half of the nodes are well enough."""
    plan = _sick(8, 4, health=Health(max_unready_percent=60))
    assert group(plan, "sick").desired == 9


def test_the_minimum_is_kept_all_the_same() -> None:
    """A minimum is a promise, not a guess at where pods would run."""
    assert group(_sick(8, 4, min_size=9), "sick").desired == 9


def test_nodes_that_only_start_make_no_group_unhealthy() -> None:
    """Not ready for less than the startup time: they are expected."""
    cluster = ClusterBuilder()
    for name in cluster.group("young", nodes=4):
        cluster.node(name, labels={"pool": "young"}, ready=False, created=NOW - 60)
    cluster.pods("web", 5, cpu="4")
    plan = plan_of(cluster.world(), policy(node_group("young")))
    assert group(plan, "young").desired == 5
    (reason,) = [reason for reason in group(plan, "young").reasons if reason.code == "UpcomingNodes"]
    assert reason.message == "4 nodes joined but not started yet (Ready)"
