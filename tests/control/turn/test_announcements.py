"""The Events of one turn: which thing that happened is told, about which object, under which reason and how gravely."""

from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.control.turn.announcements import announcements
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.kube.leading.events import Happening, Severity, Subject
from reconciler.kube.watching.collection import cluster_api
from reconciler.plan.plan import Action, ActionKind, Bound, GroupLine, Ownership, OwnerState, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import machine_deployment

REF = machine_deployment("general")
TARGET = str(REF)
SERVED = (cluster_api(version="v1beta2"),)
OBJECT = Subject(api_version="cluster.x-k8s.io/v1beta2", kind="MachineDeployment", name="general", namespace="prod")
CUSTOM = Subject(api_version="reconciler.dev/v1alpha1", kind="NodeGroup", name="general", namespace="reconciler")
INSTANCES = TargetRef(kind="AutoScalingGroup", namespace="eu-central-1", name="asg")
NORMAL, WARNING = Severity.NORMAL, Severity.WARNING


def _result(
    kind: ActionKind = ActionKind.RESIZE,
    state: ResultState = ResultState.DONE,
    from_: int = 2,
    to: int = 5,
    message: str = "",
    nodes: tuple[str, ...] = (),
    code: str = "Why",
) -> ActionResult:
    action = Action(
        kind=kind, group="general", target=TARGET, from_=from_, to=to, nodes=nodes, reason=Reason(code=code, message="pods wait"),
        bound=Bound(resource_version="1", replicas=2, owner_digest="", policy_digest=""),
    )  # fmt: skip
    return ActionResult(action=action, state=state, code="", message=message)


def _removal(state: RemovalState, target: TargetRef | None = REF, node: str = "n1", **said: Any) -> RemovalProgress:
    return RemovalProgress(target=target, node=node, state=state, **said)


def _plan(*groups: GroupLine, pods: tuple[PodLine, ...] = ()) -> Plan:
    return Plan(now="", mode="Enforce", summary="", groups=groups, pods=pods)


def _line(*, held: bool, target: str = TARGET, evidence: tuple[str, ...] = (), reasons: tuple[str, ...] = ()) -> GroupLine:
    return GroupLine(
        name="general", target=target, tier="", current=2, desired=2, min=0, max=9, held=held,
        owner=Ownership(state=OwnerState.HELD if held else OwnerState.OURS, evidence=evidence),
        reasons=tuple(Reason(code="Why", message=text) for text in reasons),
    )  # fmt: skip


def _told(
    *results: ActionResult,
    removals: tuple[RemovalProgress, ...] = (),
    plan: Plan | None = None,
    before: Plan | None = None,
    objects: dict[str, Subject] | None = None,
) -> tuple[Happening, ...]:
    report = LoopReport(at_seconds=1000, plan=plan, results=results, removals=removals)
    return announcements(report, before, SERVED, {TARGET: REF, str(INSTANCES): INSTANCES}, objects or {})


@pytest.mark.parametrize(
    ("result", "reason", "severity", "note"),
    [
        (_result(), "ScaledUp", NORMAL, "2 -> 5: pods wait"),
        (_result(from_=5, to=2, message="written"), "ScaledDown", NORMAL, "5 -> 2: written"),
        (_result(state=ResultState.REFUSED, message="kubectl owns it"), "ResizeRefused", WARNING, "2 -> 5: kubectl owns it"),
        (_result(state=ResultState.FAILED, message="cut"), "ResizeFailed", WARNING, "2 -> 5: cut"),
        (_result(ActionKind.ADOPT, from_=2, to=2), "AdoptDone", NORMAL, "pods wait"),
        (_result(ActionKind.REMOVE_NODE, from_=2, to=1, nodes=("n1",)), "NodeDraining", NORMAL, "n1: 2 -> 1: pods wait"),
        (
            _result(ActionKind.REMOVE_NODE, ResultState.REFUSED, from_=2, to=1, nodes=("n1",), message="no"),
            "RemoveNodeRefused", WARNING, "n1: 2 -> 1: no",
        ),
        (_result(ActionKind.REPLACE, from_=2, to=3, nodes=("n1", "n2")), "ReplaceDone", NORMAL, "n1, n2: 2 -> 3: pods wait"),
        (
            _result(ActionKind.REPLACE, from_=2, to=3, nodes=tuple(f"n{number}" for number in range(1, 65))),
            "ReplaceDone", NORMAL, "n1, n2, n3 and 61 more: 2 -> 3: pods wait",
        ),
    ],
)  # fmt: skip
def test_an_action_that_was_tried_is_told_of_its_target(result: ActionResult, reason: str, severity: Severity, note: str) -> None:
    """With nodes, the change and why: what the write said, else what the plan said."""
    kind = str(result.action.kind)
    assert _told(result) == (Happening(subject=OBJECT, reason=reason, action=kind, note=note, severity=severity),)
    (custom,) = _told(result, objects={TARGET: CUSTOM})
    assert custom.subject == CUSTOM


