"""Advice about nodes, pods and set-up, carried out: each case has what is wrong, and the same with the advice done.

A reason names the setting that keeps a node or a pod; `drain-report` has advice by code (`ADVICE`), `doctor` by finding. The
last tests hold the cases against both lists, so that new advice needs a case, or a line that says why there is none.
"""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from reconciler.cluster.pods.pod import Owner, VolumeUse
from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.world import World
from reconciler.decisions.lints.cluster import findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.drains.drain_report import ADVICE, drain_report
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import (
    BlockRule,
    Budget,
    DrainRules,
    JobRule,
    Limit,
    PolicySet,
    ScaleDown,
    Size,
    Template,
    Toggle,
    WithoutMachines,
)
from reconciler.policy.pace import Pace
from reconciler.policy.values.label_selector import Selector
from reconciler.values.instant import parse_instant
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, plan_of, pod

ROOT = Path(__file__).resolve().parents[2]
CALM = Pace(delay_after_add_seconds=0, delay_after_delete_seconds=0, delay_after_failure_seconds=0)
AT_ONCE = ScaleDown(unneeded_time_seconds=0)
ANY = (Budget(nodes=100),)

# What keeps a node that could go, by a setting of the policy or of the node.


def _removal(*, used: str = "", annotations: Mapping[str, str] | None = None, machines: bool = True) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.group("other", nodes=1)
    if used:
        cluster.pods("web", 1, cpu=used, on="general-1")
    if annotations:
        cluster.node("general-1", labels={"pool": "general"}, annotations=annotations)
    world = cluster.world()
    if machines:
        return world
    targets = tuple(msgspec.structs.replace(facts, selectable=facts.ref.name != "general") for facts in world.targets)
    return msgspec.structs.replace(world, targets=targets)


def _rules(scale_down: ScaleDown = AT_ONCE, *, least: int = 0, pace: Pace = CALM, **fields: object) -> PolicySet:
    group = node_group("general", min=least, scale_down=scale_down)
    return policy(group, node_group("other", min=1), **{"budgets": ANY, "pace": pace, **fields})


def _scale_down(**fields: object) -> ScaleDown:
    return msgspec.structs.replace(AT_ONCE, **fields)


