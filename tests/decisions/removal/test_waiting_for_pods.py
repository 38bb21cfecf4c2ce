"""Nodes that wait for pods: of Jobs (`drain.jobs`, `drain.maxPodAge`), and with `do-not-disrupt`, which may have an end.

The cases have two nodes of 4 cores. `general-2` is used by 3 cores that stay, and `general-1` by the pod in question.
"""

import json

import msgspec
import pytest
from msgspec import Raw

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.called_off import called_off
from reconciler.decisions.removal.drains.do_not_disrupt import Holds, disruption_holds
from reconciler.decisions.removal.drains.drain_report import drain_report
from reconciler.kube.leaving_pods import leaving_pods
from reconciler.plan.plan import ActionKind, NodeLine, Plan
from reconciler.policy.documents import Budget, DrainRules, JobRule, PolicySet, ScaleDown
from reconciler.policy.pace import Pace
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.printers.text.explanation.node import explain_node
from reconciler.simulation.settled import settled
from reconciler.values.instant import instant_text
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import blocker_codes, node, of_kind, plan_of

KARPENTER, OWN = "karpenter.sh/do-not-disrupt", "reconciler.dev/do-not-disrupt"
STAYS = {"safe_to_evict": "false"}
WAIT, BLOCK = DrainRules(jobs=JobRule.WAIT), DrainRules(jobs=JobRule.BLOCK)
HOUR = DrainRules(jobs=JobRule.WAIT, max_pod_age_seconds=3600)


def _rules(drain: DrainRules | None = None, *, unneeded: int = 0, least: int = 0) -> PolicySet:
    group = node_group("general", min=least, scale_down=ScaleDown(unneeded_time_seconds=unneeded))
    calm = Pace(delay_after_add_seconds=0, delay_after_failure_seconds=0)
    return policy(group, budgets=(Budget(nodes=100),), drain=drain or DrainRules(), pace=calm)


