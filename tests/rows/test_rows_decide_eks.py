"""Rows S51 to S97: what the best practices for a managed Kubernetes say of the Cluster Autoscaler."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, NodeState, PodOutcome
from reconciler.policy.documents import Budget, Headroom, PolicySet, ScaleUp, Tier
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of, pod

ZONE = "topology.kubernetes.io/zone"
TYPE = "node.kubernetes.io/instance-type"
OPEN = (Budget(nodes=100),)
LONG_AGO = Memory(unneeded_since=dict.fromkeys(("general-1", "general-2", "gpu-1"), NOW - 3600))
GENERAL = policy(node_group("general"), budgets=OPEN)


def _zonal(*names: str) -> ClusterBuilder:
    cluster = ClusterBuilder()
    for name in names:
        cluster.group(name, nodes=0, labels={"pool": "all", ZONE: name})
    return cluster


def _full() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    return cluster


def test_s051_why_nothing_leaves_is_told_node_by_node() -> None:
    """At the minimum; within ten minutes of the last addition; not a candidate at all: three codes."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    least = plan_of(cluster.world(), policy(node_group("general", min=1)), LONG_AGO)
    assert blocker_codes(least, "general-1") == ["MinSize"]
    recent = Memory(unneeded_since=LONG_AGO.unneeded_since, last_added_seconds=NOW - 60)
    (blocker,) = node(plan_of(cluster.world(), GENERAL, recent), "general-1").blockers
    assert (blocker.code, "2027-01-15T08:09:00Z" in blocker.message) == ("CoolDown", True)
    assert blocker_codes(plan_of(_full().world(), GENERAL, LONG_AGO), "general-1") == ["NotUnderutilized"]


@pytest.mark.parametrize(("age", "outcome"), [(899, PodOutcome.FITS_UPCOMING), (900, PodOutcome.TRIGGERS_SCALE_UP)])
def test_s063_a_node_whose_device_plugin_is_slow_counts_as_coming(age: int, outcome: PodOutcome) -> None:
    """The template has a GPU, the node not yet: the pod waits for it for 15 minutes and buys another one only then."""
    cluster = ClusterBuilder()
    cluster.group("gpu", nodes=0, replicas=1, gpu=1)
    cluster.node("gpu-1", labels={"pool": "gpu"}, created=NOW - age)
    cluster.machine("gpu-1", cluster.world().targets[0].ref, node="gpu-1")
    cluster.pods("train", 1, cpu="1", gpu=1)
    assert pod(plan_of(cluster.world(), policy(node_group("gpu"))), "shop/train-1").outcome is outcome


@pytest.mark.parametrize(("gpu", "permille", "gone"), [(0, 0, [("gpu-1",)]), (1, 1000, [])])
def test_s064_a_gpu_node_is_judged_by_its_gpus(gpu: int, permille: int, gone: list[tuple[str, ...]]) -> None:
    """3.5 of 4 cores in use: it goes while its GPU is idle and stays while it is taken."""
    cluster = ClusterBuilder()
    cluster.group("gpu", nodes=1, gpu=1)
    cluster.group("general", nodes=1)
    cluster.pods("base", 1, cpu="100m", on="general-1", traits={"safe_to_evict": "false"})
    cluster.pods("web", 1, cpu="3500m", on="gpu-1", gpu=gpu)
    plan = plan_of(cluster.world(), policy(node_group("gpu"), node_group("general"), budgets=OPEN), LONG_AGO)
    assert node(plan, "gpu-1").utilization_permille == permille
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == gone


def test_s072_past_its_work_budget_a_plan_is_partial_and_says_so() -> None:
    """Two tiers of ten nodes each: none, the first, both, and parts on the way; who was left out says so."""
    cluster = ClusterBuilder()
    for name in ("first", "second"):
        cluster.group(name, nodes=0)
        for number in range(10):
            cluster.pods(f"{name}{number}", 1, cpu=f"{3000 + number}m", node_selector={"pool": name})
    groups = [node_group(name, tier=name) for name in ("first", "second")]
    world, rules = cluster.world(), policy(*groups, tiers=(Tier(name="first"), Tier(name="second")))
    sizes = []
    for budget in range(400):
        plan, _ = decide(world, rules, Memory(), NOW, work_budget=budget)
        sizes.append(tuple(line.desired for line in plan.groups))
        left = [codes(line) for line in plan.pods if line.outcome is not PodOutcome.TRIGGERS_SCALE_UP]
        assert left == [["NotExamined"]] * (20 - sum(sizes[-1]))
        # Whose pods were left out is told beside it, once they were looked at.
        problems = {problem.code for problem in plan.problems} - {"NamespaceDelayed"}
        assert problems == ({"WorkBudgetExhausted"} if left else set())
    assert {(0, 0), (10, 0), (10, 10)} <= set(sizes)
    assert all(first == 10 for first, second in sizes if second)
    assert [first for first, _ in sizes] == sorted(first for first, _ in sizes)
    assert (sizes[0], sizes[-1]) == ((0, 0), (10, 10))


