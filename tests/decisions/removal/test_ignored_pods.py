"""Pods that go with their node, and whether they are a part of its utilization: policy, target and pods together."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import TargetOption
from reconciler.decisions.decide import decide
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.drains.drain_report import drain_report
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, Counting, GroupFields, PolicySet, ScaleDown, TargetAnnotations
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.node import explain_node
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of

OPEN = (Budget(nodes=100),)
COUNTED = ScaleDown()
NO_DAEMONSETS = ScaleDown(daemon_set_utilization=Counting.IGNORE)
NO_MIRRORS = ScaleDown(mirror_pod_utilization=Counting.IGNORE)
ORIGIN = "cluster.x-k8s.io/autoscaling-options-ignoredaemonsetsutilization"


def _cluster(*, gpu: int = 0) -> ClusterBuilder:
    """Two nodes of 4 cores, with web (1 core) on the first."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, gpu=gpu)
    cluster.pods("web", 1, cpu="1", on="general-1", **({"gpu": 1} if gpu else {}))
    return cluster


def _rules(down: ScaleDown) -> PolicySet:
    return policy(node_group("general", scale_down=down), budgets=OPEN)


def _plan(cluster: ClusterBuilder, down: ScaleDown) -> Plan:
    return plan_of(cluster.world(), _rules(down), Memory(unneeded_since={"general-1": NOW - 3600}))


@pytest.mark.parametrize("beside", [0, 1], ids=["plain pods only", "with a pod that has no controller"])
@pytest.mark.parametrize(("down", "permille"), [(COUNTED, 625), (NO_MIRRORS, 625), (NO_DAEMONSETS, 400)])
def test_ignored_daemonset_pods_leave_requests_and_allocatable(beside: int, down: ScaleDown, permille: int) -> None:
    """1.5 + 1 of 4 cores are 62.5 %; without the DaemonSet and its room 1 of 2.5 are 40 %, below the threshold of 50 %."""
    cluster = _cluster()
    cluster.daemonset("agent", cpu="1500m")
    cluster.pods("bare", beside, cpu="0", on="general-1", owner=None)
    plan = _plan(cluster, down)
    assert node(plan, "general-1").utilization_permille == permille
    assert ("NotUnderutilized" in blocker_codes(plan, "general-1")) == (permille > 500)


@pytest.mark.parametrize(("down", "permille"), [(COUNTED, 625), (NO_DAEMONSETS, 625), (NO_MIRRORS, 400)])
def test_ignored_mirror_pods_leave_requests_and_allocatable(down: ScaleDown, permille: int) -> None:
    """The same sum with a static pod of 1.5 cores, which only its own setting leaves out."""
    cluster = _cluster()
    cluster.pods("static", 1, cpu="1500m", on="general-1", owner=None, traits={"mirror": True})
    plan = _plan(cluster, down)
    assert node(plan, "general-1").utilization_permille == permille


@pytest.mark.parametrize(("priority", "permille"), [(-9, 400), (-10, 400), (-11, 250)])
def test_expendable_pods_count_in_nothing_to_begin_with(priority: int, permille: int) -> None:
    """Below -10 the static pod of 1.5 cores holds no room, so that none is taken off: 1 of 4 cores; at -10 and above 1 of 2.5."""
    cluster = _cluster()
    cluster.pods("static", 1, cpu="1500m", on="general-1", owner=None, traits={"mirror": True}, priority=priority)
    assert node(_plan(cluster, NO_MIRRORS), "general-1").utilization_permille == permille


@pytest.mark.parametrize(("down", "leaves"), [(COUNTED, ["general-2"]), (NO_DAEMONSETS, ["general-1", "general-2"])])
def test_what_is_removed_follows(down: ScaleDown, leaves: list[str]) -> None:
    """A third node, always used, has room for web: the first one leaves only where the DaemonSet does not count."""
    cluster = _cluster()
    cluster.group("rest", nodes=1, cpu="8")
    cluster.pods("busy", 1, cpu="5", on="rest-1")
    cluster.daemonset("agent", cpu="1500m")
    rules = policy(node_group("general", scale_down=down), node_group("rest"), budgets=OPEN)
    plan = plan_of(cluster.world(), rules, Memory(unneeded_since={"general-1": NOW - 3600, "general-2": NOW - 3600}))
    assert sorted(name for action in of_kind(plan, ActionKind.REMOVE_NODE) for name in action.nodes) == leaves


@pytest.mark.parametrize("down", [COUNTED, NO_DAEMONSETS])
def test_a_node_with_gpus_looks_at_them_only(down: ScaleDown) -> None:
    """1 of 4 GPUs are 25 %, however much cpu a DaemonSet asks for and whether it counts."""
    cluster = _cluster(gpu=4)
    cluster.daemonset("agent", cpu="1500m")
    assert node(_plan(cluster, down), "general-1").utilization_permille == 250


