"""The page that an operator keeps open (`/`), and the last plan as a report that stands still (`/report`)."""

import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.defects import judged
from reconciler.cluster.world import World
from reconciler.control.pages.outlook import Outlook
from reconciler.control.pages.route import HTML, Answer, Request, Route
from reconciler.control.turn.figures import Figures, Seen
from reconciler.control.turn.turn_report import Decided
from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode, upcoming_nodes
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.picture import Picture, Pictures, picture
from reconciler.plan.plan import Plan
from reconciler.rendering.printers.html.live import LiveState, live_html
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.values.instant import instant_text

PATH, REPORT = "/", "/report"
LEAST_PERIOD_SECONDS, MOST_PERIOD_SECONDS = 2, 60
_NO_PLAN = 503
Last = Callable[[], tuple[Plan, Decided] | None]


class _Looked(msgspec.Struct, frozen=True):
    """What one plan's view says beyond the plan, worked out once for all who look."""

    plan: Plan
    picture: Picture
    upcoming: tuple[UpcomingNode, ...]


class LivePage:
    """Used by the threads of the server. `last` is the last plan with what it was decided from. `leader` states who leads, in a
    sentence; `view_problem` why the view cannot be trusted now (empty: it can). `held_since` is what was kept of holds, by target
    in Unix seconds. They may be older than this process."""

    def __init__(
        self,
        figures: Figures,
        last: Last,
        now_seconds: Callable[[], int],
        *,
        leader: Callable[[], str],
        view_problem: Callable[[], str] = lambda: "",
        held_since: Callable[[], Mapping[str, int]] = dict,
        period_seconds: float = 10,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._figures = figures
        self._last = last
        self._now = now_seconds
        self._leader = leader
        self._view_problem = view_problem
        self._held_since = held_since
        self._turn_seconds = max(1, round(period_seconds))
        self._period = int(min(max(period_seconds, LEAST_PERIOD_SECONDS), MOST_PERIOD_SECONDS))
        self._outlook = Outlook(monotonic)
        self._lock = threading.Lock()
        self._looked: _Looked | None = None

    def routes(self) -> tuple[Route, ...]:
        """Both show objects of the cluster."""
        return (
            Route(method="GET", path=PATH, answer=self._page, details=True),
            Route(method="GET", path=REPORT, answer=self._report, details=True),
        )

    def _page(self, _: Request) -> Answer:
        seen, last = self._figures.seen(), self._last()
        state = LiveState(
            now_seconds=self._now(), period_seconds=self._period, leader=self._leader(), doubts=self._doubts(seen),
            decisions=seen.decisions,
        )  # fmt: skip
        if last is None or not seen.leader:
            # An earlier plan of a process that leads no more would be taken for what is done.
            return Answer(status=_NO_PLAN, content_type=HTML, body=live_html(state).encode())
        plan, decided = last
        looked = self._look(plan, decided)
        state = msgspec.structs.replace(
            state, plan=plan, plan_seconds=decided.now_seconds, picture=looked.picture, upcoming=looked.upcoming,
            rest=self._outlook.of(plan, decided), turn_seconds=self._turn_seconds, samples=seen.samples,
            held_since={**seen.held_since, **self._held_since()},
            backoffs={name: state.until_seconds for name, state in decided.memory.backoffs.items()},
        )  # fmt: skip
        return Answer(content_type=HTML, body=live_html(state).encode())

    def _report(self, _: Request) -> Answer:
        last = self._last()
        if last is None:
            return Answer(status=_NO_PLAN, body=b"no plan yet: / says why\n")
        plan, decided = last
        return Answer(content_type=HTML, body=plan_html(plan, Pictures(now=self._look(plan, decided).picture)).encode())

    def _doubts(self, seen: Seen) -> tuple[str, ...]:
        sentences = []
        if problem := self._view_problem():
            sentences.append(f"No view to trust: {problem}.")
        if seen.leader and seen.unavailable and seen.unavailable != problem:
            sentences.append(f"The last turn, at {instant_text(seen.turned_seconds)}, decided nothing: {seen.unavailable}.")
        elif seen.leader and not seen.turned_seconds:
            sentences.append("The first turn has not ended.")
        if seen.policy_problem:
            sentences.append(f"A newer policy is refused, the last good one is in force: {seen.policy_problem}.")
        return tuple(sentences)

    def _look(self, plan: Plan, decided: Decided) -> _Looked:
        with self._lock:
            if self._looked is None or self._looked.plan is not plan:

                def looked(world: World) -> _Looked:
                    view = View.of(world, decided.policy, decided.memory, decided.now_seconds, Work(0))
                    return _Looked(plan, picture(world, plan.groups, plan.nodes), upcoming_nodes(view))

                self._looked = judged(decided.world, looked, decided.memory.defects)
            return self._looked


def waiting_route(why: Callable[[], str], now_seconds: Callable[[], int]) -> Route:
    """The page of a loop without a policy: it says why there is none, and becomes the other one by itself."""

    def answer(_: Request) -> Answer:
        state = LiveState(
            now_seconds=now_seconds(), period_seconds=LEAST_PERIOD_SECONDS, leader="nothing is decided",
            doubts=(f"Nothing is decided: {why()}",),
        )  # fmt: skip
        return Answer(status=_NO_PLAN, content_type=HTML, body=live_html(state).encode())

    return Route(method="GET", path=PATH, answer=answer, details=True)
