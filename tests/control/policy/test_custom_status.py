"""What custom resources are told after a turn: status, conditions and Events."""

from collections.abc import Iterable

import msgspec
import pytest

from reconciler.control.policy.custom_status import CustomStatus
from reconciler.control.policy.plan_conditions import of_group, of_invalid
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.status import Status
from reconciler.kube.leading.events import Happening, Severity
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import Action, ActionKind, Bound, GroupLine, Ownership, OwnerState, Plan
from reconciler.plan.reason import Reason
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from tests.control.custom_followed import LOW_ABOVE_HIGH, NOW, Followed
from tests.kube.custom_resources import group, policy


class _Written:
    """Takes statuses and events."""

    def __init__(self) -> None:
        self.rounds: list[dict[str, Status]] = []
        self.happened: list[Happening] = []
        self.leader = True

    def round(self, wanted: Iterable[tuple[CustomObject, Status]], now: str) -> None:
        assert now.endswith("Z")
        if not self.leader:
            raise NotLeaderError
        self.rounds.append({item.title: status for item, status in wanted})

    def tell(self, happening: Happening) -> None:
        self.happened.append(happening)


def _status(followed: Followed, written: _Written) -> CustomStatus:
    return CustomStatus(
        followed.objects, lambda: followed.policy, written, written, clock=lambda: NOW, leads=lambda: written.leader  # type: ignore[arg-type]
    )  # fmt: skip


def _line(name: str, **fields: object) -> GroupLine:
    given: dict[str, object] = {"current": 2, "desired": 2, "owner": Ownership(state=OwnerState.OURS), **fields}
    return GroupLine(name=name, target=f"MachineDeployment prod/{name}", tier="spot", min=0, max=5, **given)


def _plan(followed: Followed, *lines: GroupLine, revision: str | None = None) -> Plan:
    return Plan(
        digest="sha256:1", now="2027-01-15T08:00:00Z", mode="Enforce", summary="No changes.", groups=lines,
        policy_revision=revision or followed.policy.revision,
    )  # fmt: skip


def _words(status: Status) -> dict[str, tuple[str, str]]:
    return {item.type: (item.status, item.reason) for item in status.conditions}


def test_status_after_a_turn() -> None:
    """Facts of the plan on each object; an object made anew, or of another policy, gets none."""
    followed, written = Followed(policy(), policy("other"), group("a"), group("b")), _Written()
    status = _status(followed, written)
    followed.look()
    plan = _plan(followed, _line("a", wanted=4, held=True, reasons=(Reason("Hold", "until noon"),)), _line("b", desired=3))
    action = Action(
        kind=ActionKind.RESIZE, group="b", target="MachineDeployment prod/b", from_=2, to=3,
        bound=Bound(resource_version="1", replicas=2, owner_digest="", policy_digest=""), reason=Reason("Demand", "pods wait"),
    )  # fmt: skip
    skipped = ActionResult(action=action, state=ResultState.SKIPPED, code="Observe")

    status.turned(LoopReport(at_seconds=NOW, plan=plan, results=(skipped,)))

    (found,) = written.rounds
    assert set(found) == {"NodeGroupPolicy prod", "NodeGroup infra/a", "NodeGroup infra/b"}
    revision = followed.policy.revision
    whole = found["NodeGroupPolicy prod"]
    assert whole.facts == {"revision": revision, "summary": "No changes.", "planDigest": "sha256:1", "groups": 2, "heldGroups": 1}
    assert whole.beside == {"planTime": "2027-01-15T08:00:00Z"}
    assert whole.observed_generation == 1
    assert _words(whole) == {"Ready": ("True", "InForce"), "Reconciling": ("False", "Idle"), "Stalled": ("False", "NotStalled")}
    held = found["NodeGroup infra/a"]
    assert held.facts == {
        "target": "MachineDeployment prod/a", "tier": "spot", "min": 0, "max": 5, "current": 2, "desired": 2, "owner": "Ours",
        "wanted": 4, "reason": "until noon",
    }  # fmt: skip
    assert held.beside == {"revision": revision, "planDigest": "sha256:1"}
    assert _words(held)["Held"] == ("True", "Hold")
    assert _words(found["NodeGroup infra/b"])["Ready"] == ("True", "Observed")
    assert "wanted" not in found["NodeGroup infra/b"].facts

    followed.objects.items = tuple(msgspec.structs.replace(item, uid="new") for item in followed.objects.items)
    status.write()
    assert written.rounds[-1] == {}


