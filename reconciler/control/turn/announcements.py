"""What an iteration reports to the cluster: Events of targets, pods and nodes, one per thing that happened or has changed. Nodes
of one target that leave for one reason are one thing."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from reconciler.cluster.target import TargetRef
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.kube.leading.events import Happening, Severity, Subject
from reconciler.kube.watching.collection import Served
from reconciler.kube.watching.target_object import object_of
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.values.clauses import clauses
from reconciler.values.plural import count_text

MOST_LOTS = 50
"""Groups and reasons that one turn tells pods about."""
_NAMED = 3

_UP = {ActionKind.RESIZE, ActionKind.REPLACE}


def announcements(
    report: LoopReport,
    before: Plan | None,
    served: tuple[Served, ...],
    targets: dict[str, TargetRef],
    objects: Mapping[str, Subject] = MappingProxyType({}),
) -> tuple[Happening, ...]:
    """The Events of one turn, given the plan of the turn before it. `served` are the platforms as the server speaks them,
    `targets` the targets by the text that plans call them by. `objects`, by the same text, are our custom resources; their Events
    are about them instead of their targets.

    SOURCE of the pod events: the Cluster Autoscaler tells pods TriggeredScaleUp and NotTriggerScaleUp; people look there.
    """
    happenings: list[Happening] = []
    grown = set()
    known = {
        text: target_subject for text, ref in targets.items() if (target_subject := _subject(ref, served)) is not None
    } | dict(objects)
    drains: dict[tuple[Subject, str], list[ActionResult]] = {}
    for result in report.results:
        subject = known.get(result.action.target)
        if result.state is ResultState.DONE and result.action.kind in _UP and result.action.to > result.action.from_:
            grown.add(result.action.group)
        if subject is not None and result.state is ResultState.DONE and result.action.kind is ActionKind.REMOVE_NODE:
            drains.setdefault((subject, result.action.reason.code), []).append(result)
        elif subject is not None and result.state is not ResultState.SKIPPED:
            happenings.append(_of_result(result, subject))
    happenings += [_of_drains(results, subject) for (subject, _), results in drains.items()]
    gone: dict[Subject, list[RemovalProgress]] = {}
    for removal in report.removals:
        subject = objects.get(str(removal.target)) or (_subject(removal.target, served) if removal.target is not None else None)
        if subject is not None and removal.state is RemovalState.FINISHED:
            gone.setdefault(subject, []).append(removal)
        elif subject is not None and removal.state is not RemovalState.DRAINING:
            happenings.append(_of_failure(removal, subject))
    happenings += [_of_gone(removals, subject) for subject, removals in gone.items()]
    if report.plan is not None:
        happenings += _holds(report.plan, before, known)
        happenings += _pods(report.plan, before, grown)
    return tuple(happenings)


def _of_result(result: ActionResult, subject: Subject) -> Happening:
    action = result.action
    done = result.state is ResultState.DONE
    names = {
        ActionKind.RESIZE: "ScaledUp" if action.to > action.from_ else "ScaledDown",
        ActionKind.REMOVE_NODE: "NodeDraining",
    }
    reason = names.get(action.kind, f"{action.kind}Done") if done else f"{action.kind}{result.state}"
    change = f"{action.from_} -> {action.to}" if action.to != action.from_ else ""
    words = ": ".join(part for part in (_named(action.nodes), change, result.message or action.reason.message) if part)
    severity = Severity.NORMAL if done else Severity.WARNING
    return Happening(subject=subject, reason=reason, action=str(action.kind), note=words, severity=severity)


def _of_drains(results: Sequence[ActionResult], subject: Subject) -> Happening:
    """Nodes of one target that begin to leave for one reason: the words of the first stand for all."""
    if len(results) == 1:
        return _of_result(results[0], subject)
    nodes = [name for result in results for name in result.action.nodes]
    change = f"{max(one.action.from_ for one in results)} -> {min(one.action.to for one in results)}"
    words = f"{count_text(len(nodes), 'node')}: {_named(nodes)}, {change}, for example {results[0].action.reason.message}"
    return Happening(subject=subject, reason="NodeDraining", action=str(ActionKind.REMOVE_NODE), note=words)


def _of_gone(removals: Sequence[RemovalProgress], subject: Subject) -> Happening:
    left = count_text(min(one.replicas for one in removals), "replica") + " left"
    if len(removals) == 1:
        note = f"{removals[0].node} was drained and its machine is being deleted, {left}"
    else:
        nodes = _named([one.node for one in removals])
        note = f"{count_text(len(removals), 'node')} drained, whose machines are being deleted: {nodes}, {left}"
    return Happening(subject=subject, reason="NodeRemoved", action="RemoveNode", note=note)


def _of_failure(removal: RemovalProgress, subject: Subject) -> Happening:
    note = f"{removal.node} stays: {removal.message}"
    return Happening(
        subject=subject, reason=removal.code or "RemovalFailed", action="RemoveNode", note=note, severity=Severity.WARNING
    )


def _holds(plan: Plan, before: Plan | None, known: Mapping[str, Subject]) -> list[Happening]:
    was = {line.name: line.held for line in before.groups} if before is not None else {}
    happenings = []
    for line in plan.groups:
        subject = known.get(line.target)
        if subject is None or line.held == was.get(line.name, False):
            continue
        if line.held:
            note = clauses(line.owner.evidence) or next((reason.message for reason in line.reasons), "held")
            happenings.append(Happening(subject=subject, reason="Held", action="Hold", note=note, severity=Severity.WARNING))
        else:
            happenings.append(
                Happening(subject=subject, reason="HoldEnded", action="Hold", note="replicas are decided here again")
            )
    return happenings


def _pods(plan: Plan, before: Plan | None, grown: set[str]) -> list[Happening]:
    """Pods whose nodes were requested just now, and pods that have newly turned out to fit nowhere. There is one Event per group
    and one per reason, on the first of its pods: a burst of pods is one piece of news."""
    was = {line.pod for line in before.pods if line.outcome is PodOutcome.UNPLACEABLE} if before is not None else set()
    lots: dict[tuple[str, str], list[str]] = {}
    for line in plan.pods:
        if line.outcome is PodOutcome.TRIGGERS_SCALE_UP and line.group in grown:
            lots.setdefault(("TriggeredScaleUp", f"{line.group} gets a node for this pod"), []).append(line.pod)
        elif line.outcome is PodOutcome.UNPLACEABLE and line.pod not in was:
            note = clauses(reason.message for reason in line.reasons) or "no group has a node for this pod"
            lots.setdefault(("NotTriggerScaleUp", note), []).append(line.pod)
    happenings = []
    for (reason, note), pods in sorted(lots.items())[:MOST_LOTS]:
        first, *others = sorted(pods)
        namespace, _, name = first.partition("/")
        more = f", also for {_named(others)}" if others else ""
        severity = Severity.NORMAL if reason == "TriggeredScaleUp" else Severity.WARNING
        subject = Subject(api_version="v1", kind="Pod", name=name, namespace=namespace)
        happenings.append(Happening(subject=subject, reason=reason, action="Resize", note=note + more, severity=severity))
    return happenings


def _named(things: Sequence[str]) -> str:
    """`prod/b, prod/c, prod/d and 40 more`."""
    names = ", ".join(things[:_NAMED])
    return f"{names} and {len(things) - _NAMED} more" if len(things) > _NAMED else names


def _subject(target: TargetRef, served: tuple[Served, ...]) -> Subject | None:
    target_object = object_of(target, served)
    if target_object is None:
        return None
    return Subject(api_version=target_object.api_version, kind=target_object.kind, name=target.name, namespace=target.namespace)
