"""What the live loop has done and seen, counted: the one place that metrics, readiness and the status page read."""

import threading
from collections import Counter
from collections.abc import Mapping

import msgspec

from reconciler.control.turn.decision_history import History
from reconciler.control.turn.recent_hours import Recent
from reconciler.control.turn.turn_report import Decided, LoopReport, ResultState
from reconciler.decisions.situation.lead_times import LearnedLeadTime, learned
from reconciler.plan.decided import Decision
from reconciler.plan.plan import ActionKind, Plan
from reconciler.providers.contract import RemovalState
from reconciler.rendering.printers.html.recent import Sample


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The state after the last iteration. Times are Unix seconds, 0: never. `plan` is the last one that was decided, whenever
    that was. `unavailable` states why the last iteration decided nothing, `policy_awaited` which first policy is not there yet.
    `decisions` are the last ones of this process, oldest first, `samples` its last six hours. `held_since` says, by target, since
    when it has seen a group held. `lead_times` are those that were learned, by group. `policy_waits` says for which wave of a
    fleet a newer policy waits."""

    plan: Plan | None = None
    plan_seconds: int = 0
    turned_seconds: int = 0
    unavailable: str = ""
    leader: bool = False
    view_age_seconds: float = 0.0
    policy_revision: str = ""
    policy_problem: str = ""
    policy_awaited: str = ""
    policy_waits: str = ""
    turns: tuple[tuple[str, int], ...] = ()
    actions: tuple[tuple[str, str, int], ...] = ()
    added_nodes: int = 0
    removed_nodes: int = 0
    failed_removals: int = 0
    failed_pages: tuple[tuple[str, int], ...] = ()
    turn_seconds_sum: float = 0.0
    turn_seconds: tuple[tuple[float, int], ...] = ()
    decisions: tuple[Decision, ...] = ()
    samples: tuple[Sample, ...] = ()
    held_since: Mapping[str, int] = {}
    lead_times: tuple[tuple[str, LearnedLeadTime], ...] = ()


def _lead_times(plan: Plan, decided: Decided) -> tuple[tuple[str, LearnedLeadTime], ...]:
    known = ((line.name, learned(decided.memory.lead_times.get(line.target))) for line in plan.groups)
    return tuple((name, times) for name, times in known if times is not None)


BUCKETS_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Figures:
    """Written by the loop's thread, read by those of the HTTP server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = Seen()
        self._turns: Counter[str] = Counter()
        self._actions: Counter[tuple[str, str]] = Counter()
        self._durations: Counter[float] = Counter()
        self._failed_pages: Counter[str] = Counter()
        self._history = History()
        self._recent = Recent()

    def seen(self) -> Seen:
        """The state now: one value, never half of a turn."""
        with self._lock:
            return self._seen

    def leads(self, *, leader: bool) -> None:
        """Whether this process may write."""
        with self._lock:
            held = self._seen.held_since if leader else {}
            self._seen = msgspec.structs.replace(self._seen, leader=leader, held_since=held)

    def policy(self, revision: str, problem: str = "", *, awaited: str = "", waits: str = "") -> None:
        """The revision in force, and what is wrong with a newer one. `awaited`: none ever was, and nothing is wrong but that.
        `waits`: other clusters of the fleet take the newer one first."""
        with self._lock:
            self._seen = msgspec.structs.replace(
                self._seen,
                policy_revision=revision,
                policy_problem="" if awaited else problem,
                policy_awaited=awaited,
                policy_waits=waits,
            )

    def page_failed(self, path: str) -> None:
        """A page of this path could not be made."""
        with self._lock:
            self._failed_pages[path] += 1
            self._seen = msgspec.structs.replace(self._seen, failed_pages=tuple(sorted(self._failed_pages.items())))

    def turned(self, report: LoopReport, took_seconds: float, view_age_seconds: float) -> None:
        """One turn ended."""
        with self._lock:
            before = self._seen
            self._turns["Unavailable" if report.unavailable else "Decided"] += 1
            for bound in BUCKETS_SECONDS:
                self._durations[bound] += took_seconds <= bound
            added = 0
            for result in report.results:
                word = str(result.state) if not result.code else f"{result.state}/{result.code}"
                self._actions[str(result.action.kind), word] += 1
                if result.state is ResultState.DONE and result.action.kind is ActionKind.RESIZE:
                    added += max(0, result.action.to - result.action.from_)
            self._history.turned(report)
            held = before.held_since
            if report.plan is not None:
                self._recent.decided(report.plan, report.at_seconds)
                held = {line.target: held.get(line.target, report.at_seconds) for line in report.plan.groups if line.held}
            times = (
                before.lead_times if report.plan is None or report.decided is None else _lead_times(report.plan, report.decided)
            )
            ended = Counter(removal.state for removal in report.removals)
            self._seen = msgspec.structs.replace(
                before,
                plan=report.plan or before.plan,
                lead_times=times,
                plan_seconds=report.at_seconds if report.plan is not None else before.plan_seconds,
                turned_seconds=report.at_seconds,
                unavailable=report.unavailable,
                view_age_seconds=view_age_seconds,
                turns=tuple(sorted(self._turns.items())),
                actions=tuple(sorted((kind, word, count) for (kind, word), count in self._actions.items())),
                added_nodes=before.added_nodes + added,
                removed_nodes=before.removed_nodes + ended[RemovalState.FINISHED],
                failed_removals=before.failed_removals + ended[RemovalState.FAILED],
                turn_seconds_sum=before.turn_seconds_sum + took_seconds,
                turn_seconds=tuple((bound, self._durations[bound]) for bound in BUCKETS_SECONDS),
                decisions=self._history.entries(),
                samples=self._recent.entries(),
                held_since=held,
            )