def test_a_plan_of_an_earlier_policy_says_nothing() -> None:
    """Until a turn has decided by the newer one; an invalid object is told at once."""
    followed, written = Followed(policy(), group("a")), _Written()
    status = _status(followed, written)
    followed.look()
    status.turned(LoopReport(at_seconds=NOW, plan=_plan(followed, _line("a"), revision="old")))
    assert written.rounds == [{}]
    status.turned(LoopReport(at_seconds=NOW, plan=None))
    assert written.rounds[-1] == {}

    followed.look(policy(), group("a", generation=2, **LOW_ABOVE_HIGH), group("b", **LOW_ABOVE_HIGH))
    status.write()
    found = written.rounds[-1]
    assert set(found) == {"NodeGroup infra/a", "NodeGroup infra/b"}
    assert _words(found["NodeGroup infra/a"])["Held"] == ("True", "Invalid")
    assert found["NodeGroup infra/a"].conditions[0].message.endswith("Its last good version is kept, and held")
    assert found["NodeGroup infra/b"].conditions[0].message.endswith("Its target is left alone")
    assert found["NodeGroup infra/a"].beside == {"revision": followed.policy.revision}
    assert found["NodeGroup infra/a"].facts == {}
    assert found["NodeGroup infra/a"].observed_generation == 2


def test_before_any_policy_was_in_force() -> None:
    """It says what is wrong with it and that none is in force, without waiting for a plan."""
    followed, written = Followed(policy(mode="Perhaps"), group("a")), _Written()
    followed.look()
    _status(followed, written).write()
    (found,) = written.rounds
    whole = found["NodeGroupPolicy prod"]
    assert _words(whole) == {
        "Ready": ("False", "InvalidPolicy"), "Reconciling": ("False", "Idle"), "Stalled": ("True", "InvalidPolicy"),
    }  # fmt: skip
    assert whole.conditions[0].message.endswith(". No policy is in force")
    assert (whole.facts, whole.beside) == ({}, {})


def test_groups_that_wait_for_their_policy_say_so() -> None:
    """Before the first policy: under way, and what is missing; one whose policy nobody has needs a person."""
    followed, written = Followed(group("a"), group("c", policy="other")), _Written()
    followed.look()
    _status(followed, written).write()
    (found,) = written.rounds
    assert {title: _words(status)["Stalled"][0] for title, status in found.items()} == {
        "NodeGroup infra/a": "False", "NodeGroup infra/c": "True",
    }  # fmt: skip
    words = _words(found["NodeGroup infra/a"])
    assert words["Ready"] == ("False", "NoPolicy")
    assert (words["Reconciling"], words["Stalled"]) == (("True", "NoPolicy"), ("False", "NotStalled"))
    assert (
        found["NodeGroup infra/a"].conditions[0].message == "there is no NodeGroupPolicy prod: nothing is decided until there is"
    )
    followed.look(policy(), group("a"))
    _status(followed, written).write()
    assert written.rounds[-1] == {}, "a plan is to say the rest"


def test_an_invalid_policy_says_which_one_is_in_force() -> None:
    """It stands in the way of the newer one; what was put off for another reason is no observing."""
    followed, written = Followed(policy(), group("a"), group("b")), _Written()
    status = _status(followed, written)
    followed.look()
    revision = followed.policy.revision
    followed.look(policy(generation=2, mode="Perhaps"), group("a"), group("b"))
    action = Action(
        kind=ActionKind.RESIZE, group="b", target="MachineDeployment prod/b", from_=2, to=3,
        bound=Bound(resource_version="1", replicas=2, owner_digest="", policy_digest=""), reason=Reason("Demand", "pods wait"),
    )  # fmt: skip
    later = ActionResult(action=action, state=ResultState.SKIPPED, code="Deferred")
    status.turned(LoopReport(at_seconds=NOW, plan=_plan(followed, _line("a"), _line("b", desired=3)), results=(later,)))
    found = written.rounds[-1]
    whole = found["NodeGroupPolicy prod"]
    assert (_words(whole)["Ready"], _words(whole)["Stalled"]) == (("False", "InvalidPolicy"), ("True", "InvalidPolicy"))
    assert whole.conditions[0].message.endswith(" is in force")
    assert "No policy" not in whole.conditions[0].message
    assert whole.facts["revision"] == revision
    assert _words(found["NodeGroup infra/b"])["Ready"] == ("Unknown", "Resizing")


def test_an_object_that_has_gone_meanwhile_is_told_nothing() -> None:
    """It was judged, and deleted since."""
    followed, written = Followed(policy(), group("a"), group("b")), _Written()
    status = _status(followed, written)
    followed.look()
    followed.objects.items = (policy(), group("b"))
    status.turned(LoopReport(at_seconds=NOW, plan=_plan(followed, _line("a"), _line("b"))))
    assert set(written.rounds[0]) == {"NodeGroupPolicy prod", "NodeGroup infra/b"}


def test_events_about_objects_that_are_not_used() -> None:
    """One for each version."""
    followed, written = Followed(policy(), group("a", **LOW_ABOVE_HIGH)), _Written()
    status = _status(followed, written)
    followed.look()
    for _ in range(2):
        status.write()
    (event,) = written.happened
    assert (event.subject.kind, event.subject.name, event.subject.namespace) == ("NodeGroup", "a", "infra")
    assert (event.action, event.severity) == ("Judge", Severity.WARNING)
    assert event.note.startswith("NodeGroup infra/a: ") or "spec.size" in event.note
    followed.look(policy(), group("a", generation=2, **LOW_ABOVE_HIGH))
    status.write()
    assert len(written.happened) == 2
    followed.look(policy(), group("a", generation=3))
    status.write()
    followed.look(policy(), group("a", generation=2, **LOW_ABOVE_HIGH))
    status.write()
    assert len(written.happened) == 3


