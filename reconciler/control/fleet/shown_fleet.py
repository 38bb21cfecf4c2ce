"""What the pages of a fleet show: the clusters as this instance knows them, and the loops that run here."""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.control.fleet.fleet_process import ClusterStanding, FleetProcess
from reconciler.control.fleet.member import Member, MemberState
from reconciler.control.live.fleet_report import with_decision, with_record
from reconciler.control.live.live_process import LiveProcess
from reconciler.control.pages.fleet_pages import ShownLoop
from reconciler.control.pages.pages import STUCK_SECONDS
from reconciler.control.pages.route import Route
from reconciler.control.turn.figures import Figures
from reconciler.rendering.documents.fleet.status import ClusterStatus, FleetStatusDocument, fleet_status
from reconciler.values.instant import instant_text


class FleetShown:
    """A `ShownFleet`. `pages` makes those of a process. Used by the threads of the server."""

    def __init__(
        self, fleet: FleetProcess, pages: Callable[[LiveProcess], tuple[Route, ...]], now_seconds: Callable[[], int]
    ) -> None:
        self._fleet = fleet
        self._pages = pages
        self._now_seconds = now_seconds
        self._made: dict[int, tuple[LiveProcess, tuple[Route, ...]]] = {}

    def status(self) -> FleetStatusDocument:  # noqa: D102 - as the protocol says
        return fleet_status(
            (self._line(one) for one in self._fleet.standings()),
            namespace=self._fleet.settings.namespace, now=instant_text(self._now_seconds()),
            instances=self._fleet.instances(), problem=self._fleet.problem,
        )  # fmt: skip

    def loops(self) -> Mapping[tuple[str, str], ShownLoop]:  # noqa: D102 - as the protocol says
        shown = {}
        made: dict[int, tuple[LiveProcess, tuple[Route, ...]]] = {}
        for member in self._fleet.members():
            process = member.process
            key = member.name.title, member.name.policy
            if process is None:
                shown[key] = ShownLoop(figures=Figures(), pages=())
                continue
            # The pages of a process keep what they worked out for the next who looks.
            made[id(process)] = self._made.get(id(process)) or (process, self._pages(process))
            shown[key] = ShownLoop(figures=process.figures, pages=made[id(process)][1], stuck_seconds=member.stuck_seconds())
        self._made = made
        return shown

    def stuck(self) -> str:  # noqa: D102 - as the protocol says
        silent = self._fleet.silent_seconds()
        if silent > STUCK_SECONDS:
            return f"nobody has looked at the fleet for {silent:.0f} s"
        stuck = [member for member in self._fleet.members() if member.stuck_seconds()]
        # Others take the loop of a cluster that is stuck here, once its Lease has run out.
        if stuck and len(self._fleet.instances()) < 2:
            return f"the loop of {stuck[0].name.title} has not turned for {stuck[0].stuck_seconds()} s"
        return ""

    def unready(self) -> str:  # noqa: D102 - as the protocol says
        return self._fleet.problem

    def _line(self, one: ClusterStanding) -> ClusterStatus:
        policy = one.loop.policy if one.loop is not None else ""
        known = with_record(
            ClusterStatus(
                cluster=one.cluster.title, policy=policy, holder=one.holder, problem=one.problem, wave=one.cluster.wave
            ),
            one.record,
        )
        return with_decision(known if one.member is None else _here(known, one.member), one.decision)


def _here(known: ClusterStatus, member: Member) -> ClusterStatus:
    process = member.process
    seen = process.figures.seen() if process is not None else Figures().seen()
    problem = known.problem or seen.unavailable or ("" if known.stopped else seen.policy_problem)
    if member.state is MemberState.CONNECTING:
        problem = problem or "the cluster is being connected to"
    plan = seen.plan
    return msgspec.structs.replace(
        known, here=True, problem=problem,
        plan=plan.summary if plan is not None else "", plan_at=instant_text(seen.plan_seconds) if plan is not None else "",
        nodes=len(plan.nodes) if plan is not None else None, pending=len(plan.pods) if plan is not None else None,
        held=sum(line.held for line in plan.groups) if plan is not None else None,
    )  # fmt: skip