def _cluster(*, created: int = NOW - 86_400, annotations: dict[str, str] | None = None, **pod: object) -> ClusterBuilder:
    """`pod` are fields of the pod on `general-1`, which asks for a tenth of a core."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.node("general-1", labels={"pool": "general"}, created=created, annotations=annotations)
    cluster.pods("base", 1, cpu="3", on="general-2", traits=STAYS)
    if pod:
        cluster.pods("etl", 1, cpu="100m", on="general-1", **pod)
    return cluster


def _job(created: int = NOW - 86_400, **pod: object) -> World:
    return _cluster(created=created, **{"owner": "Job", **pod}).world()


def _finished(world: World) -> World:
    rows = [
        msgspec.structs.replace(row, phase=PodPhase.SUCCEEDED, ready=False) if row.name == "etl-1" else row for row in world.pods
    ]
    traits = tuple(
        msgspec.structs.replace(one, restart_policy="Never") if one.controller and one.controller.kind == "Job" else one
        for one in world.pod_traits
    )
    return msgspec.structs.replace(world, pods=PodTable(rows), pod_traits=traits)


def _gone(plan: Plan) -> list[str]:
    return [action.nodes[0] for action in of_kind(plan, ActionKind.REMOVE_NODE)]


def _when(line: NodeLine) -> tuple[bool, int | None, list[str]]:
    """Whether it may go, in how many seconds, and what it waits for."""
    seconds = next((after for after in range(90_000) if line.removable_at == instant_text(NOW + after)), None)
    return line.removable, seconds, [blocker.code for blocker in line.blockers]


def test_by_default_a_pod_of_a_job_is_evicted_like_others() -> None:
    """As in the Cluster Autoscaler, for which a Job is a controller that recreates its pods."""
    assert _gone(plan_of(_job(), _rules())) == ["general-1"]


def test_block_keeps_the_node_of_a_running_pod_and_no_other() -> None:
    """Until it has finished."""
    plan = plan_of(_job(), _rules(BLOCK))
    assert (_gone(plan), blocker_codes(plan, "general-1")) == ([], ["JobRunning"])
    assert node(plan, "general-1").blockers[0].message == "it is a pod of Job etl, and drain.jobs is Block"
    assert node(plan, "general-1").unneeded_since is None
    assert _gone(plan_of(_finished(_job()), _rules(BLOCK))) == ["general-1"]
    assert _gone(plan_of(_job(owner="StatefulSet"), _rules(BLOCK))) == ["general-1"]


def test_safe_to_evict_lifts_the_rule_as_it_lifts_those_about_owners() -> None:
    """The pod itself says that it may be evicted."""
    assert _gone(plan_of(_job(traits={"safe_to_evict": "true"}), _rules(BLOCK))) == ["general-1"]
    assert _gone(plan_of(_job(traits={"safe_to_evict": "true"}), _rules(WAIT))) == ["general-1"]


def test_wait_lets_the_pod_finish_while_the_unneeded_time_runs() -> None:
    """Nothing is cordoned. Ten minutes are over when the Job ends after eleven, so that the node leaves in that plan."""
    rules = _rules(WAIT, unneeded=600)
    plan, memory = decide(_job(), rules, Memory(), NOW)
    line = node(plan, "general-1")
    assert (plan.actions, _when(line)) == ((), (False, None, ["JobAwaited"]))
    assert line.blockers[0].message == "the node waits until this pod of Job etl has finished"
    assert (line.blockers[0].pod, line.unneeded_since) == ("shop/etl-1", instant_text(NOW))
    later = decide(_job(), rules, memory, NOW + 600)[1]
    assert _gone(plan_of(_finished(_job()), rules, later, NOW + 660)) == ["general-1"]


def test_a_node_whose_pod_is_awaited_is_not_empty() -> None:
    """3 cores of 4 are more than half: it is in use, although nothing on it needs another place."""
    plan = plan_of(_cluster().world(), _rules(WAIT))
    assert node(plan, "general-1").state == "Empty"
    cluster = _cluster()
    cluster.pods("etl", 1, cpu="3", on="general-1", owner="Job")
    line = node(plan_of(cluster.world(), _rules(WAIT)), "general-1")
    assert (line.state, [blocker.code for blocker in line.blockers]) == ("InUse", ["NotUnderutilized", "JobAwaited"])
    assert line.unneeded_since is None


def test_an_awaited_pod_needs_no_other_place() -> None:
    """1.5 cores fit nowhere: it is awaited all the same. With a bound it would be evicted then, and has no place."""
    cluster = _cluster()
    cluster.pods("etl", 1, cpu="1500m", on="general-1", owner="Job", age=60)
    world = cluster.world()
    assert blocker_codes(plan_of(world, _rules(WAIT)), "general-1") == ["JobAwaited"]
    assert blocker_codes(plan_of(world, _rules(HOUR)), "general-1") == ["NoPlaceToMove", "JobAwaited"]


@pytest.mark.parametrize(
    ("age", "created", "seconds"),
    [
        (1800, 86_400, 1800),
        (3599, 86_400, 1),
        (7200, 600, 3000),  # it was pending before its node came
        (1800, 7200, 1800),
    ],
)
def test_max_pod_age_bounds_the_wait(age: int, created: int, seconds: int) -> None:
    """An hour from the start: the node may go then, which its line says."""
    plan = plan_of(_job(NOW - created, age=age), _rules(HOUR))
    line = node(plan, "general-1")
    assert _when(line) == (True, seconds, ["NotUnneededLongEnough", "JobAwaited"])
    until = instant_text(NOW + seconds)
    assert line.blockers[1].message == f"the node waits until this pod of Job etl has finished, until {until} at the latest"


@pytest.mark.parametrize(("age", "created"), [(3600, 86_400), (3601, 86_400), (86_400, 3600)])
def test_a_pod_of_that_age_no_longer_keeps_its_node(age: int, created: int) -> None:
    """An hour is over to the second."""
    assert _gone(plan_of(_job(NOW - created, age=age), _rules(HOUR))) == ["general-1"]


def test_the_last_timer_counts() -> None:
    """The wait ends in a minute, the unneeded time in ten."""
    said = node(plan_of(_job(age=3540), _rules(HOUR, unneeded=600)), "general-1")
    assert _when(said) == (True, 600, ["NotUnneededLongEnough", "JobAwaited"])


@pytest.mark.parametrize(
    ("age", "unneeded", "words"),
    [
        (1800, 600, f"may go at {instant_text(NOW + 1800)}, when the wait for its Jobs ends"),
        (3540, 600, f"may go at {instant_text(NOW + 600)}, 10m after it was first unneeded"),
    ],
)
def test_explain_names_the_last_timer(age: int, unneeded: int, words: str) -> None:
    """Of the wait and the unneeded time, the one that ends last."""
    world, rules = _job(age=age), _rules(HOUR, unneeded=unneeded)
    plan, memory = decide(world, rules, Memory(), NOW)
    said = explain_node(Case.of(world, rules, plan, NOW, memory), "general-1", 0)
    assert any(line.startswith(words) for line in said), said


@pytest.mark.parametrize("rules", [HOUR, WAIT])
def test_a_node_that_waits_does_not_keep_one_that_could_leave(rules: DrainRules) -> None:
    """One of two may go. The first by name and by time has to wait for its Job, so the other one leaves now."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("etl", 1, cpu="100m", on="general-1", owner="Job", age=60)
    cluster.pods("web", 1, cpu="100m", on="general-2")
    memory = Memory(unneeded_since={"general-1": NOW - 900, "general-2": NOW - 60})
    assert _gone(plan_of(cluster.world(), _rules(rules, least=1), memory)) == ["general-2"]


