"""What the loop tells on our custom resources: their status after each turn and each look at them."""

import threading
from collections.abc import Callable, Iterator, Mapping

from reconciler.control.policy.custom_resources import CustomResourcePolicy, Objects, Reading
from reconciler.control.policy.plan_conditions import of_awaiting, of_group, of_invalid, of_policy
from reconciler.control.turn.turn_report import LoopReport
from reconciler.gitops.sources.acceptance import short_revision
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.status import Condition, Status, StatusWriter
from reconciler.kube.leading.events import EventRecorder, Happening, Severity, Subject
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import GroupLine, Plan
from reconciler.policy.documents import API_VERSION
from reconciler.values.instant import instant_text


class CustomStatus:
    """`policy` gives the one of now, `leads` says whether this process may write.

    May be called from the thread of the loop and from that of the source.
    """

    def __init__(
        self,
        objects: Objects,
        policy: Callable[[], CustomResourcePolicy],
        writer: StatusWriter,
        recorder: EventRecorder,
        *,
        clock: Callable[[], int],
        leads: Callable[[], bool],
    ) -> None:
        self._objects = objects
        self._current = policy
        self._writer = writer
        self._recorder = recorder
        self._reported: dict[str, tuple[int, str]] = {}
        self._subjects: Mapping[str, Subject] = {}
        self._clock = clock
        self._leads = leads
        self._lock = threading.Lock()
        self._plan: Plan | None = None
        self._observed: frozenset[str] = frozenset()

    def turned(self, report: LoopReport) -> None:
        """After a turn. Never raises for what a server does."""
        if report.plan is not None:
            observed = (result.action.group for result in report.results if result.code == "Observe")
            self._plan, self._observed = report.plan, frozenset(observed)
        self.write()

    def write(self) -> None:
        """Bring every object up to what is known now."""
        if not self._leads():
            return
        with self._lock:
            now = instant_text(self._clock())
            try:
                policy = self._current()
                self._writer.round(tuple(self._wanted(policy, now)), now)
                self._tell(policy.reading)
            except NotLeaderError:
                # The next leader writes what it finds to differ.
                return

    def subjects(self, plan: Plan | None) -> Mapping[str, Subject]:
        """The objects that Events are about, by the text that the plan calls their targets by. The Events of a group that is in
        force after its object was deleted are about that object: `kubectl get events` still finds them."""
        policy = self._current()
        if plan is None:
            return {}
        targets = {line.name: line.target for line in plan.groups}
        names = _names(policy)
        there = {item.title: _subject(item) for item in self._objects.all()}
        self._subjects = {title: subject for title, subject in {**self._subjects, **there}.items() if title in names}
        return {targets[names[title]]: subject for title, subject in self._subjects.items() if names[title] in targets}

    def _wanted(self, policy: CustomResourcePolicy, now: str) -> Iterator[tuple[CustomObject, Status]]:
        reading, plan = policy.reading, self._plan
        if plan is not None and plan.policy_revision != reading.revision:
            # Decided by what was in force before.
            plan = None
        now_there = {item.title: item for item in self._objects.all()}
        names = _names(policy)
        lines = {line.name: line for line in plan.groups} if plan is not None else {}
        for judged in reading.objects:
            item = now_there.get(judged.title)
            if item is None or item.uid != judged.uid:
                continue
            if item.kind == "NodeGroupPolicy":
                status = _of_policy(judged, reading, plan, now) if item.name == policy.name else None
            else:
                status = self._of_group(judged, reading, plan, lines.get(names.get(item.title, "")))
            if status is not None:
                yield item, status

    def _of_group(self, item: CustomObject, reading: Reading, plan: Plan | None, line: GroupLine | None) -> Status | None:
        problems = reading.judged.problems.get(item.title)
        in_force = reading.judged.in_force
        if problems:
            held = in_force.held.get(item.title) if in_force is not None else None
            kept = (
                "Its target is left alone"
                if held is not None and held.never_good
                else "Its last good version is kept, and held"
                if held is not None
                else "It is not used"
            )
            conditions = of_invalid(problems, kept, held=held is not None)
        elif line is not None:
            conditions = of_group(line, observed=line.name in self._observed)
        elif _awaits(item, reading):
            conditions = of_awaiting(reading.judged.missing)
        else:
            return None
        return status_of_group(item, conditions, reading.revision, plan, line)

    def _tell(self, reading: Reading) -> None:
        """An Event for each version of an object that is not used as it stands."""
        wrong = {item.title: (item, reading.judged.problems.get(item.title, ())) for item in reading.objects}
        reported: dict[str, tuple[int, str]] = {}
        for title, (item, problems) in wrong.items():
            if problems:
                reported[title] = (item.generation, problems[0].message)
                if self._reported.get(title) != reported[title]:
                    note = f"{problems[0].place}: {problems[0].message}"
                    self._recorder.tell(
                        Happening(
                            subject=_subject(item), reason=problems[0].code, action="Judge", note=note, severity=Severity.WARNING
                        )
                    )
        self._reported = reported


def _of_policy(item: CustomObject, reading: Reading, plan: Plan | None, now: str) -> Status | None:
    in_force = f"{short_revision(reading.revision)} is in force" if reading.revision else "No policy is in force"
    refused = reading.refused
    if refused is None and plan is None:
        return None
    return status_of_policy(item, of_policy(in_force, refused), reading.revision, plan, now)


def status_of_policy(item: CustomObject, conditions: tuple[Condition, ...], revision: str, plan: Plan | None, now: str) -> Status:
    """What the policy's own object has, in addition to these conditions."""
    facts: dict[str, object] = {"revision": revision} if revision else {}
    beside: dict[str, object] = {}
    if plan is not None:
        facts |= {"summary": plan.summary, "planDigest": plan.digest, "groups": len(plan.groups)}
        facts["heldGroups"] = sum(line.held for line in plan.groups)
        beside["planTime"] = now
    return Status(observed_generation=item.generation, conditions=conditions, facts=facts, beside=beside)


def _awaits(item: CustomObject, reading: Reading) -> bool:
    """Whether it is of the policy that is missing, where none was ever in force."""
    if not reading.judged.missing or reading.revision:
        return False
    reference = item.spec.get("policyRef") if isinstance(item.spec, dict) else None
    name = reference.get("name") if isinstance(reference, dict) else None
    return reading.judged.missing_name == name


def _names(policy: CustomResourcePolicy) -> dict[str, str]:
    """Title of an object -> name of its group."""
    return {group.place.path: group.name for group in policy.current().groups} if policy.ready else {}


def _subject(item: CustomObject) -> Subject:
    return Subject(api_version=API_VERSION, kind=item.kind, name=item.name, namespace=item.namespace, uid=item.uid)


def status_of_group(
    item: CustomObject, conditions: tuple[Condition, ...], revision: str, plan: Plan | None, line: GroupLine | None
) -> Status:
    """What the object of a group has, in addition to these conditions."""
    beside = {"revision": revision, "planDigest": plan.digest if plan is not None else ""}
    given = {key: text for key, text in beside.items() if text}
    return Status(observed_generation=item.generation, conditions=conditions, facts=_facts(line), beside=given)


def _facts(line: GroupLine | None) -> dict[str, object]:
    if line is None:
        return {}
    facts: dict[str, object] = {
        "target": line.target, "tier": line.tier, "min": line.min, "max": line.max, "current": line.current,
        "desired": line.desired, "owner": line.owner.state.value,
    }  # fmt: skip
    if line.wanted is not None:
        facts["wanted"] = line.wanted
    if line.reasons:
        facts["reason"] = line.reasons[0].message
    return facts