@pytest.mark.parametrize("draining", [False, True])
def test_s086_a_node_that_another_handler_drains_is_no_capacity(draining: bool) -> None:
    """Cordoned, or about to be deleted: empty as it is, a pending pod gets a new node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, replicas=1)
    taints = ("ToBeDeletedByClusterAutoscaler:NoSchedule",) if draining else ()
    cluster.node("general-1", labels={"pool": "general"}, cordoned=True, taints=taints)
    cluster.machine("general-1", cluster.world().targets[0].ref, node="general-1")
    cluster.pods("web", 1, cpu="1")
    plan = plan_of(cluster.world(), GENERAL)
    assert (group(plan, "general").desired, pod(plan, "shop/web-1").outcome) == (2, PodOutcome.TRIGGERS_SCALE_UP)
    assert not of_kind(plan, ActionKind.REMOVE_NODE)
    assert (node(plan, "general-1").state is NodeState.LEAVING) is draining


def test_s087_instance_types_of_one_shape_grow_together() -> None:
    """m4, m5, m5a, m5n: 4 cores and 16 Gi each, told apart by their type alone; r5 has twice the memory."""
    cluster = ClusterBuilder()
    for name in ("m4", "m5", "m5a", "m5n", "r5"):
        size = "32Gi" if name == "r5" else "16Gi"
        cluster.group(name, nodes=0, memory=size, labels={"pool": "all", TYPE: f"{name}.xlarge"})
    cluster.pods("web", 4, cpu="4", memory="8Gi")
    groups = [node_group(name, balance_with="Auto") for name in ("m4", "m5", "m5a", "m5n", "r5")]
    plan = plan_of(cluster.world(), policy(*groups, balancing_ignore_labels=(TYPE,)))
    assert [line.desired for line in plan.groups] == [1, 1, 1, 1, 0]


def test_s089_least_waste_unless_told() -> None:
    """Four pods of 2 cores and 4 Gi: two machines of 4 and 8 Gi waste nothing, one of 16 and 32 Gi half of it."""
    cluster = ClusterBuilder()
    cluster.group("large", nodes=0, cpu="16", memory="32Gi")
    cluster.group("small", nodes=0, cpu="4", memory="8Gi")
    cluster.pods("web", 4, cpu="2", memory="4Gi")
    plan = plan_of(cluster.world(), policy(node_group("small"), node_group("large")))
    assert (group(plan, "small").desired, group(plan, "large").desired) == (2, 0)


@pytest.mark.parametrize(
    ("written", "age", "falls_through"), [(None, 899, False), (None, 900, True), (60, 59, False), (60, 60, True)]
)
def test_s091_after_the_provision_time_the_next_group_serves(written: int | None, age: int, falls_through: bool) -> None:
    """15 minutes unless the group says otherwise: until then its machine is waited for."""
    cluster = ClusterBuilder()
    cluster.group("spot", nodes=0, replicas=1)
    cluster.machine("spot-1", cluster.world().targets[0].ref, created=NOW - age)
    cluster.group("dear", nodes=0)
    cluster.pods("web", 1, cpu="4")
    groups = (
        node_group("spot", tier="spot", scale_up=ScaleUp(max_node_provision_time_seconds=written)),
        node_group("dear", tier="on-demand"),
    )
    plan = plan_of(cluster.world(), policy(*groups, tiers=(Tier(name="spot"), Tier(name="on-demand"))))
    assert (group(plan, "spot").desired, group(plan, "dear").desired) == (int(not falls_through), int(falls_through))


def _grown(cluster: ClusterBuilder, rules: PolicySet) -> int:
    return group(plan_of(cluster.world(), rules), "general").desired


def test_s093_spare_room_by_headroom_or_by_placeholder_pods() -> None:
    """A node of headroom, or a placeholder of priority -1 that was preempted: one more node each."""
    assert _grown(_full(), GENERAL) == 1
    assert _grown(_full(), policy(node_group("general", headroom=Headroom(nodes=1)))) == 2
    cluster = _full()
    cluster.pods("placeholder", 1, cpu="4", priority=-1)
    assert _grown(cluster, GENERAL) == 2


def test_s096_spare_room_in_every_zone() -> None:
    """One a zone over three zones, one node each."""
    rules = policy(*(node_group(zone, headroom=Headroom(nodes_per_zone=1)) for zone in "abc"))
    assert [line.desired for line in plan_of(_zonal("a", "b", "c").world(), rules).groups] == [1, 1, 1]


@pytest.mark.parametrize(("annotation", "gone"), [(None, 1), ("false", 0)])
def test_s097_an_under_used_node_goes_unless_a_pod_may_not_be_interrupted(annotation: str | None, gone: int) -> None:
    """A quarter used: drained, but for safe-to-evict "false"."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("base", 1, cpu="3", on="general-2")
    cluster.pods("web", 1, cpu="1", on="general-1", traits={"safe_to_evict": annotation})
    assert len(of_kind(plan_of(cluster.world(), GENERAL, LONG_AGO), ActionKind.REMOVE_NODE)) == gone
