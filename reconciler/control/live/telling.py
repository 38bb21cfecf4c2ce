"""What an iteration of the live loop leaves for people: Events, the status of custom resources, the last plan with the memory."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.plan_record import PlanRecorder
from reconciler.control.live.week_record import WeekRecorder
from reconciler.control.policy.own_objects import OwnObjects
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.announcements import announcements
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.events import EventRecorder, Happening
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.collection import Served
from reconciler.plan.plan import Plan


class Telling:
    """Best effort: what cannot be told does not stop what is done. All of it is the plan's word on a group."""

    def __init__(
        self,
        workload: Api,
        management: Api,
        state: LockedState,
        objects: OwnObjects | None,
        *,
        identity: str,
        wall_seconds: Callable[[], float],
        lost: Callable[[str], None],
        news: Callable[[Sequence[Happening], int], None] = lambda _happenings, _at_seconds: None,
    ) -> None:
        """Events of pods go to `workload`, all others to `management`; `lost` is given why this process may not tell any more.
        `news` gets what happened, and when."""
        self._recorder = EventRecorder(management, identity, wall_seconds)
        self._pod_recorder = EventRecorder(workload, identity, wall_seconds)
        self._record = PlanRecorder(state)
        self._week = WeekRecorder(state)
        self._objects = objects
        self._lost = lost
        self._news = news
        self._before: Plan | None = None

    def began(self) -> None:
        """This process leads again: another one may have reported something else."""
        self._record.began()
        self._week.began()
        self._before = None

    def turned(self, report: LoopReport, world: World | None, served: tuple[Served, ...]) -> None:
        """One turn ended."""
        objects = self._objects.subjects(report.plan) if self._objects is not None else {}
        happenings = announcements(report, self._before, served, _targets(world), objects)
        if self._objects is not None:
            self._objects.turned(report)
        self._record.turned(report)
        self._week.turned(report, happenings)
        self._news(happenings, report.at_seconds)
        self._before = report.plan or self._before
        try:
            for happening in happenings:
                recorder = self._pod_recorder if happening.subject.kind == "Pod" else self._recorder
                recorder.tell(happening)
        except NotLeaderError as error:
            self._lost(str(error))

    def held_since(self) -> dict[str, int]:
        """Since when targets are held, as far as it was kept; Unix seconds."""
        return self._record.held_since()

    def flush(self) -> None:
        """Write the counts of Events and the figures of the last minutes. Only these are lost when another instance leads."""
        self._week.flush()
        with suppress(NotLeaderError):
            self._recorder.flush()
            self._pod_recorder.flush()


def _targets(world: World | None) -> dict[str, TargetRef]:
    return {str(facts.ref): facts.ref for facts in world.targets} if world is not None else {}