KEPT: dict[str, tuple[str, tuple[World, PolicySet], tuple[World, PolicySet]]] = {
    "NotUnderutilized": (
        "threshold 50%",
        (_removal(used="3"), _rules()),
        (_removal(used="3"), _rules(_scale_down(utilization_threshold_percent=75))),
    ),
    "ScaleDownDisabled": (
        "scaleDown.mode of general is Disabled",
        (_removal(), _rules(_scale_down(mode=Toggle.DISABLED))),
        (_removal(), _rules(_scale_down(mode=Toggle.ENABLED))),
    ),
    "ScaleDownDisabledAnnotation": (
        "annotation cluster-autoscaler.kubernetes.io/scale-down-disabled is true",
        (_removal(annotations={"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}), _rules()),
        (_removal(), _rules()),
    ),
    "NotSelectable": (
        "scaleDown.withoutMachines of general is Block",
        (_removal(machines=False), _rules()),
        (_removal(machines=False), _rules(_scale_down(without_machines=WithoutMachines.PLATFORM_CHOOSES))),
    ),
    "MinSize": (
        "general is at its minimum size 1",
        (_removal(), _rules(least=1)),
        (_removal(), _rules(least=0)),
    ),
    "Budget": (
        "the budget of 0 nodes at a time is used up",
        (_removal(), _rules(budgets=(Budget(nodes=0),))),
        (_removal(), _rules(budgets=(Budget(nodes=1),))),
    ),
    "Pace": (
        "pace.maxRemovedPercent allows 0%",
        (_removal(), _rules(pace=msgspec.structs.replace(CALM, max_removed_percent=0))),
        (_removal(), _rules(pace=msgspec.structs.replace(CALM, max_removed_percent=50))),
    ),
    "LimitMin": (
        "limit floor",
        (_removal(), _rules(limits=(Limit(name="floor", min=(("nodes", 2),)),))),
        (_removal(), _rules(limits=(Limit(name="floor", min=(("nodes", 1),)),))),
    ),
}


@pytest.mark.parametrize("code", KEPT)
def test_a_setting_that_keeps_a_node_is_changed(code: str) -> None:
    """The reason names the setting; with another value the node leaves."""
    said, before, after = KEPT[code]
    plan = plan_of(*before)
    assert blocker_codes(plan, "general-1") == [code]
    assert said in node(plan, "general-1").blockers[0].message
    assert [action.nodes for action in plan_of(*after).actions] == [("general-1",)]


@pytest.mark.parametrize("started", ["last_added_seconds", "last_removed_seconds", "last_failed_seconds"])
def test_a_timer_is_waited_for(started: str) -> None:
    """At the instant that the line promises the node leaves, and not a second before."""
    pace = Pace(delay_after_add_seconds=600, delay_after_delete_seconds=300, delay_after_failure_seconds=200)
    rules, world = _rules(_scale_down(unneeded_time_seconds=120), pace=pace), _removal()
    memory = msgspec.structs.replace(Memory(unneeded_since={"general-1": NOW - 60}), **{started: NOW - 100})
    line = node(plan_of(world, rules, memory), "general-1")
    assert line.removable_at is not None
    at = parse_instant(line.removable_at)
    assert not plan_of(world, rules, memory, at - 1).actions
    assert plan_of(world, rules, memory, at).actions


# What keeps a pod from the node that would be bought for it.


def _growth(*, most: int = 10, pace: Pace = CALM, **fields: object) -> tuple[World, PolicySet]:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    cluster.pods("web", 1, cpu="4")
    return cluster.world(), policy(node_group("general", max=most), pace=pace, **fields)


WAITS: dict[str, tuple[tuple[World, PolicySet], tuple[World, PolicySet]]] = {
    "AtMaxSize": (_growth(most=1), _growth(most=2)),
    "LimitReached": (
        _growth(limits=(Limit(name="quota", max=(("cpu", 4000),)),)),
        _growth(limits=(Limit(name="quota", max=(("cpu", 8000),)),)),
    ),
    "PaceReached": (
        _growth(pace=msgspec.structs.replace(CALM, max_added_nodes=0)),
        _growth(pace=msgspec.structs.replace(CALM, max_added_nodes=1)),
    ),
}


@pytest.mark.parametrize("code", WAITS)
def test_a_bound_that_keeps_a_pod_waiting_is_raised(code: str) -> None:
    """By as much as the reason's figures say is missing: one node of four cores."""
    before, after = WAITS[code]
    assert code in [reason.code for reason in pod(plan_of(*before), "shop/web-1").reasons]
    assert pod(plan_of(*after), "shop/web-1").group == "general"


# Advice of `drain-report` about pods. Each entry: what is wrong, and every way that the advice names.

Drained = tuple[ClusterBuilder, DrainRules]


def _pod(
    rules: DrainRules | None = None, change: Callable[[ClusterBuilder], object] = lambda _: None, **fields: object
) -> Drained:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", **{"count": 1, "cpu": "1", "on": "general-1", **fields})
    change(cluster)
    return cluster, rules or DrainRules()


ROLLOUT = Owner("argoproj.io", "Rollout", "web", "uid")
HELD = "reconciler.dev/do-not-disrupt"
DISK = {"local_volumes": ("cache",)}
SYSTEM = {"namespace": "kube-system"}


def _without_controller(cluster: ClusterBuilder) -> None:
    cluster._controllers.clear()


def _room(cpu: str) -> Callable[[ClusterBuilder], object]:
    """The other node is used by something that stays."""
    return lambda cluster: cluster.pods("other", 1, cpu=cpu, on="general-2")


DRAINED: dict[str, tuple[Drained, tuple[Drained, ...]]] = {
    "BlockedNamespace": (_pod(DrainRules(blocked_namespaces=("shop",))), (_pod(DrainRules()),)),
    "ControllerNotFound": (_pod(change=_without_controller), (_pod(), _pod(count=0, on=None))),
    "CustomController": (
        _pod(traits={"controller": ROLLOUT}),
        (
            _pod(traits={"controller": ROLLOUT, "safe_to_evict": "true"}),
            _pod(DrainRules(custom_controllers=BlockRule.ALLOW), traits={"controller": ROLLOUT}),
        ),
    ),
    "DoNotDisrupt": (
        _pod(traits={"annotations": ((HELD, "4h"),)}, age=60),
        (_pod(traits={"annotations": ((HELD, "4h"),)}, age=4 * 3600), _pod()),
    ),
    "DoNotDisruptUnreadable": (
        _pod(traits={"annotations": ((HELD, "4 hours"),)}, age=4 * 3600),
        (
            _pod(traits={"annotations": ((HELD, "4h"),)}, age=4 * 3600),
            _pod(traits={"annotations": ((HELD, "2020-01-01T00:00:00Z"),)}),
            _pod(traits={"annotations": ((HELD, "false"),)}),
        ),
    ),
    "JobAwaited": (
        _pod(DrainRules(jobs=JobRule.WAIT), owner="Job", age=60),
        (
            _pod(DrainRules(jobs=JobRule.WAIT), count=0, on=None),
            _pod(DrainRules(jobs=JobRule.WAIT, max_pod_age_seconds=60), owner="Job", age=60),
        ),
    ),
    "JobRunning": (
        _pod(DrainRules(jobs=JobRule.BLOCK), owner="Job"),
        (_pod(DrainRules(jobs=JobRule.BLOCK), count=0, on=None), _pod(DrainRules(jobs=JobRule.ALLOW), owner="Job")),
    ),
    "LocalStorage": (_pod(traits=DISK), (_pod(traits={**DISK, "safe_local_volumes": ("cache",)}),)),
    "MinReplicas": (
        _pod(DrainRules(min_replicas=2)),
        (_pod(DrainRules(min_replicas=2), replicas=2), _pod(DrainRules(min_replicas=1))),
    ),
    "NoPlaceToMove": (_pod(change=_room("3500m")), (_pod(cpu="500m", change=_room("3500m")), _pod(change=_room("3")))),
    "NotEnoughPdb": (
        _pod(change=lambda cluster: cluster.budget("web", allowed=0)),
        (_pod(change=lambda cluster: cluster.budget("web", allowed=1)), _pod()),
    ),
    "NotSafeToEvict": (_pod(traits={"safe_to_evict": "false"}), (_pod(),)),
    "OnCompletion": (_pod(traits={"safe_to_evict": "on-completion"}), (_pod(count=0, on=None),)),
    "SystemPod": (
        _pod(**SYSTEM),
        (_pod(change=lambda cluster: cluster.budget("web", allowed=1, namespace="kube-system"), **SYSTEM),),
    ),
    "Unreplicated": (_pod(owner=None), (_pod(owner="ReplicaSet"),)),
}
NOT_DRAINED = {
    "ControllerUnknown": "the snapshot lacks its kind: `reconciler snapshot` captures it, in tests/cli/commands/test_snapshot.py",
    "GangIndivisible": "needs a PodGroup beside the pods: both ways are taken in tests/decisions/removal/test_gang_minimum.py",
    "GangMinimum": "needs a PodGroup beside the pods: both ways are taken in tests/decisions/removal/test_gang_minimum.py",
    "NotModelled": "the advice is to drain by hand, of which no decision hears",
}


def _codes(case: Drained) -> set[str]:
    cluster, rules = case
    report = drain_report(cluster.world(), policy(node_group("general"), drain=rules), NOW, (90,), 1_000_000)
    return {blocker.code for line in report.nodes if line.node == "general-1" for blocker in line.blockers}


@pytest.mark.parametrize("code", DRAINED)
def test_advice_about_a_pod_lets_its_node_go(code: str) -> None:
    """Whichever of the ways is taken: nothing keeps the node any more."""
    before, ways = DRAINED[code]
    assert _codes(before) == {code}
    assert [_codes(way) for way in ways] == [set()] * len(ways)


def test_each_advice_of_a_drain_is_carried_out_or_listed() -> None:
    """No advice of the report is left out, and none is listed that is no more."""
    assert DRAINED.keys() | NOT_DRAINED.keys() == ADVICE.keys()
    assert not DRAINED.keys() & NOT_DRAINED.keys()


# Advice of `doctor`.

Set = tuple[World, PolicySet]
ZONE = "topology.kubernetes.io/zone"
MIN, MAX = (f"cluster.x-k8s.io/cluster-api-autoscaler-node-group-{end}-size" for end in ("min", "max"))
CARDS = "cluster-api/accelerator"


def _set(change: Callable[[ClusterBuilder], object] = lambda _: None, *, most: int = 10, gpu: int = 0, **fields: object) -> Set:
    cluster = ClusterBuilder()
    template = fields.pop("template", None)
    labels = fields.pop("labels", None)
    cluster.group("general", nodes=1, gpu=gpu, labels=labels)
    change(cluster)
    group = msgspec.structs.replace(node_group("general"), size=Size(min=0, max=most))
    if template is not None:
        group = msgspec.structs.replace(group, template=template)
    return cluster.world(), policy(group, **fields)


def _annotated(*keys: str) -> Set:
    cluster = ClusterBuilder()
    cluster.target("general", 0, annotations=tuple((key, "1") for key in keys))
    return cluster.world(), policy(node_group("general"))


def _owned(replicas: int | None) -> Set:
    owners = (FieldOwner(manager="capi-topology", operation="Apply"),) if replicas is not None else ()
    evidence = OwnerEvidence(owners=owners, topology_owned=True, topology_deployment="general", topology_replicas=replicas)
    cluster = ClusterBuilder()
    cluster.target("general", 1, evidence=evidence)
    return cluster.world(), policy(node_group("general"))


def _nodes(*cpus: str, zones: str = "aa", volume: bool = False, cpu: str = "") -> Set:
    """A group of such nodes; `cpu` is what its template says."""
    cluster = ClusterBuilder()
    ref = cluster.target("general", len(cpus))
    for number, (size, zone) in enumerate(zip(cpus, zones, strict=True)):
        cluster.node(f"n{number}", size, labels={ZONE: zone})
        cluster.machine(f"n{number}", ref, node=f"n{number}")
    if volume:
        cluster.pods("db", 1, cpu="1m", on="n0", shape={"volumes": (VolumeUse(kind="claim", claim="data"),)})
    group = node_group("general")
    if cpu:
        written = Template(capacity=(("cpu", int(cpu) * 1000), ("memory", 16 << 30)))
        group = msgspec.structs.replace(group, template=written)
    return cluster.world(), policy(group)


def _disk(node: str, template: str) -> Set:
    """An empty node and a template that says of what kind its disk is; empty: neither."""
    cluster = ClusterBuilder()
    ref = cluster.target("general", 1)
    cluster.node("n0", labels={"disk": node} if node else {})
    cluster.machine("n0", ref, node="n0")
    written = Template(labels=(("disk", template),)) if template else Template()
    return cluster.world(), policy(node_group("general", template=written))


def _zonal(*zones: str) -> Set:
    """A group for each entry, with a node in each of its zones."""
    cluster = ClusterBuilder()
    for number, of_group in enumerate(zones):
        ref = cluster.target(f"g{number}", len(of_group))
        for zone in of_group:
            cluster.node(f"g{number}-{zone}", labels={ZONE: zone})
            cluster.machine(f"g{number}-{zone}", ref, node=f"g{number}-{zone}")
    return cluster.world(), policy(*(node_group(f"g{number}") for number in range(len(zones))))


def _small(count: int, most: int) -> Set:
    cluster = ClusterBuilder()
    names = [f"g{number:02d}" for number in range(count)]
    for name in names:
        cluster.group(name, nodes=0)
    return cluster.world(), policy(*(node_group(name, max=most) for name in names))


def _cards(value: str) -> Set:
    cards = Limit(name="cards", nodes=Selector(match_labels=((CARDS, value),)), max=(("nvidia.com/gpu", 64),))
    return _set(gpu=1, labels={CARDS: "h100"}, limits=(cards,))


def _web(cluster: ClusterBuilder) -> None:
    cluster.pods("web", 2, cpu="1m", on="general-1")


def _quota(cpu: int, most: int = 10) -> Set:
    return _set(limits=(Limit(name="quota", max=(("cpu", cpu),)),), most=most)


def _budget(**fields: object) -> Set:
    return _set(lambda cluster: (_web(cluster), cluster.budget("web", expected=2, **fields)))


MENDED: dict[str, tuple[Set, tuple[Set, ...]]] = {
    "AcceleratorLabelMissing": (_set(gpu=1), (_set(gpu=1, labels={CARDS: "h100"}),)),
    "AcceleratorTypeUnknown": (_cards("H100"), (_cards("h100"),)),
    "BudgetBlocksEveryDrain": (
        _budget(max_unavailable="0"),
        (_budget(max_unavailable="1"), _budget(min_available="1")),
    ),
    "LargerThanTemplate": (_nodes("8", "8", cpu="4"), (_nodes("4", "4", cpu="4"),)),
    "LimitBelowGroups": (_quota(8000), (_quota(40_000), _quota(8000, most=2))),
    "ManySmallGroups": (_small(21, 2), (_small(20, 2), _small(21, 3))),
    "MixedSizes": (_nodes("4", "8"), (_nodes("4", "4"),)),
    "NodesDiffer": (_nodes("4", "4", "8", zones="aaa"), (_nodes("4", "4", "4", zones="aaa"),)),
    "NoDisruptionBudget": (_set(_web), (_budget(max_unavailable="1"),)),
    "NoRequests": (
        _set(lambda cluster: cluster.pods("web", 1, on="general-1")),
        (_set(lambda c: c.pods("web", 1, cpu="1", on="general-1")),),
    ),
    "OneSizeAnnotation": (_annotated(MIN), (_annotated(MIN, MAX), _annotated())),
    "RegionalAndZonalGroups": (_zonal("ab", "a", "b"), (_zonal("ab", "ab"), _zonal("a", "b"))),
    "SmallerThanTemplate": (_nodes("4", "4", cpu="8"), (_nodes("4", "4", cpu="4"),)),
    "TemplateRefuted": (_disk("", "fast"), (_disk("", ""), _disk("fast", "fast"))),
    "TopologyReplicas": (_owned(1), (_owned(None),)),
    "ZonalVolumes": (_nodes("4", "4", zones="ab", volume=True), (_nodes("4", "4", volume=True),)),
}
NOT_MENDED = {
    "AutoscalerOfPlatform": "another autoscaler of Crusoe is scaled to 0: its objects are those of tests/crusoe",
    "CapacitySaidTwice": "annotations of a MachineSet and its MachineDeployment: test_setup_lints.py reads both",
    "GroupPerTenant": "larger groups that are shared have other templates: no single change of this cluster",
    "OnDemandBase": "a group for on-demand and one for spot machines are other groups of the cloud",
    "PlatformBound": "an Auto Scaling group is changed in the cloud: tests/decisions/test_platform_bounds.py has both sides",
    "ReservedSlotAtRisk": "to hold the group keeps the slot while the finding stays: it tells of the node that is down",
}
# Left out of both lists: cautions that a platform reads from its own API (their codes are data), checks of a live installation
# (`reconciler/control/preflight.py`), and hints of `validate`, whose fixtures each show one mistake.


def _found(case: Set) -> set[str]:
    return {finding.code for finding in findings(View.of(*case, Memory(), NOW, Work(10_000)))}


@pytest.mark.parametrize("code", MENDED)
def test_advice_of_doctor_mends_what_it_found(code: str) -> None:
    """Whichever of the ways is taken, the finding is gone."""
    before, ways = MENDED[code]
    assert code in _found(before)
    assert not any(code in _found(way) for way in ways)


def _codes_of_findings() -> set[str]:
    """Every code that stands in a `Finding(code=…)` of the product."""
    found: set[str] = set()
    for path in (*ROOT.glob("reconciler/decisions/lints/*.py"), *ROOT.glob("reconciler/platforms/*/*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Finding":
                (code,) = (keyword.value for keyword in call.keywords if keyword.arg == "code")
                found |= {one.value for one in ast.walk(code) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
                found |= {
                    one.value.id for one in ast.walk(code) if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
                }
    return found - {"caution"}


def test_each_advice_of_doctor_is_carried_out_or_listed() -> None:
    """No finding of the product is left out, and none is listed that is no more."""
    assert MENDED.keys() | NOT_MENDED.keys() == _codes_of_findings()
    assert not MENDED.keys() & NOT_MENDED.keys()
