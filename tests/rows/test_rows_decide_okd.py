"""Rows S14 to S38: what the documents of an operator for the Cluster Autoscaler promise."""

import msgspec
import pytest

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, NodeState, Plan, PodOutcome
from reconciler.policy.documents import BlockRule, Budget, DrainRules, Limit, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of, pod
from tests.policy.texts import POLICY, read
from tests.policy.texts import codes as problem_codes
from tests.policy.texts import group as group_text

LONG_AGO = Memory(unneeded_since={f"general-{number}": NOW - 3600 for number in range(1, 11)})
NODE_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("general"), budgets=(Budget(nodes=100),), **fields)


def _small_pod(*budgets: int, rules: PolicySet | None = None, **fields: object) -> Plan:
    """A plan for general-1 with one small pod and general-2 with room for it and a pod that pins it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("base", 1, cpu="1", on="general-2", traits={"safe_to_evict": "false"})
    cluster.pods("web", 1, cpu="100m", on="general-1", **fields)
    for allowed in budgets:
        cluster.budget("web", allowed=allowed, namespace=str(fields.get("namespace", "shop")))
    return plan_of(cluster.world(), rules or _rules(), LONG_AGO)


def _leaving(plan: Plan) -> list[str]:
    return [name for action in of_kind(plan, ActionKind.REMOVE_NODE) for name in action.nodes]


def _full(pods: int, cpu: str = "4", **fields: object) -> ClusterBuilder:
    """One full node of 4 cores, and pods that wait."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    cluster.pods("web", pods, cpu=cpu, **fields)
    return cluster


def test_s014_pending_pods_get_a_node_and_a_reason_each() -> None:
    """Two pods of 4 cores, a full node: two nodes, and each pod says which group grows for it."""
    plan = plan_of(_full(2).world(), _rules())
    assert group(plan, "general").desired == 3
    assert [(line.outcome, line.group, codes(line)) for line in plan.pods] == [
        (PodOutcome.TRIGGERS_SCALE_UP, "general", ["NewNode"])
    ] * 2


@pytest.mark.parametrize(("most", "limit", "expected"), [(3, 99, 3), (99, 4, 4), (1, 99, 1), (99, 0, 1), (3, 4, 3)])
def test_s015_never_beyond_a_maximum_or_a_limit(most: int, limit: int, expected: int) -> None:
    """Nine nodes are asked for beside one: the smaller bound ends it; a bound below what is there adds nothing."""
    rules = policy(node_group("general", max=most), limits=(Limit(name="all", max=(("nodes", limit),)),))
    assert group(plan_of(_full(9).world(), rules), "general").desired == expected


def test_s016_limits_count_all_nodes_and_the_plan_tells_them_apart() -> None:
    """4 cores managed and 8 of the control plane are 12: a limit of 15 allows no node of 4 more."""
    cluster = _full(1)
    cluster.node("master-0", "8", taints=["node-role.kubernetes.io/control-plane:NoSchedule"])
    plan = plan_of(cluster.world(), _rules(limits=(Limit(name="cores", max=(("cpu", 15_000),)),)))
    reason = pod(plan, "shop/web-1").reasons[1]
    assert (reason.code, reason.data["used"]) == ("LimitReached", 12_000)
    assert [(line.node, line.group) for line in plan.nodes] == [("general-1", "general"), ("master-0", None)]
    assert node(plan, "master-0").state is NodeState.UNMANAGED


@pytest.mark.parametrize(("most", "warned"), [(5, True), (6, False)])
def test_s017_a_limit_of_nodes_leaves_room_for_the_control_plane(most: int, warned: bool) -> None:
    """Groups of at most 2 and 3 nodes: a limit of 5 has no room for one node of the control plane, 6 has."""
    limit = f"spec: {{limits: [{{name: all, max: {{nodes: {most}}}}}]}}"
    groups = "".join(group_text(name, f"  size: {{min: 0, max: {high}}}\n") for name, high in (("a", 2), ("b", 3)))
    assert ("LimitBelowMaximums" in problem_codes(read(POLICY.replace("spec: {}", limit) + groups))) is warned


