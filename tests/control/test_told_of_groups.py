"""What status, metrics, plan and Events say of a group is the plan's word, also where the loop itself is not asked."""

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.control.live.loop_status import loop_status
from reconciler.control.live.plan_record import PlanRecorder, plan_in
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.announcements import announcements
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.kube.leading.events import Subject
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.plan.plan import Action, ActionKind, Bound, GroupLine, Ownership, OwnerState, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.rendering.printers.text.status import status_text
from reconciler.rendering.words.next_step import next_step
from tests.kube.api_server import FakeApiServer

TARGET = "MachineDeployment prod/general"
BY_KUBECTL = Ownership(
    state=OwnerState.HELD, by="kubectl",
    evidence=("managedFields: kubectl (Apply) owns spec.replicas since 2026-11-21T11:00:00Z",),
)  # fmt: skip
BY_A_PERSON = Ownership(
    state=OwnerState.HELD, by="kubectl",
    evidence=(
        "managedFields: kubectl (Update, subresource scale) owns spec.replicas",
        "a person's write holds for 1h, until 2026-11-21T13:00:00Z",
    ),
)  # fmt: skip
HELD = GroupLine(
    name="general", target=TARGET, tier="", current=2, desired=2, wanted=0, min=0, max=9, owner=BY_KUBECTL, held=True,
    reasons=(Reason(code="OwnedElsewhere", message="kubectl owns spec.replicas"),),
)  # fmt: skip
OURS = msgspec.structs.replace(HELD, owner=Ownership(state=OwnerState.OURS), held=False, wanted=None)


class Parts:
    """A state object in memory, which counts what is written."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}
        self.writes = 0
        self.away = False

    def load(self, part: str) -> bytes | None:
        if self.away:
            raise StateUnavailableError("away")
        return self.parts.get(part)

    def save(self, part: str, content: bytes) -> bool:
        self.parts[part] = content
        self.writes += 1
        return True


def _report(at_seconds: int, *lines: GroupLine, digest: str = "sha256:1") -> LoopReport:
    plan = Plan(now="2026-11-21T12:00:00Z", mode="Enforce", summary="No changes, 1 group held.", digest=digest, groups=lines)
    return LoopReport(at_seconds=at_seconds, plan=plan)


def test_a_group_is_held_since_the_first_plan_that_said_so() -> None:
    """Also by another process than the one that goes on."""
    state = Parts()
    PlanRecorder(state).turned(_report(1000, HELD))
    other = PlanRecorder(state)
    other.turned(_report(5000, msgspec.structs.replace(HELD, wanted=1)))
    record = plan_in(state)
    assert record is not None
    assert (record.at, record.groups[0].held_since) == ("1970-01-01T01:23:20Z", "1970-01-01T00:16:40Z")
    other.turned(_report(6000, OURS))
    other.turned(_report(7000, HELD))
    record = plan_in(state)
    assert record is not None
    assert record.groups[0].held_since == "1970-01-01T01:56:40Z"


def test_what_says_nothing_new_is_not_written() -> None:
    """A digest alone, as numbers in reasons move it, is no news."""
    state = Parts()
    recorder = PlanRecorder(state)
    for second in range(5):
        recorder.turned(_report(1000 + second, HELD, digest=f"sha256:{second}"))
    PlanRecorder(state).turned(_report(2000, HELD, digest="sha256:9"))
    assert state.writes == 1


def test_what_could_not_be_written_is_written_by_the_next_turn() -> None:
    """A server that is away is no failure of the turn."""
    state = Parts()
    recorder = PlanRecorder(state)
    state.away = True
    recorder.turned(_report(1000, HELD))
    state.away = False
    recorder.turned(_report(1001, HELD))
    assert plan_in(state) is not None


def test_since_when_a_target_is_held_survives_a_restart() -> None:
    """The record that another process wrote says it; a group that is not held has no instant."""
    state = Parts()
    PlanRecorder(state).turned(_report(1000, HELD))
    later = PlanRecorder(state)
    assert later.held_since() == {}
    later.turned(_report(5000, HELD))
    assert later.held_since() == {TARGET: 1000}
    later.turned(_report(6000, OURS))
    assert later.held_since() == {}


def test_next_step() -> None:
    """By what holds: a declaration is left out or taken over, a person's write ends by itself, a hold is released."""
    assert next_step(HELD).startswith("the policy takes it over first (spec.adoptFrom: [kubectl]). Then kubectl leaves")
    assert next_step(msgspec.structs.replace(HELD, owner=BY_A_PERSON)).startswith("nothing: after that it is decided here again")
    assert next_step(OURS) == ""
    held_by_us = msgspec.structs.replace(OURS, held=True)
    assert next_step(held_by_us).startswith("`reconciler hold general --release`")


