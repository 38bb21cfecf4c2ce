"""The policy in force, followed from custom resources: the same promises as for a repository, object by object.

An invalid NodeGroup is held alone, an invalid or deleted NodeGroupPolicy leaves its last good version in force, and zero groups
where there were some are refused. What is in force is saved before it is used.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from reconciler.control.policy_source import NoPolicyError
from reconciler.gitops.fault import Fault, FaultCode, SourceError, failed
from reconciler.gitops.last_good import LastGood, LastGoodError, LastGoodStore
from reconciler.gitops.standing import SourceEvent, Standing, refused, succeeded
from reconciler.kube.custom_object import CustomObject
from reconciler.kube.custom_policy import Judged, judge
from reconciler.kube.custom_reader import CustomReader
from reconciler.kube.custom_text import CustomText
from reconciler.kube.in_force import InForce
from reconciler.policy.documents import PolicySet
from reconciler.rendering.wording import count

SOURCE = "custom resources"
PATIENCE_SECONDS = 5.0
"""A look waits so long for the first list of everything."""


class Objects(Protocol):
    """What is followed."""

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until everything was read once."""

    def doubt(self) -> str:
        """Why what is known may not be what is there; empty when it is."""

    def all(self) -> tuple[CustomObject, ...]:
        """Everything that is known, in a stable order."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was last judged: the objects as they were, and the errors of each that is not used as it stands, by its title.
    `revision` is in force since (empty: none is). `refused` is why the policy is not the newest there is, None when it is."""

    objects: tuple[CustomObject, ...] = ()
    judged: Judged = Judged(in_force=None)
    revision: str = ""
    refused: Fault | None = None


