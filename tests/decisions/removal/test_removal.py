"""Nodes that leave, and every reason why a node stays."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, OwnerState
from reconciler.policy.documents import Budget, DrainRules, Headroom, Limit, PolicySet, ScaleDown, Toggle
from tests.builders import CAPTURED, NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, codes, group, node, of_kind, plan_of

OPEN = (Budget(nodes=100),)
LONG_AGO = Memory(unneeded_since={f"general-{number}": NOW - 3600 for number in range(1, 11)})


def _rules(**fields: object) -> PolicySet:
    return policy(node_group("general", **fields), budgets=OPEN)


def test_an_empty_node_leaves_after_its_time() -> None:
    """Unneeded for exactly unneededTime (10m): removed; a second less: waits, and says until when."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    early = plan_of(world, _rules(), Memory(unneeded_since={"general-1": NOW - 599}))
    assert not early.actions
    assert blocker_codes(early, "general-1") == ["NotUnneededLongEnough"]
    assert node(early, "general-1").removable_at == "2027-01-15T08:00:01Z"
    due = plan_of(world, _rules(), Memory(unneeded_since={"general-1": NOW - 600}))
    (action,) = of_kind(due, ActionKind.REMOVE_NODE)
    assert (action.from_, action.to, action.nodes, action.reason.code) == (1, 0, ("general-1",), "Empty")


def test_unneeded_time_zero_means_at_first_sight() -> None:
    """`0s`: the first plan that sees the node unneeded removes it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    plan = plan_of(cluster.world(), _rules(scale_down=ScaleDown(unneeded_time_seconds=0)))
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1


def test_minimum_keeps_nodes() -> None:
    """Three empty nodes, minimum two: one leaves, the others say MinSize."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    plan = plan_of(cluster.world(), _rules(min=2), LONG_AGO)
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-1",)]
    assert blocker_codes(plan, "general-2") == ["MinSize"]
    assert group(plan, "general").desired == 2


@pytest.mark.parametrize(("least", "gone"), [(0, ("general-2", "general-3")), (1, ("general-2",)), (2, ())])
def test_a_node_that_has_left_the_replicas_already_is_not_taken_off_twice(least: int, gone: tuple[str, ...]) -> None:
    """Three empty nodes, replicas 2: the write for the first is done, and the controller has not deleted its machine yet."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, replicas=2)
    memory = msgspec.structs.replace(LONG_AGO, leaving={"general-1": NOW - 1})
    (*removals,) = of_kind(plan_of(cluster.world(), _rules(min=least), memory), ActionKind.REMOVE_NODE)
    assert tuple(name for action in removals for name in action.nodes) == gone


@pytest.mark.parametrize(("replicas", "gone"), [(3, ("general-2",)), (2, ())])
def test_a_node_that_is_drained_counts_as_gone(replicas: int, gone: tuple[str, ...]) -> None:
    """Three empty nodes, minimum one: one is drained before its write; of replicas 2 another one went by somebody else's."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, replicas=replicas)
    leaving = {"general-1": NOW - 1} if replicas == 3 else {"general-1": NOW - 1, "general-3": NOW - 1}
    memory = msgspec.structs.replace(LONG_AGO, leaving=leaving)
    (*removals,) = of_kind(plan_of(cluster.world(), _rules(min=1), memory), ActionKind.REMOVE_NODE)
    assert tuple(name for action in removals for name in action.nodes) == gone


def test_a_threshold_passes_at_it() -> None:
    """2 of 4 cores is 50 %: at the threshold the node may go, above it stays."""
    for cpu, expected in (("2", 1), ("2001m", 0)):
        cluster = ClusterBuilder()
        cluster.group("general", nodes=2)
        cluster.pods("web", 1, cpu=cpu, on="general-1")
        cluster.pods("base", 1, cpu="2", on="general-2", traits={"safe_to_evict": "false"})
        plan = plan_of(cluster.world(), _rules(), LONG_AGO)
        assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == expected