@pytest.mark.parametrize("kind", list(ActionKind))
def test_what_was_not_tried_is_not_told(kind: ActionKind) -> None:
    """The plan has said it."""
    assert _told(_result(kind, ResultState.SKIPPED, nodes=("n1",))) == ()


@pytest.mark.parametrize("kind", list(ActionKind))
def test_a_target_that_no_server_keeps_is_told_nothing(kind: ActionKind) -> None:
    """An Auto Scaling group has no object to tell it on; the same where the view does not have the target."""
    result = _result(kind, nodes=("n1",))
    report = LoopReport(
        at_seconds=1000, results=(result,), plan=_plan(_line(held=True)),
        removals=(_removal(RemovalState.FINISHED, INSTANCES), _removal(RemovalState.FAILED, INSTANCES)),
    )  # fmt: skip
    assert announcements(report, None, SERVED, {TARGET: INSTANCES}) == ()
    assert announcements(report, None, SERVED, {}) == ()


def test_writes_of_one_target_are_told_one_by_one() -> None:
    """Only nodes that leave are one thing."""
    told = _told(_result(ActionKind.CANCEL, from_=5, to=4), _result(ActionKind.CANCEL, from_=4, to=3))
    assert [(one.reason, one.note) for one in told] == [("CancelDone", "5 -> 4: pods wait"), ("CancelDone", "4 -> 3: pods wait")]


def test_nodes_that_begin_to_leave_are_told_by_target_and_reason() -> None:
    """Two that are empty are one Event, the one that is underused another."""
    told = _told(
        _result(ActionKind.REMOVE_NODE, from_=5, to=4, nodes=("n1",), code="Empty"),
        _result(ActionKind.REMOVE_NODE, from_=4, to=3, nodes=("n2",), code="Underutilized", message="cordoned"),
        _result(ActionKind.REMOVE_NODE, from_=3, to=2, nodes=("n3",), code="Empty"),
    )
    assert [(one.reason, one.note) for one in told] == [
        ("NodeDraining", "2 nodes: n1, n3, 5 -> 2, for example pods wait"),
        ("NodeDraining", "n2: 4 -> 3: cordoned"),
    ]


@pytest.mark.parametrize(
    ("removals", "told"),
    [
        ((_removal(RemovalState.DRAINING),), []),
        ((_removal(RemovalState.DRAINING, None),), []),
        (
            (_removal(RemovalState.FINISHED, replicas=3),),
            [("NodeRemoved", NORMAL, "n1 was drained and its machine is being deleted, 3 replicas left")],
        ),
        (
            (_removal(RemovalState.FINISHED, replicas=2), _removal(RemovalState.FINISHED, node="n2", replicas=1)),
            [("NodeRemoved", NORMAL, "2 nodes drained, whose machines are being deleted: n1, n2, 1 replica left")],
        ),
        ((_removal(RemovalState.FAILED, code="Blocked", message="a pod came"),), [("Blocked", WARNING, "n1 stays: a pod came")]),
        ((_removal(RemovalState.FAILED, message="late"),), [("RemovalFailed", WARNING, "n1 stays: late")]),
        ((_removal(RemovalState.FAILED, None), _removal(RemovalState.FINISHED, None)), []),
    ],
)
def test_the_end_of_a_removal_is_told(removals: tuple[RemovalProgress, ...], told: list[tuple[str, Severity, str]]) -> None:
    """Of the target, while there is one; not while it goes on."""
    found = _told(removals=removals)
    assert [(one.reason, one.severity, one.note) for one in found] == told
    assert {(one.subject, one.action) for one in found} <= {(OBJECT, "RemoveNode")}
    assert {one.subject for one in _told(removals=removals, objects={TARGET: CUSTOM})} <= {CUSTOM}


