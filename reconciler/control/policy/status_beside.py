"""Status of NodeGroups and their policy that are applied in a cluster whose loop follows another source, such as git.

The loop does not use these objects for decisions, but the person who applies them still waits for their status. If an object
agrees with the policy in force, its status shows what the loop does for the group of the same name. Otherwise the status says
that the object is not in force yet, and what is.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import msgspec

from reconciler.control.policy.custom_status import status_of_group, status_of_policy
from reconciler.control.policy.plan_conditions import of_group, of_invalid, of_policy, of_waiting
from reconciler.control.turn.turn_report import LoopReport
from reconciler.gitops.sources.acceptance import short_revision
from reconciler.gitops.sources.standing import Standing
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText, placed
from reconciler.kube.custom.status import Status, StatusWriter
from reconciler.kube.leading.events import Subject
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import GroupLine, Plan
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.problems.problem import Problem
from reconciler.values.instant import instant_text

_OTHERWISE, _MISSING = "FollowsAnotherSource", "NotInForce"
_D = TypeVar("_D", NodeGroup, NodeGroupPolicy)


class Objects(Protocol):
    """What is applied in the cluster."""

    def start(self) -> None:
        """Follow from now on; a second call changes nothing."""

    def doubt(self) -> str:
        """Why what is known may not be what is there; empty when it is."""

    def all(self) -> tuple[CustomObject, ...]:
        """Everything that is known, in a stable order."""


class FollowedPolicy(Protocol):
    """The policy that the loop follows."""

    def current(self) -> PolicySet:
        """The policy in force. Raises unless `missing` is empty."""

    def missing(self) -> str:
        """Why there is none; empty when there is."""

    @property
    def standing(self) -> Standing:
        """How its source stands."""


class StatusBeside:
    """Told after each turn, by the loop's thread. Where the definitions are not served, or may not be read, it says nothing."""

    def __init__(
        self,
        objects: Objects,
        followed: Callable[[], FollowedPolicy],
        writer: StatusWriter,
        *,
        name: str,
        clock: Callable[[], int],
        leads: Callable[[], bool],
    ) -> None:
        """`name` is the policy's; `leads` says whether this process may write."""
        self._objects = objects
        self._followed = followed
        self._writer = writer
        self._name = name
        self._clock = clock
        self._leads = leads
        self._reader = CustomReader()

    def subjects(self, plan: Plan | None) -> Mapping[str, Subject]:
        """Events stay on the targets: these objects decide nothing."""
        return {}

    def turned(self, report: LoopReport) -> None:
        """After a turn. Never raises for what a server does."""
        followed = self._followed()
        if report.plan is None or not self._leads() or followed.missing():
            return
        self._objects.start()
        if self._objects.doubt():
            return
        now = instant_text(self._clock())
        observed = frozenset(result.action.group for result in report.results if result.code == "Observe")
        try:
            self._writer.round(tuple(self._wanted(report.plan, followed, observed, now)), now)
        except NotLeaderError:
            # The next leader writes what it finds to differ.
            return

    def _wanted(
        self, plan: Plan, followed: FollowedPolicy, observed: frozenset[str], now: str
    ) -> Iterator[tuple[CustomObject, Status]]:
        policy, standing = followed.current(), followed.standing
        in_force = f"{short_revision(standing.revision)} of {standing.source}"
        groups = {(group.namespace, group.name): group for group in policy.groups}
        lines = {line.name: line for line in plan.groups}
        kept = []
        for item in self._objects.all():
            text = CustomText.of(item)
            kept.append(text)
            if item.kind == "NodeGroupPolicy" and item.name == self._name:
                yield item, self._of_policy(item, text, policy.policy, standing, plan, now)
            elif item.kind == "NodeGroup" and text.policy_ref == self._name:
                group = groups.get((item.namespace, item.name)) or groups.get(("", item.name))
                line = lines.get(group.name) if group is not None else None
                yield item, self._of_group(item, text, group, line, plan, in_force, standing.revision, observed)
        self._reader.keep(kept)

    def _of_policy(
        self, item: CustomObject, text: CustomText, policy: NodeGroupPolicy, standing: Standing, plan: Plan, now: str
    ) -> Status:
        read = self._reader.policy(text)
        in_force = f"{short_revision(standing.revision)} of {standing.source} is in force"
        if read.errors:
            conditions = of_invalid(_placed(read.errors, text), in_force, held=False)[:-1]
        elif standing.fault is None and not _same(read.document, policy):
            conditions = of_waiting(_OTHERWISE, f"{in_force}, and says something else than this object")[:-1]
        else:
            conditions = of_policy(in_force, standing.fault)
        return status_of_policy(item, conditions, standing.revision, plan, now)

    def _of_group(
        self,
        item: CustomObject,
        text: CustomText,
        group: NodeGroup | None,
        line: GroupLine | None,
        plan: Plan,
        in_force: str,
        revision: str,
        observed: frozenset[str],
    ) -> Status:
        read = self._reader.group(text)
        if read.errors:
            kept = f"{in_force} is in force, which this object does not change"
            conditions = of_invalid(_placed(read.errors, text), kept, held=False)
        elif group is None or line is None:
            conditions = of_waiting(_MISSING, f"{in_force} is in force, and does not have this group")
        elif not _same(read.document, group):
            conditions = of_waiting(_OTHERWISE, f"{in_force} is in force, and says something else of this group than this object")
        else:
            conditions = of_group(line, observed=line.name in observed)
        return status_of_group(item, conditions, revision, plan, line)


def _placed(problems: tuple[Problem, ...], text: CustomText) -> tuple[Problem, ...]:
    return tuple(placed(problem, {text.name: text}) for problem in problems)


def _same(one: _D | None, other: _D) -> bool:
    """Whether an object has the values of a document, wherever they were written. Who applies it may add labels, and gives it a
    namespace where the document names none."""
    if one is None or not set(other.labels) <= set(one.labels):
        return False
    left_out = {"place", "places", "labels"} | ({"namespace"} if not getattr(other, "namespace", "") else set())
    return _bare(one, left_out) == _bare(other, left_out)


def _bare(document: NodeGroup | NodeGroupPolicy, left_out: set[str]) -> dict[str, object]:
    return {key: value for key, value in msgspec.structs.asdict(document).items() if key not in left_out}