def test_pods_without_another_place_keep_their_node() -> None:
    """Two nodes at 40 % of memory-heavy pods: one can move, then the other has nowhere to go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 2, cpu="1500m", on=["general-1", "general-2"])
    cluster.pods("wide", 2, cpu="100m", on=["general-1", "general-2"])
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-1",)]
    assert blocker_codes(plan, "general-2") == ["ReceivesPods"]


def test_no_place_names_the_pod() -> None:
    """A pod that fits on no other node: NoPlaceToMove with its name."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("half", 1, cpu="2", on="general-1")
    cluster.pods("most", 1, cpu="3", on="general-2")
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    (blocker,) = node(plan, "general-1").blockers
    assert (blocker.code, blocker.pod) == ("NoPlaceToMove", "shop/half-1")
    assert not plan.actions


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("Unreplicated", {"owner": None}),
        ("NotSafeToEvict", {"traits": {"safe_to_evict": "false"}}),
        ("LocalStorage", {"traits": {"local_volumes": ("cache",)}}),
        ("SystemPod", {"namespace": "kube-system"}),
        ("OnCompletion", {"traits": {"safe_to_evict": "on-completion"}}),
    ],
)
def test_each_drain_rule_keeps_the_node(code: str, fields: dict[str, object]) -> None:
    """One pod, one rule, one blocker with the pod's name."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    (key,) = cluster.pods("web", 1, cpu="100m", on="general-1", **fields)
    plan = plan_of(cluster.world(), _rules(min=1), LONG_AGO)
    assert [(blocker.code, blocker.pod) for blocker in node(plan, "general-1").blockers] == [(code, key)]


def test_pods_of_a_blocked_namespace_keep_their_node_whatever_they_say() -> None:
    """The annotation that lifts other rules does not lift this one; other namespaces are free."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="100m", on="general-1", namespace="payments", traits={"safe_to_evict": "true"})
    blocked, elsewhere = (
        policy(node_group("general", min=1), budgets=OPEN, drain=DrainRules(blocked_namespaces=(name,)))
        for name in ("payments", "billing")
    )
    assert blocker_codes(plan_of(cluster.world(), blocked, LONG_AGO), "general-1") == ["BlockedNamespace"]
    assert "BlockedNamespace" not in blocker_codes(plan_of(cluster.world(), elsewhere, LONG_AGO), "general-1")


def test_all_blockers_are_listed_not_the_first() -> None:
    """An ownerless kube-system pod with local storage and safe-to-evict false has four."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    traits = {"safe_to_evict": "false", "local_volumes": ("a",)}
    cluster.pods("web", 1, cpu="100m", on="general-1", owner=None, namespace="kube-system", traits=traits)
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    assert blocker_codes(plan, "general-1") == ["LocalStorage", "NotSafeToEvict", "SystemPod", "Unreplicated"]


def test_safe_to_evict_true_lifts_owner_system_and_storage_but_not_the_budget() -> None:
    """The annotation `"true"` leaves the disruption budget in force."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    traits = {"safe_to_evict": "true", "local_volumes": ("a",)}
    cluster.pods("web", 1, cpu="100m", on="general-1", owner=None, namespace="kube-system", traits=traits)
    free = plan_of(cluster.world(), _rules(min=1), LONG_AGO)
    assert [action.nodes for action in of_kind(free, ActionKind.REMOVE_NODE)] == [("general-2",)]
    assert node(free, "general-1").blockers[0].code in ("MinSize", "ReceivesPods")
    cluster.budget("web", allowed=0, namespace="kube-system")
    assert blocker_codes(plan_of(cluster.world(), _rules(min=1), LONG_AGO), "general-1") == ["NotEnoughPdb"]


@pytest.mark.parametrize("allowed", [0, 1])
def test_two_pods_of_one_budget_go_one_after_the_other(allowed: int) -> None:
    """Two pods on the node: without a disruption left it stays, with both numbers; with one the second goes after the first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 2, cpu="100m", on="general-1")
    cluster.budget("web", allowed=allowed)
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    messages = [blocker.message for blocker in node(plan, "general-1").blockers if "Budget" in blocker.message]
    assert messages == ([] if allowed else ["PodDisruptionBudget shop/web allows 0 evictions, the drain needs 2"])


def test_a_budget_is_shared_by_nodes_of_one_plan() -> None:
    """One disruption left, one pod on each of two nodes: the first takes it, the second waits."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.pods("base", 1, cpu="3", on="general-3")
    cluster.pods("web", 2, cpu="100m", on=["general-1", "general-2"])
    cluster.budget("web", allowed=1)
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-1",)]
    assert blocker_codes(plan, "general-2") == ["NotEnoughPdb"]


