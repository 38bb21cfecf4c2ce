"""Growth and removal under spread and anti-affinity."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.target import TargetTemplate
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import Budget, Expander, Limit
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector
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


def test_a_host_that_others_cause_is_one_more_to_spread_over() -> None:
    """Four pods of 2 cpu would fit one host of 8. Four others need a small host each, with no room for one of those: none of
    their hosts may have more than one then."""
    cluster = ClusterBuilder()
    cluster.group("big", nodes=0, cpu="8", memory="16Gi", taints=("dedicated:NoSchedule",))
    cluster.group("small", nodes=0, cpu="4", memory="16Gi")
    hosts = SpreadConstraint(topology_key="kubernetes.io/hostname", max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 4, cpu="2", tolerations=["dedicated"], shape={"spread": (hosts,)})
    cluster.pods("plain", 4, cpu="3")
    rules = policy(node_group("big"), node_group("small"), expanders=(Expander.LEAST_NODES,))
    plan = plan_of(cluster.world(), rules)
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    assert {line.name: line.desired for line in plan.groups} == {"big": 4, "small": 4}


@pytest.mark.parametrize(("priority", "big", "small"), [(0, 0, 4), (10, 1, 3)])
def test_pods_that_are_served_later_wait_for_none_of_lower_priority(priority: int, big: int, small: int) -> None:
    """The same, where no more than four nodes may come. Those under a spread have to come last, but not after lesser pods."""
    cluster = ClusterBuilder()
    cluster.group("big", nodes=0, cpu="8", memory="16Gi", taints=("dedicated:NoSchedule",))
    cluster.group("small", nodes=0, cpu="4", memory="16Gi")
    hosts = SpreadConstraint(topology_key="kubernetes.io/hostname", max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 4, cpu="2", tolerations=["dedicated"], priority=priority, shape={"spread": (hosts,)})
    cluster.pods("plain", 4, cpu="3")
    limit = Limit(name="few", max=(("nodes", 4),))
    rules = policy(node_group("big"), node_group("small"), expanders=(Expander.LEAST_NODES,), limits=(limit,))
    assert {line.name: line.desired for line in plan_of(cluster.world(), rules).groups} == {"big": big, "small": small}


def _two_zones(web: int, plain: str) -> Plan:
    """Zone a has a node, which its taint keeps out of the spread of `web` pods of 1 cpu. A pod of `plain` cpu opens it."""
    cluster = ClusterBuilder()
    cluster.node("lone", labels={ZONE: "a"}, taints=("elsewhere:NoSchedule",))
    cluster.group("here", nodes=0, cpu="8", memory="16Gi", labels={ZONE: "a", "pool": "here"})
    cluster.group("there", nodes=0, cpu="8", memory="16Gi", labels={ZONE: "b"})
    honor = msgspec.structs.replace(SPREAD, node_taints_policy="Honor")
    cluster.pods("web", web, cpu="1", shape={"spread": (honor,)})
    cluster.pods("plain", 1, cpu=plain, node_selector={"pool": "here"})
    return plan_of(cluster.world(), policy(node_group("here"), node_group("there"), expanders=(Expander.LEAST_NODES,)))


@pytest.mark.parametrize(("plain", "here"), [("4", 1), ("7", 2)])
def test_a_zone_that_others_open_is_one_more_to_spread_over(plain: str, here: int) -> None:
    """Three of six belong in zone a then, and not all six in b. The node of the other pod has room for them, or for one."""
    plan = _two_zones(6, plain)
    assert {line.name: line.desired for line in plan.groups} == {"here": here, "there": 1}
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}


def test_pods_on_a_node_to_come_are_spread_with_those_that_need_another() -> None:
    """Six pods of 1 cpu spread over zones. A node of 4 is on its way in b, so that two need one in a: then it takes three of
    them, and b three."""
    cluster = ClusterBuilder()
    cluster.group("here", nodes=0, cpu="2", memory="16Gi", labels={ZONE: "a"})
    cluster.group("there", nodes=0, cpu="4", memory="16Gi", labels={ZONE: "b"}, replicas=1)
    cluster.pods("web", 6, cpu="1", shape={"spread": (SPREAD,)})
    plan = plan_of(cluster.world(), policy(node_group("here"), node_group("there", max=1)))
    assert {line.name: line.desired for line in plan.groups} == {"here": 2, "there": 1}
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.FITS_UPCOMING}


@pytest.mark.parametrize(("zones", "promised"), [("ab", 1), ("bb", 6)])
def test_a_node_may_open_any_zone_that_its_group_is_in(zones: str, promised: int) -> None:
    """Nodes of `here`, which leave soon, are in zones that say nothing of the next one, and another pod needs that. If it opens
    zone a, b takes one pod of the spread and no more."""
    cluster = ClusterBuilder()
    size = amounts("8", "16Gi", 110)
    template = TargetTemplate(capacity=size, allocatable=size, labels=(("pool", "here"),), origins=("annotations",))
    ref = cluster.target("here", 2, template=template)
    leaving = ("cloud.google.com/impending-node-termination:NoSchedule",)
    for number, zone in enumerate(zones):
        node = cluster.node(f"here-{number}", "8", labels={ZONE: zone, "pool": "here"}, taints=leaving)
        cluster.machine(node, ref, node=node)
    cluster.group("there", nodes=0, cpu="8", memory="16Gi", labels={ZONE: "b"})
    honor = msgspec.structs.replace(SPREAD, node_taints_policy="Honor")
    cluster.pods("web", 6, cpu="1", shape={"spread": (honor,)})
    cluster.pods("plain", 1, cpu="8", node_selector={"pool": "here"})
    plan = plan_of(cluster.world(), policy(node_group("here"), node_group("there"), expanders=(Expander.LEAST_NODES,)))
    web = [line.outcome for line in plan.pods if line.pod.startswith("shop/web")]
    assert web.count(PodOutcome.TRIGGERS_SCALE_UP) == promised
    assert group(plan, "here").desired == 3