def test_who_does_not_lead_writes_nothing() -> None:
    """Whether it knows so before or is told by the write."""
    followed, written = Followed(policy(), group("a")), _Written()
    followed.look()
    status = _status(followed, written)
    written.leader = False
    status.turned(LoopReport(at_seconds=NOW, plan=_plan(followed, _line("a"))))
    knows = CustomStatus(
        followed.objects, lambda: followed.policy, written, written, clock=lambda: NOW, leads=lambda: True  # type: ignore[arg-type]
    )  # fmt: skip
    knows.write()
    assert written.rounds == []
    written.leader = True
    status.write()
    assert set(written.rounds[0]) == {"NodeGroupPolicy prod", "NodeGroup infra/a"}


def test_whom_events_are_about() -> None:
    """Objects of groups in force by the target that a plan names, also after the object was deleted."""
    followed, written = Followed(policy(), group("a"), group("b")), _Written()
    status = _status(followed, written)
    assert status.subjects(Plan(digest="", now="", mode="Enforce", summary="")) == {}
    followed.look()
    assert status.subjects(None) == {}
    plan = _plan(followed, _line("a"), _line("b"))
    assert {target: subject.name for target, subject in status.subjects(plan).items()} == {
        "MachineDeployment prod/a": "a",
        "MachineDeployment prod/b": "b",
    }
    followed.objects.items = (policy(),)
    assert set(status.subjects(_plan(followed, _line("a")))) == {"MachineDeployment prod/a"}


_HELD_BY = Ownership(state=OwnerState.HELD, by="argocd", evidence=("applies replicas", "since noon"))


@pytest.mark.parametrize(
    ("fields", "observed", "ready", "message", "held"),
    [
        ({}, False, ("True", "AsDesired"), "2 replicas, as desired", ("False", "NotHeld")),
        ({"desired": 3}, False, ("Unknown", "Resizing"), "2 -> 3 replicas", ("False", "NotHeld")),
        (
            {"desired": 3}, True, ("True", "Observed"), "2 -> 3 replicas would be set, but the mode is Observe",
            ("False", "NotHeld"),
        ),
        (
            {"held": True, "owner": _HELD_BY}, False, ("True", "Held"), "argocd: applies replicas, and since noon",
            ("True", "OwnerHeld"),
        ),
        (
            {"held": True, "owner": Ownership(state=OwnerState.UNKNOWN, evidence=("unreadable",))}, False, ("True", "Held"),
            "unreadable", ("True", "OwnerUnknown"),
        ),
        (
            {"held": True, "reasons": (Reason("Hold", "until noon"),)}, False, ("True", "Held"), "until noon", ("True", "Hold"),
        ),
        ({"held": True}, False, ("True", "Held"), "held", ("True", "Hold")),
        (
            {"reasons": (Reason("Other", "x"), Reason("TargetMissing", "there is no target"))}, False,
            ("False", "TargetMissing"), "there is no target", ("False", "NotHeld"),
        ),
    ],
)  # fmt: skip
def test_conditions_of_a_group(
    fields: dict[str, object], observed: bool, ready: tuple[str, str], message: str, held: tuple[str, str]
) -> None:
    """Ready when all is done or is not ours to do, Reconciling while a change is under way, Held with by whom."""
    found = {item.type: item for item in of_group(_line("a", **fields), observed=observed)}

    assert (found["Ready"].status, found["Ready"].reason) == ready
    assert found["Ready"].message == message
    assert (found["Held"].status, found["Held"].reason) == held
    under_way = ready[0] == "Unknown"
    assert found["Reconciling"].status == ("True" if under_way else "False")
    assert found["Reconciling"].message == (message if under_way else "nothing is under way")
    assert (found["Stalled"].status, found["Stalled"].reason, found["Stalled"].message) == (
        "False", "NotStalled", "nothing stands in the way",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        (("",), "a.yaml:1:2: wrong. It is kept"),
        (("do so",), "a.yaml:1:2: wrong. Do so. It is kept"),
        (("", "", ""), "a.yaml:1:2: wrong (and 2 more). It is kept"),
    ],
)
def test_conditions_of_an_invalid_object(hints: tuple[str, ...], told: str) -> None:
    """The first problem with its place and hint, how many more there are, and what is in force instead."""
    problems = tuple(Problem(code="Wrong", message="wrong", place=Place("a.yaml", 1, 2), hint=hint) for hint in hints)
    for held in (True, False):
        found = {item.type: item for item in of_invalid(problems, "It is kept", held=held)}
        assert (found["Ready"].status, found["Ready"].reason, found["Ready"].message) == ("False", "Wrong", told)
        assert (found["Stalled"].status, found["Stalled"].reason, found["Stalled"].message) == ("True", "Wrong", told)
        assert (found["Held"].status, found["Held"].reason) == (("True", "Invalid") if held else ("False", "NotHeld"))