def test_a_gone_controller_keeps_the_node() -> None:
    """The ReplicaSet is not there any more: the pod would be lost."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="100m", on="general-1")
    world = cluster.world(controllers=())
    assert blocker_codes(plan_of(world, _rules(min=1), LONG_AGO), "general-1") == ["ControllerNotFound"]


def test_default_budgets_drain_a_tenth_at_a_time() -> None:
    """Of five nodes one is drained; those that are empty leave beside it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=5)
    cluster.pods("base", 1, cpu="3", on="general-5")
    cluster.pods("web", 2, cpu="100m", on=["general-1", "general-2"])
    plan = plan_of(cluster.world(), policy(node_group("general")), LONG_AGO)
    names = {action.nodes[0]: action.reason.code for action in of_kind(plan, ActionKind.REMOVE_NODE)}
    assert names == {"general-3": "Empty", "general-4": "Empty", "general-1": "Underutilized"}
    assert blocker_codes(plan, "general-2") == ["Budget"]


@pytest.mark.parametrize(("left_empty", "blockers"), [(10, []), (9, []), (8, ["Budget"]), (0, ["Budget"])])
def test_empty_nodes_that_leave_use_up_no_budget_of_drains(left_empty: int, blockers: list[str]) -> None:
    """Of twelve nodes ten are on their way; a tenth, rounded up, is two, those that leave for an unknown reason among them."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.group("going", nodes=10, taints=("reconciler.dev/deleting=test.1:NoSchedule",))
    cluster.pods("base", 1, cpu="3", on="general-2")
    cluster.pods("web", 1, cpu="100m", on="general-1")
    names = tuple(f"going-{number}" for number in range(1, left_empty + 1))
    memory = msgspec.structs.replace(LONG_AGO, left_empty=names)
    plan = plan_of(cluster.world(), policy(node_group("general"), node_group("going")), memory)
    assert blocker_codes(plan, "general-1") == blockers


def test_nodes_that_leave_already_are_off_the_count_of_a_removal() -> None:
    """Of five nodes two are leaving: the next two leave three, then one, and not three of the five that are asked for."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    general = cluster.world().targets[0]
    for name in ("general-4", "general-5"):
        cluster.node(name, labels={"pool": "general"}, taints=["reconciler.dev/deleting=test.1:NoSchedule"])
        cluster.machine(name, general.ref, node=name)
    cluster.target("general", 5, template=general.template)
    cluster.pods("base", 1, cpu="3", on="general-3")
    plan = plan_of(cluster.world(), policy(node_group("general")), LONG_AGO)
    assert [(action.nodes[0], action.from_, action.to) for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [
        ("general-1", 3, 2), ("general-2", 2, 1),
    ]  # fmt: skip


def test_an_empty_node_that_leaves_is_remembered_as_such_until_it_is_gone() -> None:
    """By the decision that lets it go, and as long as it is leaving."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    rules = policy(node_group("general"))
    memory = decide(cluster.world(), rules, LONG_AGO, NOW)[1]
    assert memory.left_empty == ("general-1",)
    leaving = ClusterBuilder()
    leaving.group("general", nodes=1, taints=("reconciler.dev/deleting=test.1:NoSchedule",))
    assert decide(leaving.world(), rules, memory, NOW)[1].left_empty == ("general-1",)
    assert decide(ClusterBuilder().world(), rules, memory, NOW)[1].left_empty == ()


def test_above_max_is_drained_within_budgets() -> None:
    """Four nodes above a maximum of two: two leave at once whatever their use and their timers."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=4)
    cluster.pods("web", 4, cpu="1", on=[f"general-{number}" for number in range(1, 5)])
    plan = plan_of(cluster.world(), _rules(max=2))
    assert [action.reason.code for action in of_kind(plan, ActionKind.REMOVE_NODE)] == ["AboveMax", "AboveMax"]
    assert "AboveMax" in codes(group(plan, "general"))
    assert group(plan, "general").desired == 2


def test_a_plan_that_adds_removes_nothing() -> None:
    """delayAfterAdd covers the nodes that this very plan adds."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.group("gpu", nodes=0)
    cluster.pods("train", 1, cpu="1", node_selector={"pool": "gpu"})
    rules = policy(node_group("general"), node_group("gpu"), budgets=OPEN)
    plan = plan_of(cluster.world(), rules, LONG_AGO)
    assert {action.kind for action in plan.actions} == {ActionKind.RESIZE}
    assert blocker_codes(plan, "general-1") == ["CoolDown"]


def test_cool_down_after_an_addition() -> None:
    """Ten minutes after the last addition removals go on."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    for added, removed in ((NOW - 599, 0), (NOW - 600, 1)):
        memory = Memory(unneeded_since=LONG_AGO.unneeded_since, last_added_seconds=added)
        assert len(plan_of(cluster.world(), _rules(), memory).actions) == removed


def test_headroom_keeps_empty_nodes() -> None:
    """Headroom of one: of three empty nodes one stays."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    plan = plan_of(cluster.world(), _rules(headroom=Headroom(nodes=1)), LONG_AGO)
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 2
    assert blocker_codes(plan, "general-1") == ["Headroom"]


def test_scale_down_disabled_by_policy_and_by_annotation() -> None:
    """Both keep the node, each with its own code."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    off = plan_of(cluster.world(), _rules(scale_down=ScaleDown(mode=Toggle.DISABLED)), LONG_AGO)
    assert blocker_codes(off, "general-1") == ["ScaleDownDisabled"]
    annotated = ClusterBuilder()
    annotated.group("general", nodes=0, replicas=1)
    key = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
    annotated.node("general-1", annotations={key: "true"}, labels={"pool": "general"})
    annotated.machine("general-1", annotated.world().targets[0].ref, node="general-1")
    plan = plan_of(annotated.world(), _rules(), LONG_AGO)
    assert blocker_codes(plan, "general-1") == ["ScaleDownDisabledAnnotation"]


def test_nothing_is_removed_on_a_partial_view() -> None:
    """Without PodDisruptionBudgets no removal is planned, and the plan says why."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world(
        captured=tuple(kind for kind in CAPTURED if kind != "PodDisruptionBudget"), not_captured=("PodDisruptionBudget",)
    )
    plan = plan_of(world, _rules(), LONG_AGO)
    assert not plan.actions
    assert [problem.code for problem in plan.problems] == ["RemovalsHalted"]
    assert blocker_codes(plan, "general-1") == ["RemovalsHalted"]


def test_limit_minimum_keeps_nodes() -> None:
    """At least 8 cores must stay: of three 4-core nodes one leaves."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    rules = policy(node_group("general"), budgets=OPEN, limits=(Limit(name="floor", min=(("cpu", 8000),)),))
    plan = plan_of(cluster.world(), rules, LONG_AGO)
    assert len(of_kind(plan, ActionKind.REMOVE_NODE)) == 1
    assert blocker_codes(plan, "general-3") == ["LimitMin"]


def test_nodes_of_a_held_group_stay() -> None:
    """Somebody else declares the replicas: GroupHeld on every node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=(FieldOwner(manager="kubectl", operation="Apply"),))
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    assert blocker_codes(plan, "general-1") == ["GroupHeld"]
    assert group(plan, "general").owner.state is OwnerState.HELD


def test_a_leaving_node_is_not_removed_twice_and_its_pods_keep_their_next_place() -> None:
    """The tainted node is Leaving; its pod's next place is not given to a pending pod, which buys a node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.node("general-0", labels={"pool": "general"}, taints=["reconciler.dev/deleting=x.1:NoSchedule"])
    cluster.machine("general-0", cluster.world().targets[0].ref, node="general-0")
    cluster.target("general", 2, template=cluster.world().targets[0].template)
    cluster.pods("web", 1, cpu="3", on="general-0")
    cluster.pods("next", 1, cpu="3")
    plan = plan_of(cluster.world(), _rules())
    assert blocker_codes(plan, "general-0")[0] == "Leaving"
    assert [action.kind for action in plan.actions] == [ActionKind.RESIZE]
    assert group(plan, "general").desired == 3


def test_equal_nodes_that_may_be_leaving_are_each_told_by_name() -> None:
    """A taint is the only sign of it, so that somebody may have to remove it from each node."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2, taints=["reconciler.dev/deleting=x.1:NoSchedule"])
    plan = plan_of(cluster.world(), _rules())
    lifts = [f"kubectl taint nodes {name} reconciler.dev/deleting-" for name in names]
    assert [lift in node(plan, name).blockers[0].message for name, lift in zip(names, lifts, strict=True)] == [True, True]


def test_pending_pods_keep_the_node_that_they_count_on() -> None:
    """An empty node that a pending pod is expected on does not go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="3")
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    assert blocker_codes(plan, "general-1") == ["PendingPods"]
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-2",)]