def test_status_says_what_the_plan_says() -> None:
    """Owner, evidence, since when, what it would do and what to do next, without asking the loop."""
    server = FakeApiServer()
    state = LockedState(StateObject(server, "reconciler", "prod"))
    PlanRecorder(state).turned(_report(1000, HELD))
    document = loop_status(server, "reconciler", "prod", {}, 2000)
    (group,) = document.groups
    assert (group.held, group.owner.state, group.owner.by) == (True, "Held", "kubectl")
    assert group.owner.evidence == BY_KUBECTL.evidence
    assert (document.plan.summary, document.plan.at) == ("No changes, 1 group held.", "1970-01-01T00:16:40Z")
    text = " ".join(status_text(document).split())
    assert "held by kubectl since 1970-01-01T00:16:40Z" in text
    assert BY_KUBECTL.evidence[0] in text
    assert "next: the policy takes it over first (spec.adoptFrom: [kubectl]" in text


def test_status_says_what_waits_for_an_approval() -> None:
    """In the words of the plan, which has the line to commit."""
    server = FakeApiServer()
    state = LockedState(StateObject(server, "reconciler", "prod"))
    waits = Reason(code="WaitsForApproval", message="3 nodes wait for an approval: Reconciler-Approve-Removals: …")
    other = Reason(code="CoolDown", message="not told")
    PlanRecorder(state).turned(_report(1000, msgspec.structs.replace(OURS, reasons=(other, waits))))
    document = loop_status(server, "reconciler", "prod", {}, 2000)
    assert document.groups[0].approval == waits.message
    text = " ".join(status_text(document).split())
    assert waits.message in text
    assert other.message not in text


def _resized(group: str) -> ActionResult:
    action = Action(
        kind=ActionKind.RESIZE, group=group, target=TARGET, from_=0, to=3,
        bound=Bound(resource_version="1", replicas=0, owner_digest="", policy_digest=""),
        reason=Reason(code="PendingPods", message="pods wait"),
    )  # fmt: skip
    return ActionResult(action=action, state=ResultState.DONE)


def test_a_burst_is_one_event_a_group_and_reason() -> None:
    """244 pods that get nodes of one group, 40 that fit nowhere for one reason and one for another: three Events."""
    pods = [PodLine(pod=f"prod/p-{n:03}", outcome=PodOutcome.TRIGGERS_SCALE_UP, group="general") for n in range(244)]
    whys = [Reason(code="NoFit", message="no group is large enough")] * 40 + [Reason(code="NoFit", message="nobody tolerates")]
    pods += [PodLine(pod=f"prod/q-{n:03}", outcome=PodOutcome.UNPLACEABLE, reasons=(why,)) for n, why in enumerate(whys)]
    plan = Plan(now="2026-11-21T12:00:00Z", mode="Enforce", summary="", groups=(OURS,), pods=tuple(pods))
    report = LoopReport(at_seconds=1000, plan=plan, results=(_resized("general"),))
    told = [(one.subject.name, one.reason, one.note) for one in announcements(report, None, (), {}) if one.subject.kind == "Pod"]
    assert told == [
        ("q-000", "NotTriggerScaleUp", "no group is large enough, also for prod/q-001, prod/q-002, prod/q-003 and 36 more"),
        ("q-040", "NotTriggerScaleUp", "nobody tolerates"),
        (
            "p-000",
            "TriggeredScaleUp",
            "general gets a node for this pod, also for prod/p-001, prod/p-002, prod/p-003 and 240 more",
        ),
    ]
    # The same plan again is no news of those that fit nowhere.
    assert [one.reason for one in announcements(report, plan, (), {}) if one.subject.kind == "Pod"] == ["TriggeredScaleUp"]


def test_nodes_of_one_target_that_leave_for_one_reason_are_one_event() -> None:
    """A hundred empty nodes are two Events, when they begin to leave and when they are gone; one that stays has its own."""
    custom = Subject(api_version="reconciler.dev/v1alpha1", kind="NodeGroup", name="general", namespace="prod")
    target = TargetRef(kind="MachineDeployment", namespace="prod", name="general")
    nodes = [f"n-{number:03}" for number in range(100)]
    begun = tuple(_leaving(name, 100 - number) for number, name in enumerate(nodes))
    ended = [
        RemovalProgress(target=target, node=name, state=RemovalState.FINISHED, replicas=99 - number)
        for number, name in enumerate(nodes[:99])
    ]
    stays = RemovalProgress(target=target, node="n-099", state=RemovalState.FAILED, code="Blocked", message="prod/db is alone")
    report = LoopReport(at_seconds=1000, results=begun, removals=(*ended, stays))
    told = [(one.reason, one.note) for one in announcements(report, None, (), {}, {TARGET: custom})]
    assert told == [
        ("NodeDraining", "100 nodes: n-000, n-001, n-002 and 97 more, 100 -> 0, for example n-000 runs nothing"),
        ("Blocked", "n-099 stays: prod/db is alone"),
        (
            "NodeRemoved",
            "99 nodes drained, whose machines are being deleted: n-000, n-001, n-002 and 96 more, 1 replica left",
        ),
    ]


def _leaving(node: str, replicas: int) -> ActionResult:
    action = Action(
        kind=ActionKind.REMOVE_NODE, group="general", target=TARGET, nodes=(node,), from_=replicas, to=replicas - 1,
        bound=Bound(resource_version="1", replicas=100, owner_digest="", policy_digest=""),
        reason=Reason(code="Empty", message=f"{node} runs nothing"),
    )  # fmt: skip
    return ActionResult(action=action, state=ResultState.DONE)
