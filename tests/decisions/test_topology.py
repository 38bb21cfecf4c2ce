"""Growth and removal under spread and anti-affinity."""

import pytest

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, PodOutcome
from reconciler.policy.documents import Budget
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import blocker_codes, group, of_kind, plan_of

ZONE = "topology.kubernetes.io/zone"
SPREAD = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web"))
ALONE = AffinityTerm(topology_key="kubernetes.io/hostname", selector=selector(app="web"), namespaces=("shop",))


def _three_zones(nodes: int) -> ClusterBuilder:
    cluster = ClusterBuilder()
    for zone in "abc":
        names = cluster.group(zone, nodes=nodes, cpu="10", memory="40Gi", labels={ZONE: zone, "pool": "all"})
        if names:
            cluster.pods(f"full-{zone}", nodes, cpu="10", on=list(names))
    return cluster


@pytest.mark.parametrize("nodes", [0, 1])
def test_zone_spread_over_three_groups_is_served_by_one_plan(nodes: int) -> None:
    """300 pods of 200m, 50 to a node, maxSkew 1: 100 a zone, two nodes in each, all six in one plan; from zero as well."""
    cluster = _three_zones(nodes)
    cluster.pods("web", 300, cpu="200m", shape={"spread": (SPREAD,)})
    plan = plan_of(cluster.world(), policy(*(node_group(zone, max=100) for zone in "abc")))
    assert [line.desired - line.current for line in plan.groups] == [2, 2, 2]
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_a_zone_that_cannot_grow_does_not_hold_the_others_back_from_zero() -> None:
    """Zone c is at its maximum of 0: it is no domain yet, so 100 pods share two zones."""
    cluster = _three_zones(0)
    cluster.pods("web", 100, cpu="200m", shape={"spread": (SPREAD,)})
    rules = policy(node_group("a"), node_group("b"), node_group("c", max=0))
    assert [line.desired for line in plan_of(cluster.world(), rules).groups] == [1, 1, 0]


def test_hostname_anti_affinity_buys_one_node_a_pod_and_not_more() -> None:
    """50 pods that exclude each other on a host: 50 nodes, not 100."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("web", 50, cpu="100m", shape={"anti_affinity": (ALONE,)})
    assert group(plan_of(cluster.world(), policy(node_group("general", max=200))), "general").desired == 50


def test_an_under_used_node_stays_when_its_pod_must_be_alone() -> None:
    """Two nodes, one pod each, neither may join the other: nothing leaves, and the blocker names the pod."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 2, cpu="100m", on=["general-1", "general-2"], shape={"anti_affinity": (ALONE,)})
    memory = Memory(unneeded_since={"general-1": NOW - 9999, "general-2": NOW - 9999})
    plan = plan_of(cluster.world(), policy(node_group("general"), budgets=(Budget(nodes=9),)), memory)
    assert not of_kind(plan, ActionKind.REMOVE_NODE)
    assert blocker_codes(plan, "general-1") == ["NoPlaceToMove"]


def test_spread_keeps_a_node_whose_pod_would_unbalance_the_zones() -> None:
    """One pod in each of two zones, maxSkew 1. In zone a no other node has room, so the pod of a-2 could only join the
    other one in zone b, which would make 0 and 2. The pod of b-2 has room on b-1."""
    cluster = ClusterBuilder()
    for zone, heavy in (("a", "10"), ("b", "9")):
        names = cluster.group(zone, nodes=2, cpu="10", memory="40Gi", labels={ZONE: zone, "pool": "all"})
        cluster.pods(f"heavy-{zone}", 1, cpu=heavy, on=names[0])
    cluster.pods("web", 2, cpu="1", on=["a-2", "b-2"], shape={"spread": (SPREAD,)})
    memory = Memory(unneeded_since={"a-2": NOW - 9999, "b-2": NOW - 9999})
    plan = plan_of(cluster.world(), policy(node_group("a"), node_group("b"), budgets=(Budget(nodes=9),)), memory)
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("b-2",)]
    assert blocker_codes(plan, "a-2") == ["NoPlaceToMove"]