def test_a_wait_without_a_known_end_takes_no_places() -> None:
    """The other pods of both nodes fit on either: neither receives what the other one has."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    for number in (1, 2):
        cluster.pods(f"etl-{number}", 1, cpu="100m", on=f"general-{number}", owner="Job")
        cluster.pods(f"web-{number}", 1, cpu="100m", on=f"general-{number}")
    plan = plan_of(cluster.world(), _rules(WAIT))
    assert [blocker_codes(plan, name) for name in ("general-1", "general-2")] == [["JobAwaited"], ["JobAwaited"]]


def test_the_steady_state_comes_after_the_wait() -> None:
    """The next timer is the bound, after which the node leaves. Without a bound it stays."""
    sizes = []
    for drain in (HOUR, WAIT):
        world, rules = _job(age=1800), _rules(drain)
        plan, memory = decide(world, rules, Memory(), NOW)
        sizes.append([line.settled for line in settled(world, rules, memory, NOW, plan).groups])
    assert sizes == [[1], [2]]


# do-not-disrupt

START = NOW - 3600
FOR_EVER, NOTHING = ((), (), None), ()


@pytest.mark.parametrize(
    ("text", "lasting", "until"),
    [
        ("true", ["DoNotDisrupt"], None),
        ("false", [], None),
        ("4h", [], NOW + 3 * 3600),
        ("1h0m1s", [], NOW + 1),
        ("1h", [], None),
        ("3600100ms", [], NOW + 1),
        ("0", [], None),
        (instant_text(NOW + 1), [], NOW + 1),
        (instant_text(NOW), [], None),
        ("2000-01-01T00:00:00Z", [], None),
        ("", ["DoNotDisruptUnreadable"], None),
        ("True", ["DoNotDisruptUnreadable"], None),
        ("-1h", ["DoNotDisruptUnreadable"], None),
        ("4 hours", ["DoNotDisruptUnreadable"], None),
        ("1d", ["DoNotDisruptUnreadable"], None),
        ("2026-11-21", ["DoNotDisruptUnreadable"], None),
        ("tomorrow", ["DoNotDisruptUnreadable"], None),
    ],
)
@pytest.mark.parametrize("key", [KARPENTER, OWN])
def test_what_the_annotation_holds(key: str, text: str, lasting: list[str], until: int | None) -> None:
    """Of an object that began an hour ago: for ever, up to an end, or not at all. What nobody understands holds."""
    held = disruption_holds(((key, text), ("other", "true")), START, NOW)
    assert [because.code for because in held.lasting] == lasting
    assert (len(held.ending), held.until_seconds) == (int(until is not None), until)


def test_of_two_annotations_the_later_end_counts() -> None:
    """Each of them holds."""
    both = ((KARPENTER, "2h"), (OWN, "4h"))
    assert disruption_holds(both, START, NOW).until_seconds == NOW + 3 * 3600
    assert len(disruption_holds(both, START, NOW).ending) == 2
    assert disruption_holds((), START, NOW) == Holds()


@pytest.mark.parametrize("key", [KARPENTER, OWN])
def test_a_pod_with_an_end(key: str) -> None:
    """It ran for one of four hours. `safe-to-evict` does not lift it, and when it ends, nothing keeps the node."""
    traits = {"annotations": ((key, "4h"),), "safe_to_evict": "true"}
    world = _cluster(age=3600, traits=traits).world()
    line = node(plan_of(world, _rules()), "general-1")
    assert _when(line) == (True, 10_800, ["NotUnneededLongEnough", "DoNotDisrupt"])
    assert line.blockers[1].message == f"annotation {key} keeps it until {instant_text(NOW + 10_800)}"
    assert _gone(plan_of(_cluster(age=14_400, traits=traits).world(), _rules())) == ["general-1"]


def test_a_pod_without_an_end_keeps_its_node() -> None:
    """No time runs."""
    plan = plan_of(_cluster(traits={"annotations": ((KARPENTER, "true"),)}).world(), _rules())
    assert _when(node(plan, "general-1")) == (False, None, ["DoNotDisrupt"])
    assert node(plan, "general-1").unneeded_since is None


def test_a_value_that_nobody_understands_holds_and_is_reported() -> None:
    """On a pod and on a node, with the value."""
    cluster = _cluster(annotations={OWN: "soon"}, traits={"annotations": ((KARPENTER, "4 hours"),)})
    plan = plan_of(cluster.world(), _rules())
    assert blocker_codes(plan, "general-1") == ["DoNotDisruptUnreadable"] * 2
    words = "not true, false, a duration or an instant: it holds without an end"
    assert [(problem.code, problem.object, problem.message) for problem in plan.problems] == [
        ("DoNotDisruptUnreadable", "Node general-1", f'annotation {OWN} is "soon", {words}'),
        ("DoNotDisruptUnreadable", "Pod shop/etl-1", f'annotation {KARPENTER} is "4 hours", {words}'),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("true", (False, None, ["DoNotDisrupt"])),
        ("25h", (True, 3600, ["NotUnneededLongEnough", "DoNotDisrupt"])),  # it is a day old
        (instant_text(NOW + 60), (True, 60, ["NotUnneededLongEnough", "DoNotDisrupt"])),
    ],
)
def test_a_node_with_the_annotation(text: str, said: tuple[bool, int | None, list[str]]) -> None:
    """An empty one, which would leave at once."""
    world = _cluster(annotations={KARPENTER: text}).world()
    assert _when(node(plan_of(world, _rules()), "general-1")) == said
    assert _gone(plan_of(_cluster(annotations={KARPENTER: "24h"}).world(), _rules())) == ["general-1"]


# The other readers of the same rules.


@pytest.mark.parametrize(
    ("drain", "fields", "code"),
    [
        (BLOCK, {"owner": "Job"}, "JobRunning"),
        (WAIT, {"owner": "Job"}, "JobAwaited"),
        (DrainRules(), {"traits": {"annotations": ((OWN, "4h"),)}, "age": 60}, "DoNotDisrupt"),
        (DrainRules(), {"annotations": {OWN: "true"}}, "DoNotDisrupt"),
    ],
)
def test_a_removal_under_way_is_called_off(drain: DrainRules, fields: dict[str, object], code: str) -> None:
    """The rule or the annotation came during the drain."""
    cluster = _cluster(**fields)
    given = fields.get("annotations")
    cluster.node(
        "general-1", labels={"pool": "general"}, taints=("reconciler.dev/deleting=test.1:NoSchedule",), annotations=given
    )
    found = called_off(cluster.world(), _rules(drain), Memory(leaving={"general-1": NOW - 60}), NOW)
    assert [(one.node, one.why.code) for one in found] == [("general-1", code)]


@pytest.mark.parametrize(
    ("drain", "age", "blocked"), [(BLOCK, 60, True), (WAIT, 60, True), (HOUR, 60, True), (HOUR, 3600, False), (None, 60, False)]
)
def test_a_pod_of_a_job_that_came_after_the_plan_ends_the_drain(drain: DrainRules | None, age: int, *, blocked: bool) -> None:
    """As the live drain reads it: the pods of one node alone."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "etl", "uid": "u", "controller": True}
    meta = {"name": "etl-1", "namespace": "shop", "creationTimestamp": instant_text(NOW - age), "ownerReferences": [owner]}
    pod = {"metadata": meta, "spec": {"containers": [], "nodeName": "n"}, "status": {"phase": "Running"}}
    (leaving,) = leaving_pods([Raw(json.dumps(pod).encode())], drain, NOW)
    assert bool(leaving.blocked) is blocked


@pytest.mark.parametrize(("text", "blocked"), [("true", True), ("4h", True), ("1m", False), ("sooner", True), ("false", False)])
def test_the_live_drain_reads_the_annotation_without_a_policy(text: str, *, blocked: bool) -> None:
    """No policy lifts it."""
    meta = {"name": "etl-1", "namespace": "shop", "creationTimestamp": instant_text(NOW - 60), "annotations": {OWN: text}}
    pod = {"metadata": meta, "spec": {"containers": [], "nodeName": "n"}, "status": {"phase": "Running"}}
    (leaving,) = leaving_pods([Raw(json.dumps(pod).encode())], None, NOW)
    assert bool(leaving.blocked) is blocked


def test_the_drain_report_names_the_pod() -> None:
    """With what to do about it."""
    report = drain_report(_job(), _rules(WAIT), NOW, (50,), 1_000_000)
    (pin,) = [pin for pin in report.pins if pin.pod == "shop/etl-1"]
    assert (pin.codes, pin.advice) == (("JobAwaited",), ("wait until it finishes, or bound the wait by drain.maxPodAge",))