def test_s019_utilization_is_requests_over_allocatable_with_a_threshold_of_half() -> None:
    """8 of 16 Gi (more than 1 of 4 cores) is 50 %: may go. Of 12 Gi allocatable it is 66.7 %: stays."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("base", 1, cpu="3", memory="1Gi", on="general-2")
    cluster.pods("web", 1, cpu="1", memory="8Gi", on="general-1")
    world = cluster.world()
    plan = plan_of(world, _rules(), LONG_AGO)
    assert (node(plan, "general-1").utilization_permille, _leaving(plan)) == (500, ["general-1"])
    shapes = tuple(
        msgspec.structs.replace(shape, allocatable=msgspec.structs.replace(shape.allocatable, memory_bytes=12 << 30))
        for shape in world.node_shapes
    )
    plan = plan_of(msgspec.structs.replace(world, node_shapes=shapes), _rules(), LONG_AGO)
    assert (node(plan, "general-1").utilization_permille, _leaving(plan)) == (667, [])


def test_s020_a_node_goes_only_when_all_its_pods_find_a_place() -> None:
    """Three cores are free elsewhere: two pods of 1 core may move; with 3.5 cores taken they may not."""
    for taken, expected in (("1", ["general-1"]), ("3500m", [])):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=2)
        cluster.pods("base", 1, cpu=taken, on="general-2", traits={"safe_to_evict": "false"})
        cluster.pods("web", 2, cpu="1", on="general-1")
        assert _leaving(plan_of(cluster.world(), _rules(), LONG_AGO)) == expected


@pytest.mark.parametrize(("value", "expected"), [("true", []), ("false", ["general-1"])])
def test_s021_scale_down_disabled_on_a_node_is_honoured(value: str, expected: list[str]) -> None:
    """The annotation "true" keeps an empty node, "false" does not."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, replicas=1)
    cluster.node("general-1", annotations={NODE_DISABLED: value}, labels={"pool": "general"})
    cluster.machine("general-1", cluster.world().targets[0].ref, node="general-1")
    assert _leaving(plan_of(cluster.world(), _rules(), LONG_AGO)) == expected


def test_s022_a_restrictive_budget_is_named_with_its_number() -> None:
    """Zero disruptions left: the blocker names the budget and the 0; one left and the node goes."""
    (blocker,) = node(_small_pod(0), "general-1").blockers
    assert blocker.code == "NotEnoughPdb"
    assert "shop/web allows 0" in blocker.message
    assert _leaving(_small_pod(1)) == ["general-1"]


def test_s023_system_pods_block_but_not_those_that_go_with_their_node() -> None:
    """An ordinary kube-system pod keeps the node, a DaemonSet's and a mirror pod do not."""
    assert blocker_codes(_small_pod(namespace="kube-system"), "general-1") == ["SystemPod"]
    assert _leaving(_small_pod(namespace="kube-system", owner="DaemonSet")) == ["general-1"]
    assert _leaving(_small_pod(namespace="kube-system", owner=None, traits={"mirror": True})) == ["general-1"]


def test_s024_no_budget_and_a_budget_that_is_used_up_are_two_reasons() -> None:
    """kube-system: without a budget, with one of 0, with one of 1."""
    assert blocker_codes(_small_pod(namespace="kube-system"), "general-1") == ["SystemPod"]
    assert blocker_codes(_small_pod(0, namespace="kube-system"), "general-1") == ["NotEnoughPdb"]
    assert _leaving(_small_pod(1, namespace="kube-system")) == ["general-1"]


def test_s025_a_pod_without_controller_blocks() -> None:
    """Nobody would make it again; Deployment's ReplicaSets and StatefulSets would."""
    assert blocker_codes(_small_pod(owner=None), "general-1") == ["Unreplicated"]
    for owner in ("ReplicaSet", "StatefulSet"):
        assert _leaving(_small_pod(owner=owner)) == ["general-1"]


