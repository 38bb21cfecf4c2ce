"""Conditions of our custom resources, from a plan: what kstatus, Argo CD and people read.

SOURCE: kstatus. Stalled means that the object must be changed by somebody (Failed there). Reconciling means that we are at work
(InProgress). Ready means that everything is done (Current). A group that is held for its owner is as it should be, so it is
Ready. A delivery that waits for it must not wait forever.
"""

from reconciler.decisions.reasons.groups import ReplicasUnknown, TargetMissing, TargetUnread
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.kube.custom.status import Condition
from reconciler.plan.plan import GroupLine, OwnerState
from reconciler.policy.problems.problem import Problem
from reconciler.values.clauses import clauses
from reconciler.values.plural import count_text
from reconciler.values.two_sentences import two_sentences

_NOT_HELD = Condition(type="Held", status="False", reason="NotHeld", message="replicas are decided here")
_ABSENT = {TargetMissing.code, TargetUnread.code, ReplicasUnknown.code}


def of_invalid(problems: tuple[Problem, ...], kept: str, *, held: bool) -> tuple[Condition, ...]:
    """An object that is not used as it stands; `kept` says what is in force instead, `held` that its group is held."""
    first, more = problems[0], len(problems) - 1
    message = two_sentences(f"{first.place}: {first.message}", first.hint) + (f" (and {more} more)" if more else "")
    message = two_sentences(message, kept)
    return (
        *_main("False", first.code, message, stalled=True),
        Condition(type="Held", status="True", reason="Invalid", message=message) if held else _NOT_HELD,
    )


def of_group(line: GroupLine, *, observed: bool) -> tuple[Condition, ...]:
    """An object whose group was decided; `observed`: nothing is written for it."""
    return (*_of_line(line, observed=observed), _held(line))


def of_policy(in_force: str, refused: Fault | None) -> tuple[Condition, ...]:
    """The policy itself; `refused` is why what stands in the object is not in force."""
    if refused is None:
        return _main("True", "InForce", in_force)
    return _main("False", refused.code.value, f"{refused.sentence}. {in_force}", stalled=True)


def of_awaiting(missing: str) -> tuple[Condition, ...]:
    """An object whose policy is not there yet. It is not at fault: what is applied together does not arrive together."""
    return of_waiting(FaultCode.NO_POLICY.value, f"{missing}: nothing is decided until there is")


def of_waiting(reason: str, message: str) -> tuple[Condition, ...]:
    """An object that something is still to be done for, by others or by us."""
    waiting = _main("False", reason, message, reconciling=True)
    return (*waiting, Condition(type="Held", status="False", reason=reason, message=message))


def _of_line(line: GroupLine, *, observed: bool) -> tuple[Condition, ...]:
    absent = next((reason for reason in line.reasons if reason.code in _ABSENT), None)
    if absent is not None:
        return _main("False", absent.code, absent.message)
    if line.held:
        return _main("True", "Held", _why_held(line))
    if line.current == line.desired:
        return _main("True", "AsDesired", f"{count_text(line.current, 'replica')}, as desired")
    change = f"{line.current} -> {line.desired} replicas"
    if observed:
        return _main("True", "Observed", f"{change} would be set, but the mode is Observe")
    return _main("Unknown", "Resizing", change, reconciling=True)


def _held(line: GroupLine) -> Condition:
    if not line.held:
        return _NOT_HELD
    owned = line.owner.state in (OwnerState.HELD, OwnerState.UNKNOWN)
    return Condition(type="Held", status="True", reason=f"Owner{line.owner.state}" if owned else "Hold", message=_why_held(line))


def _why_held(line: GroupLine) -> str:
    """By whom, and the evidence; else the first reason, which names the hold."""
    if line.owner.state in (OwnerState.HELD, OwnerState.UNKNOWN):
        evidence = clauses(line.owner.evidence)
        return f"{line.owner.by}: {evidence}" if line.owner.by else evidence
    return line.reasons[0].message if line.reasons else "held"


def _main(ready: str, reason: str, message: str, *, stalled: bool = False, reconciling: bool = False) -> tuple[Condition, ...]:
    return (
        Condition(type="Ready", status=ready, reason=reason, message=message),
        Condition(
            type="Reconciling",
            status="True" if reconciling else "False",
            reason=reason if reconciling else "Idle",
            message=message if reconciling else "nothing is under way",
        ),
        Condition(
            type="Stalled",
            status="True" if stalled else "False",
            reason=reason if stalled else "NotStalled",
            message=message if stalled else "nothing stands in the way",
        ),
    )