def test_what_never_counted_is_not_subtracted() -> None:
    """An expendable DaemonSet pod is in no sum: web alone is 1 of 4 cores, not 1 of 2.5."""
    cluster = _cluster()
    cluster.pods("agent", 1, cpu="1500m", on="general-1", owner="DaemonSet", priority=-20)
    assert node(_plan(cluster, NO_DAEMONSETS), "general-1").utilization_permille == 250


def test_what_has_ended_is_not_subtracted() -> None:
    """A DaemonSet pod that failed takes no room: web alone is 1 of 4 cores, not 1 of 2.5."""
    cluster = _cluster()
    cluster.daemonset("agent", cpu="1500m")
    world = cluster.world()
    rows = (msgspec.structs.replace(pod, phase=PodPhase.FAILED) if pod.name.startswith("agent") else pod for pod in world.pods)
    plan = plan_of(msgspec.structs.replace(world, pods=PodTable(rows)), _rules(NO_DAEMONSETS))
    assert node(plan, "general-1").utilization_permille == 250


def test_a_node_whose_room_is_all_ignored_is_full_when_anything_is_left() -> None:
    """4 of 4 cores are the DaemonSet's: what web asks for has no room to be a share of, and the node stays."""
    cluster = _cluster()
    cluster.daemonset("agent", cpu="4")
    plan = _plan(cluster, NO_DAEMONSETS)
    assert node(plan, "general-1").utilization_permille == 1000
    assert "NotUnderutilized" in blocker_codes(plan, "general-1")


@pytest.mark.parametrize(
    ("document", "option", "annotations", "ignored"),
    [
        (None, 1, TargetAnnotations.READ, True),
        (None, 0, TargetAnnotations.READ, False),
        (None, 1, TargetAnnotations.IGNORE, False),
        (Counting.COUNT, 1, TargetAnnotations.READ, False),
        (Counting.IGNORE, 0, TargetAnnotations.READ, True),
    ],
)
def test_the_option_of_the_target(document: Counting | None, option: int, annotations: TargetAnnotations, ignored: bool) -> None:
    """The NodeGroup's own word wins over the annotation, and the policy may ignore annotations."""
    cluster = ClusterBuilder()
    cluster.target("general", 1, options=(TargetOption(key="scaleDown.daemonSetUtilization", value=option, origin=ORIGIN),))
    group = node_group("general", scale_down=ScaleDown(daemon_set_utilization=document))
    found = effective_groups(cluster.world(), policy(group, target_annotations=annotations), NOW)[0]
    assert found.scale_down.daemon_set_utilization is (Counting.IGNORE if ignored else Counting.COUNT)
    assert found.scale_down.mirror_pod_utilization is Counting.COUNT


def test_the_annotation_wins_over_defaults() -> None:
    """Defaults say Ignore, the annotation says no; the chain tells both in that order."""
    cluster = ClusterBuilder()
    cluster.target("general", 1, options=(TargetOption(key="scaleDown.daemonSetUtilization", value=0, origin=ORIGIN),))
    rules = policy(node_group("general"), defaults=GroupFields(scale_down=NO_DAEMONSETS))
    found = effective_groups(cluster.world(), rules, NOW)[0]
    assert found.scale_down.daemon_set_utilization is Counting.COUNT
    assert [(origin.source, origin.value) for origin in found.chains["scaleDown.daemonSetUtilization"]] == [
        (ORIGIN, "Count"),
        ("policies/test.yaml:1:1 (policy defaults)", "Ignore"),
        ("built-in", "Count"),
    ]


@pytest.mark.parametrize(("down", "safe"), [(COUNTED, (False, False, True)), (NO_DAEMONSETS, (False, True, True))])
def test_the_drain_report_measures_alike(down: ScaleDown, safe: tuple[bool, ...]) -> None:
    """62.5 % is safe from 70 on, 40 % from 50 on."""
    cluster = _cluster()
    cluster.daemonset("agent", cpu="1500m")
    report = drain_report(cluster.world(), _rules(down), NOW, (30, 50, 70), 1_000_000)
    assert report.nodes[0].safe == safe


def test_the_explanation_of_a_node_says_what_was_left_out() -> None:
    """The sum is told over what is left, and the pod is named."""
    cluster = _cluster()
    cluster.daemonset("agent", cpu="1500m")
    world, rules = cluster.world(), _rules(NO_DAEMONSETS)
    plan, after = decide(world, rules, Memory(), NOW)
    text = "\n".join(explain_node(Case.of(world, rules, plan, NOW, after), "general-1", 0))
    assert "utilization: 40%, requests of 1 pod over allocatable, the larger counts: cpu 1 of 2.5 = 40%" in text
    assert "left out, with the room that they take: kube-system/agent-general-1" in text


def test_the_explanation_says_nothing_where_all_pods_count() -> None:
    """Both pods are in the sum."""
    cluster = _cluster()
    cluster.daemonset("agent", cpu="1500m")
    world, rules = cluster.world(), _rules(COUNTED)
    plan, after = decide(world, rules, Memory(), NOW)
    text = "\n".join(explain_node(Case.of(world, rules, plan, NOW, after), "general-1", 0))
    assert "requests of 2 pods" in text
    assert "left out" not in text