def test_the_same_plan_a_little_later_has_the_same_digest() -> None:
    """Ages are told as instants, so ten seconds alone change nothing but `now`."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    one, two = plan_of(world, _rules(), LONG_AGO, NOW), plan_of(world, _rules(), LONG_AGO, NOW + 10)
    assert one.actions
    assert one.now != two.now
    assert one.digest == two.digest


def test_a_pod_under_two_budgets_keeps_its_node() -> None:
    """The eviction API answers with an error for such a pod, so a drain would never end."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="100m", on="general-1")
    cluster.budget("web", allowed=5)
    world = cluster.world()
    twice = msgspec.structs.replace(world, budgets=(*world.budgets, msgspec.structs.replace(world.budgets[0], name="x")))
    assert blocker_codes(plan_of(twice, _rules(min=1), LONG_AGO), "general-1") == ["SeveralPdbs"]


def test_expendable_pods_ask_their_budget_too() -> None:
    """A pod below the cut-off needs no other place, but its eviction is refused when its budget is used up."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("spare", 1, cpu="3", on="general-1", priority=-20)
    free = plan_of(cluster.world(), _rules(min=1), LONG_AGO)
    assert [action.nodes for action in of_kind(free, ActionKind.REMOVE_NODE)] == [("general-1",)]
    cluster.budget("spare", allowed=0)
    assert blocker_codes(plan_of(cluster.world(), _rules(min=1), LONG_AGO), "general-1") == ["NotEnoughPdb"]


def test_headroom_is_not_given_to_pods_of_drained_nodes() -> None:
    """The under-used node's pod would fit the node that headroom keeps free: draining it would buy the headroom again."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="1", on="general-1")
    plan = plan_of(cluster.world(), _rules(headroom=Headroom(nodes=1)), LONG_AGO)
    assert not plan.actions
    assert blocker_codes(plan, "general-1") == ["Headroom"]


