"""The last days of a loop, stored with its memory, for `reconciler report`."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from reconciler.control.live.ended_waits import ended_waits
from reconciler.control.live.live_memory_store import State
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.kube.leading.events import Happening, Severity
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.plan.plan import ActionKind, Plan
from reconciler.plan.week import NOBODY, News, Week, with_news, with_plan
from reconciler.providers.contract import RemovalState
from reconciler.values.decoding import decode

PART = "week"
SAVE_SECONDS = 600
"""A loop that is killed loses at most this much of its record."""
LONGEST_GAP_SECONDS = 300
"""A longer time between two decisions counts as not decided."""


class WeekRecorder:
    """Written best effort, by the leader. A record that cannot be read begins again."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._week: Week | None = None
        self._before: Plan | None = None
        self._decided_seconds = 0
        self._saved_seconds = 0

    def turned(self, report: LoopReport, happenings: Sequence[Happening]) -> None:
        """Add one iteration. Never raises for what a server does."""
        plan = report.plan
        if plan is None:
            self._decided_seconds = 0
            return
        if self._week is None:
            try:
                self._week = week_in(self._state) or Week()
            except StateUnavailableError:
                return
            self._saved_seconds = report.at_seconds
        elapsed = report.at_seconds - self._decided_seconds
        known = 0 <= elapsed <= LONGEST_GAP_SECONDS
        waits, never = NOBODY, 0
        if known and self._before is not None and report.decided is not None:
            waits, never = ended_waits(self._before, plan, report.decided.world, self._decided_seconds, report.at_seconds)
        ended = Counter(removal.state for removal in report.removals)
        week = with_plan(
            self._week,
            plan,
            report.at_seconds,
            elapsed if known else 0,
            before=self._before,
            added=sum(
                max(0, result.action.to - result.action.from_)
                for result in report.results
                if result.state is ResultState.DONE and result.action.kind in (ActionKind.RESIZE, ActionKind.REPLACE)
            ),
            removed=ended[RemovalState.FINISHED],
            failed_removals=ended[RemovalState.FAILED],
            waits=waits,
            pods_never_placed=never,
        )
        self._decided_seconds, self._before = report.at_seconds, plan
        self._week = with_news(week, [_news(one, report.at_seconds) for one in happenings if one.subject.kind != "Pod"])
        if report.at_seconds - self._saved_seconds >= SAVE_SECONDS:
            self.flush()
            self._saved_seconds = report.at_seconds

    def began(self) -> None:
        """Another instance may have written."""
        self._week = None
        self._decided_seconds = 0

    def flush(self) -> None:
        """Save what is not saved yet. Never raises for what a server does."""
        if self._week is None:
            return
        try:
            # The version that is written under is that of the last read.
            self._state.load(PART)
            self._state.save(PART, msgspec.json.encode(self._week))
        except (StateUnavailableError, NotLeaderError):
            return


def week_in(state: State) -> Week | None:
    """What was last kept; None if nothing was, or nothing that can be read. Raises `StateUnavailableError`."""
    content = state.load(PART)
    if content is None:
        return None
    try:
        return decode(content, Week)
    except msgspec.MsgspecError:
        return None


def _news(happening: Happening, at_seconds: int) -> News:
    return News(
        at_seconds=at_seconds,
        last_seconds=at_seconds,
        subject=happening.subject.name,
        code=happening.reason,
        words=happening.note,
        warning=happening.severity is Severity.WARNING,
    )