def test_a_hold_is_told_when_it_begins_and_when_it_ends() -> None:
    """By its evidence, else by the first reason of the plan; what has not changed is not told."""
    free, held = _plan(_line(held=False)), _plan(_line(held=True, evidence=("kubectl owns it", "since noon")))
    begun = Happening(subject=OBJECT, reason="Held", action="Hold", note="kubectl owns it, and since noon", severity=WARNING)
    ended = Happening(subject=OBJECT, reason="HoldEnded", action="Hold", note="replicas are decided here again")
    assert _told(plan=held) == _told(plan=held, before=free) == (begun,)
    assert _told(plan=free, before=held) == (ended,)
    assert _told(plan=free) == _told(plan=held, before=held) == ()
    for reasons, note in ((("by me", "by you"), "by me"), ((), "held")):
        (told,) = _told(plan=_plan(_line(held=True, reasons=reasons)))
        assert told.note == note


GETS = PodLine(pod="shop/web", outcome=PodOutcome.TRIGGERS_SCALE_UP, group="general")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (_result(), True),
        (_result(ActionKind.REPLACE), True),
        (_result(ActionKind.ADOPT), False),
        (_result(state=ResultState.SKIPPED), False),
        (_result(state=ResultState.REFUSED), False),
        (_result(from_=2, to=2), False),
        (_result(from_=5, to=2), False),
    ],
)
def test_a_pod_is_told_of_its_node_when_its_group_has_grown(result: ActionResult, *, told: bool) -> None:
    """Not when growth was only planned, nor of another write."""
    other = PodLine(pod="shop/other", outcome=PodOutcome.TRIGGERS_SCALE_UP, group="elsewhere")
    fits = PodLine(pod="shop/fits", outcome=PodOutcome.FITS_EXISTING, node="n1")
    comes = PodLine(pod="shop/comes", outcome=PodOutcome.FITS_UPCOMING, group="general")
    found = [one for one in _told(result, plan=_plan(pods=(GETS, other, fits, comes))) if one.subject.kind == "Pod"]
    subject = Subject(api_version="v1", kind="Pod", name="web", namespace="shop")
    note = "general gets a node for this pod"
    assert found == ([Happening(subject=subject, reason="TriggeredScaleUp", action="Resize", note=note)] if told else [])


def test_a_pod_that_fits_nowhere_is_told_why() -> None:
    """All reasons, or that no group has a node for it; once, until it has fitted somewhere in between."""
    whys = tuple(Reason(code="NoFit", message=text) for text in ("too large", "tainted"))
    why, bare = (
        PodLine(pod=f"shop/{name}", outcome=PodOutcome.UNPLACEABLE, reasons=rs) for name, rs in (("why", whys), ("bare", ()))
    )
    told = _told(plan=_plan(pods=(why, bare)))
    assert [(one.subject.name, one.reason, one.severity, one.note) for one in told] == [
        ("bare", "NotTriggerScaleUp", WARNING, "no group has a node for this pod"),
        ("why", "NotTriggerScaleUp", WARNING, "too large, and tainted"),
    ]
    delayed = PodLine(pod="shop/why", outcome=PodOutcome.DELAYED)
    again = _told(plan=_plan(pods=(why, bare)), before=_plan(pods=(delayed, bare)))
    assert [one.subject.name for one in again] == ["why"]


@pytest.mark.parametrize(
    ("others", "more"),
    [
        (0, ""),
        (1, ", also for shop/p-1"),
        (3, ", also for shop/p-1, shop/p-2, shop/p-3"),
        (4, ", also for shop/p-1, shop/p-2, shop/p-3 and 1 more"),
    ],
)
def test_pods_alike_are_told_beside_the_first(others: int, more: str) -> None:
    """Three others are named."""
    pods = tuple(PodLine(pod=f"shop/p-{number}", outcome=PodOutcome.UNPLACEABLE) for number in range(others + 1))
    (told,) = _told(plan=_plan(pods=pods))
    assert (told.subject.name, told.note) == ("p-0", f"no group has a node for this pod{more}")


def test_a_turn_tells_pods_about_fifty_groups_and_reasons() -> None:
    """A hundred pods that fit nowhere, each for a reason of its own, would be a hundred writes before the next turn."""
    pods = tuple(
        PodLine(pod=f"shop/p-{n}", outcome=PodOutcome.UNPLACEABLE, reasons=(Reason(code="NoFit", message=f"why {n:03}"),))
        for n in range(100)
    )
    told = _told(plan=_plan(pods=pods))
    assert [one.note for one in told] == [f"why {n:03}" for n in range(50)]