class CustomResourcePolicy:
    """Like `FollowedPolicy`, over objects on an API server. `current`, `standing` and `reading` may be read by any thread,
    `poll` is called by one at a time."""

    def __init__(
        self,
        objects: Objects,
        store: LastGoodStore,
        clock: Callable[[], int],
        *,
        name: str,
        allow_no_groups: bool = False,
        tell: Callable[[SourceEvent], None] | None = None,
    ) -> None:
        """`name` is the policy's, `clock` gives Unix time in whole seconds, `tell` is given what happens."""
        self._objects = objects
        self._store = store
        self._clock = clock
        self.name = name
        self._allow_no_groups = allow_no_groups
        self._tell = tell or (lambda _: None)
        self._loaded = False
        self._reader = CustomReader()
        self._texts: dict[str, tuple[tuple[object, ...], CustomText]] = {}
        self._in_force: InForce | None = None
        self._policy: PolicySet | None = None
        self._standing = Standing(source=SOURCE)
        self.reading = Reading()

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` until there is one."""
        if self._policy is None:
            fault = self._standing.fault
            raise NoPolicyError(fault.sentence if fault is not None else f"{SOURCE} were not read yet")
        return self._policy

    @property
    def ready(self) -> bool:
        """Whether there is a policy to decide by."""
        return self._policy is not None

    @property
    def standing(self) -> Standing:
        """How the source stands."""
        return self._standing

    def poll(self) -> bool:
        """Judge what is there now; whether another policy is in force. Never raises for what is there."""
        before, now = self._policy, self._clock()
        try:
            self._restore()
            self._objects.wait(PATIENCE_SECONDS)
            doubt = self._objects.doubt()
            if doubt:
                raise failed(FaultCode.UNREACHABLE, f"{SOURCE} cannot be read: {doubt}")
            self._judge(now)
            fault = self.reading.refused or _of_groups(self.reading)
            if fault is not None:
                raise SourceError(fault)
            self._stand(succeeded(self._standing, self.reading.revision, "", now))
        except SourceError as error:
            if self.reading.revision != self._standing.revision and self.reading.revision:
                self._stand(succeeded(self._standing, self.reading.revision, "", now))
            self._stand(refused(self._standing, error.fault, now))
        except Exception as error:
            # The thread that follows must outlive a defect: it is told like any other fault, and tried again.
            fault = Fault(code=FaultCode.UNREACHABLE, message=f"{SOURCE} could not be judged: {type(error).__name__}: {error}")
            self._stand(refused(self._standing, fault, now))
        return self._policy is not before

    def _judge(self, now_seconds: int) -> None:
        objects = self._objects.all()
        said = tuple(item.says() for item in objects)
        if said == tuple(item.says() for item in self.reading.objects) and self.reading.judged.in_force is not None:
            return
        known = self._texts
        self._texts = {
            item.title: known[item.title]
            if item.title in known and known[item.title][0] == item.says()
            else (item.says(), CustomText.of(item))
            for item in objects
        }
        texts = tuple(text for _, text in self._texts.values())
        judged = judge(texts, self.name, now_seconds, self._in_force, self._reader)
        fault = self._refusal(judged)
        found = judged.in_force
        if found is not None and (fault is None or fault.code is not FaultCode.NO_GROUPS) and found != self._in_force:
            self._take(found, now_seconds)
        revision = self._in_force.revision if self._in_force is not None else ""
        self.reading = Reading(objects=objects, judged=judged, revision=revision, refused=fault)

    def _take(self, found: InForce, now_seconds: int) -> None:
        policy = found.policy_set(self._reader)
        if policy is None:
            raise failed(FaultCode.INVALID_POLICY, f"{found.policy.name} cannot be read")
        kept = LastGood(source=SOURCE, revision=found.revision, root="", files=found.files(), read_seconds=now_seconds)
        try:
            self._store.save(kept)
        except LastGoodError as error:
            # Another instance may have led and saved meanwhile: the next look begins with what is there.
            self._loaded = False
            message = f"the new policy cannot be saved, so it is not used: {error}"
            raise SourceError(Fault(code=FaultCode.NOT_SAVED, message=message, revision=found.revision)) from None
        self._in_force, self._policy = found, policy

    def _refusal(self, judged: Judged) -> Fault | None:
        """Why the policy itself is not the newest that is there."""
        before, found = self._policy, judged.in_force
        if judged.missing:
            hint = "apply it, or choose another one with --name"
            return Fault(code=FaultCode.NO_POLICY, message=judged.missing, hint=hint)
        if judged.policy_problems:
            message = f"NodeGroupPolicy {self.name} has {count(len(judged.policy_problems), 'error')}"
            return Fault(code=FaultCode.INVALID_POLICY, message=message, problems=judged.policy_problems)
        if self._allow_no_groups or found is None or before is None or found.groups:
            return None
        policy = found.policy_set(self._reader)
        if policy is None or policy.policy.discovery or not (before.groups or before.policy.discovery):
            return None
        return Fault(
            code=FaultCode.NO_GROUPS,
            message=f"there is no NodeGroup and no discovery left, where there were {count(len(before.groups), 'NodeGroup')}",
            hint="if all groups are to be released, allow it with --allow-no-groups",
        )

    def _restore(self) -> None:
        """Once, and again where saving failed: what was in force before."""
        if self._loaded:
            return
        first = self._policy is None
        try:
            kept = self._store.load()
            if kept is not None and kept.source == SOURCE:
                self._in_force = InForce.from_files(kept.files)
                self._policy = self._in_force.policy_set(self._reader)
                if first:
                    self._standing = Standing(source=SOURCE, revision=kept.revision, success_seconds=kept.read_seconds)
                self.reading = Reading(revision=kept.revision)
        except (LastGoodError, ValueError) as error:
            if isinstance(error, LastGoodError) and not error.damaged:
                raise failed(FaultCode.NOT_SAVED, f"what was in force before cannot be read: {error}") from None
            self._tell(SourceEvent(type="Warning", reason="LastGoodDamaged", message=f"{error}: the source is read afresh"))
        self._loaded = True

    def _stand(self, change: tuple[Standing, tuple[SourceEvent, ...]]) -> None:
        self._standing, events = change
        for event in events:
            self._tell(event)


def _of_groups(reading: Reading) -> Fault | None:
    """The groups that are held because they are invalid; the others are in force as they stand."""
    wrong = {title: problems for title, problems in reading.judged.problems.items() if title.startswith("NodeGroup ")}
    if not wrong:
        return None
    message = f"{count(len(wrong), 'NodeGroup')} with errors"
    problems = tuple(problem for title in sorted(wrong) for problem in wrong[title])
    versions = sorted(f"{item.title}@{item.generation}" for item in reading.objects if item.title in wrong)
    return Fault(code=FaultCode.INVALID_POLICY, message=message, revision=", ".join(versions), problems=problems)
