"""The policy in force, followed from custom resources: the same promises as for a repository, object by object.

An invalid NodeGroup is held alone. If a NodeGroupPolicy is invalid or deleted, its last good version stays in force. Zero groups
where there were some are refused. What is in force is saved before it is used.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from reconciler.control.policy.policy_in_force import PolicyInForce
from reconciler.gitops.git.fault import Fault, FaultCode, SourceError, failed
from reconciler.gitops.sources.last_good import LastGood, LastGoodStore
from reconciler.gitops.sources.standing import SourceEvent
from reconciler.kube.custom.custom_in_force import InForce
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.custom_policy import Judged, judge
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.documents import PolicySet
from reconciler.rendering.words.wording import count

SOURCE = "custom resources"
PATIENCE_SECONDS = 5.0
"""A look waits so long for the first list of everything."""
QUIET_SECONDS, LONGEST_PRUNE_SECONDS = 2.0, 30.0
"""Deleted groups are judged once none has been deleted for this long. Groups that are pruned together are deleted one by one.
Without the wait, all but the last would be released before the loop sees that none is left."""

MOST_REFUSED_SHOWN = 20
"""So many NodeGroups that the policy does not take are named in a plan; each of them says it of itself."""


class Objects(Protocol):
    """What is followed."""

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until everything was read once."""

    def settle(self, quiet_seconds: float, most_seconds: float) -> None:
        """Wait until nothing has changed for so long, and no longer than that."""

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


class CustomResourcePolicy(PolicyInForce):
    """Like `FollowedPolicy`, over objects on an API server. `reading` may be read by any thread."""

    def __init__(
        self,
        objects: Objects,
        store: LastGoodStore,
        clock: Callable[[], int],
        *,
        name: str,
        own_namespace: str,
        allow_no_groups: bool,
        tell: Callable[[SourceEvent], None] | None = None,
    ) -> None:
        """`name` is the policy's, `own_namespace` that in which this runs: whose NodeGroups are taken when the policy names none.
        `clock` gives Unix time in whole seconds, `tell` is given what happens."""
        super().__init__(SOURCE, store, clock, tell)
        self._objects = objects
        self.name = name
        self._own_namespace = own_namespace
        self._allow_no_groups = allow_no_groups
        self._reader = CustomReader()
        self._texts: dict[str, tuple[tuple[object, ...], CustomText]] = {}
        self._in_force: InForce | None = None
        self.reading = Reading()

    def _look(self, now_seconds: int) -> tuple[str, str]:
        self._objects.wait(PATIENCE_SECONDS)
        if self._groups_go():
            self._objects.settle(QUIET_SECONDS, LONGEST_PRUNE_SECONDS)
        doubt = self._objects.doubt()
        if doubt:
            raise failed(FaultCode.UNREACHABLE, f"{SOURCE} cannot be read: {doubt}")
        self._judge(now_seconds)
        fault = self.reading.refused or _of_groups(self.reading)
        if fault is not None:
            raise SourceError(fault)
        return self.revision, ""

    def _read_again(self, kept: LastGood) -> PolicySet | None:
        if kept.source != SOURCE:
            return None
        in_force = InForce.from_files(kept.files)
        policy = in_force.policy_set(self._reader)
        if policy is None:
            raise ValueError(f"{in_force.policy.name} cannot be read")
        self._in_force = in_force
        self.reading = Reading(revision=kept.revision)
        return policy

    def _groups_go(self) -> bool:
        """Whether groups that are in force are missing that were there at the last look (or at the end of another process)."""
        in_force = {text.name for text in self._in_force.groups} if self._in_force is not None else set()
        there = {item.title for item in self._objects.all()}
        known = {item.title for item in self.reading.objects} or in_force
        return bool(in_force & known - there)

    def _judge(self, now_seconds: int) -> None:
        objects = self._objects.all()
        contents = tuple(item.says() for item in objects)
        if contents == tuple(item.says() for item in self.reading.objects) and self.reading.judged.in_force is not None:
            return
        known = self._texts
        self._texts = {
            item.title: known[item.title]
            if item.title in known and known[item.title][0] == item.says()
            else (item.says(), CustomText.of(item))
            for item in objects
        }
        texts = tuple(text for _, text in self._texts.values())
        judged = judge(texts, self.name, now_seconds, self._in_force, self._reader, self._own_namespace)
        fault = self._refusal(judged)
        in_force = judged.in_force
        if in_force is not None and fault is not None and fault.code is FaultCode.NO_GROUPS:
            in_force = self._for_kept(in_force)
        if in_force is not None and in_force != self._in_force:
            self._bring(in_force, now_seconds)
        self.reading = Reading(objects=objects, judged=judged, revision=self.revision, refused=fault)
        refused = judged.refused[:MOST_REFUSED_SHOWN]
        if self._policy is not None and self._policy.refused != refused:
            self._policy = msgspec.structs.replace(self._policy, refused=refused)

    def _for_kept(self, newest: InForce) -> InForce | None:
        """The newest policy for the groups that were the last: who deletes these keeps nothing back that the policy tightens.
        None where it would give up targets that are discovered."""
        before, policy = self._in_force, self._reader.policy(newest.policy).document
        known = self._reader.policy(before.policy).document if before is not None else None
        if before is None or known is None or policy is None or policy.discovery != known.discovery:
            return None
        return msgspec.structs.replace(before, policy=newest.policy)

    def _bring(self, in_force: InForce, now_seconds: int) -> None:
        policy = in_force.policy_set(self._reader)
        if policy is None:
            raise failed(FaultCode.INVALID_POLICY, f"{in_force.policy.name} cannot be read")
        kept = LastGood(source=SOURCE, revision=in_force.revision, root="", files=in_force.files(), read_seconds=now_seconds)
        self._take(policy, kept)
        self._in_force = in_force

    def _refusal(self, judged: Judged) -> Fault | None:
        """Why the policy itself is not the newest that is there."""
        before, in_force = self._policy, judged.in_force
        if judged.missing:
            hint = "apply it, or choose another one with --name"
            return Fault(code=FaultCode.NO_POLICY, message=judged.missing, hint=hint)
        if judged.policy_problems:
            message = f"NodeGroupPolicy {self.name} has {count(len(judged.policy_problems), 'error')}"
            return Fault(code=FaultCode.INVALID_POLICY, message=message, problems=judged.policy_problems)
        if self._allow_no_groups or in_force is None or before is None or in_force.groups:
            return None
        policy = in_force.policy_set(self._reader)
        if policy is None or policy.policy.discovery or not (before.groups or before.policy.discovery):
            return None
        return Fault(
            code=FaultCode.NO_GROUPS,
            message=f"no NodeGroup and no discovery is left. Before, there were {count(len(before.groups), 'NodeGroup')}",
            hint="if all groups are to be released, allow it with --allow-no-groups",
        )


def _of_groups(reading: Reading) -> Fault | None:
    """The groups that are held because they are invalid; the others are in force as they are. Those that the policy does not take
    are not its fault: otherwise anyone who may write one somewhere could make it look broken."""
    refused = {entry.title for entry in reading.judged.refused}
    problems_of = reading.judged.problems.items()
    wrong = {title: errors for title, errors in problems_of if title.startswith("NodeGroup ") and title not in refused}
    if not wrong:
        return None
    message = f"{count(len(wrong), 'NodeGroup')} with errors"
    problems = tuple(problem for title in sorted(wrong) for problem in wrong[title])
    versions = sorted(f"{item.title}@{item.generation}" for item in reading.objects if item.title in wrong)
    return Fault(code=FaultCode.INVALID_POLICY, message=message, revision=", ".join(versions), problems=problems)