def test_s026_local_storage_blocks_until_it_is_allowed() -> None:
    """A volume of the node keeps it; not when the policy or the pod says that it may be lost."""
    local = {"local_volumes": ("cache",)}
    assert blocker_codes(_small_pod(traits=local), "general-1") == ["LocalStorage"]
    assert _leaving(_small_pod(traits={**local, "safe_local_volumes": ("cache",)})) == ["general-1"]
    allowed = _rules(drain=DrainRules(local_storage=BlockRule.ALLOW))
    assert _leaving(_small_pod(traits=local, rules=allowed)) == ["general-1"]


@pytest.mark.parametrize(
    ("fields", "without"),
    [
        ({"owner": None}, "Unreplicated"),
        ({"namespace": "kube-system"}, "SystemPod"),
        ({"traits": {"local_volumes": ("cache",)}}, "LocalStorage"),
        ({}, None),
    ],
)
def test_s028_safe_to_evict_decides_over_the_other_pod_rules(fields: dict[str, object], without: str | None) -> None:
    """On the pod: "true" lifts each rule, "false" blocks each pod, besides what blocked it already."""
    assert blocker_codes(_small_pod(**fields), "general-1") == ([without] if without else [])
    for value, codes_expected in (("true", []), ("false", sorted(filter(None, ["NotSafeToEvict", without])))):
        traits = {**fields.get("traits", {}), "safe_to_evict": value}
        assert blocker_codes(_small_pod(**{**fields, "traits": traits}), "general-1") == codes_expected


def test_s029_sixty_four_cores_allow_four_more_machines_of_eight() -> None:
    """floor((64 - 30) / 8) = 4: 62 cores, and the fifth machine is refused by the limit."""
    cluster = ClusterBuilder()
    cluster.node("other", "30", "64Gi", taints=["dedicated:NoSchedule"])
    cluster.group("general", nodes=0, cpu="8", memory="32Gi")
    cluster.pods("web", 5, cpu="7")
    plan = plan_of(cluster.world(), _rules(limits=(Limit(name="cores", max=(("cpu", 64_000),)),)))
    assert group(plan, "general").desired == 4
    assert plan.pods[-1].reasons[1].data["used"] == 62_000


@pytest.mark.parametrize(("pods", "cpu", "added"), [(0, "1", 0), (4, "1", 1), (5, "1", 2), (9, "5", 0)])
def test_s035_a_node_is_added_only_for_a_pod_that_it_will_run(pods: int, cpu: str, added: int) -> None:
    """Four pods of 1 core share a node of 4, the fifth has one of its own; pods that never fit add nothing."""
    line = group(plan_of(_full(pods, cpu).world(), _rules()), "general")
    assert line.desired - line.current == added


def test_s036_no_node_type_fits_and_all_at_their_maximum_are_two_reasons() -> None:
    """A pod larger than the machine, and a pod that fits while the group is full."""
    rules = policy(node_group("general", max=1))
    assert codes(pod(plan_of(_full(1, "5").world(), rules), "shop/web-1"))[0] == "NoGroupFits"
    assert codes(pod(plan_of(_full(1, "1").world(), rules), "shop/web-1"))[0] == "GroupsExhausted"


@pytest.mark.parametrize(("priority", "grown", "gone"), [(-10, 2, []), (-11, 1, ["general-1"])])
def test_s038_pods_below_the_cutoff_add_no_node_and_keep_none(priority: int, grown: int, gone: list[str]) -> None:
    """Cut-off -10: at it a pod counts both ways, below it neither."""
    assert group(plan_of(_full(1, priority=priority).world(), _rules()), "general").desired == grown
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("spare", 1, cpu="1", on="general-1", priority=priority)
    assert _leaving(plan_of(cluster.world(), _rules(), LONG_AGO)) == gone