def test_the_very_pods_that_block_are_named() -> None:
    """Six pods of one shape: of the four without controller two have ended; those two that run are named, not the owned ones."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    alike = {"cpu": "100m", "labels": {"app": "web"}, "on": "general-1"}
    cluster.pods("bare", 4, owner=None, traits={"restart_policy": "Never"}, **alike)
    cluster.pods("owned", 1, **alike)
    cluster.pods("aged", 1, **alike)
    world = cluster.world()
    ended = ("bare-1", "bare-3")
    rows = (msgspec.structs.replace(pod, phase=PodPhase.SUCCEEDED) if pod.name in ended else pod for pod in world.pods)
    plan = plan_of(msgspec.structs.replace(world, pods=PodTable(rows)), _rules(), LONG_AGO)
    assert [blocker.pod for blocker in node(plan, "general-1").blockers if blocker.pod] == ["shop/bare-2", "shop/bare-4"]


def test_pods_of_one_shape_are_told_apart_by_their_controllers() -> None:
    """Three pods of one shape, none of them ended: only the two without controller are named."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    alike = {"cpu": "100m", "labels": {"app": "web"}, "on": "general-1"}
    cluster.pods("aged", 1, **alike)
    cluster.pods("bare", 2, owner=None, **alike)
    plan = plan_of(cluster.world(), _rules(), LONG_AGO)
    assert [blocker.pod for blocker in node(plan, "general-1").blockers if blocker.pod] == ["shop/bare-1", "shop/bare-2"]
