"""The live loop: it wakes, and where it leads and has a policy it turns; else it stands by with its view in sync."""

import gc
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from reconciler.control.live.turn_lines import SECONDS, NewLines, result_lines
from reconciler.control.live.wake import Wake, WakeReason
from reconciler.control.log import Log
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.decisions.reasons.pods import Arriving
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import ActionKind, Plan
from reconciler.simulation.timers import gathered_seconds, next_timer_seconds

_ADOPTED_SECONDS = 0.25
"""So soon the number of a group follows that was just taken over: time for the view to show that it is ours."""
_BEGUN_SECONDS = 0.5
"""Delay before the first step of a removal. The scheduler needs it to see the taint and to bind what it had placed before; then
the loop looks for pods. A pod that comes even later is evicted by the platform, as its budget allows."""
_GATHERED_SECONDS = 5
"""How long the first nodes that may be removed wait for those that follow: a hundred pods of one Deployment end within four. All
of them are removed in one write. With several batches, each would wait for its marks while the platform deletes the machines of
the one before it."""

_BINDING = re.compile(r"\d+ pods? fits? ")


class Loop(Protocol):
    """What turns."""

    def turn(self) -> LoopReport:
        """One turn; it raises only what a guard raises."""


class View(Protocol):
    """What is known about the view without taking it."""

    def doubts(self) -> tuple[str, ...]:
        """Why there is none to trust; empty when there is."""

    def age_seconds(self) -> float:
        """Since the stream that was silent longest was heard."""


class LiveRun:
    """Iterations until it is stopped. `term` is the number of the time that this process leads, 0 while it may not write; an
    iteration runs inside `within(term)`. `leader` states who leads, in a sentence; `policy_missing` why there is no policy to
    decide by (empty: there is). `began` is called before the first iteration of every time that this process leads, `after_turn`
    after each. It reports to the outside (events, status) and must not raise. An iteration begins every `period_seconds` at the
    latest."""

    def __init__(
        self,
        loop: Loop,
        view: View,
        wake: Wake,
        figures: Figures,
        log: Log,
        *,
        term: Callable[[], int],
        policy_missing: Callable[[], str],
        monotonic: Callable[[], float],
        wall_seconds: Callable[[], float],
        within: Callable[[int], AbstractContextManager[object]] = nullcontext,
        leader: Callable[[], str] = lambda: "another instance leads",
        began: Callable[[], None] = lambda: None,
        after_turn: Callable[[LoopReport], None] = lambda _: None,
        period_seconds: float = 10,
    ) -> None:
        self._loop = loop
        self._view = view
        self._wake = wake
        self._figures = figures
        self._log = log
        self._term = term
        self._within = within
        self._policy_missing = policy_missing
        self._leader = leader
        self._monotonic = monotonic
        self._wall_seconds = wall_seconds
        self._began = began
        self._after_turn = after_turn
        self._period_seconds = max(1, round(period_seconds))
        self._led: int | None = None
        self._frozen = False
        self._reported = ""
        self._reported_plan = ""
        self._new_lines = NewLines()
        self.turning = threading.Lock()
        """Held while a turn is under way: what ends the process waits for it."""

    def run(self) -> None:
        """Until `Wake.stop`."""
        while True:
            try:
                self.look()
            except Exception as error:
                # What is told after a turn may fail too, and the thread must outlive it.
                self._failed(error, 0)
            if self._wake.wait() is WakeReason.STOP:
                return

    def look(self) -> LoopReport | None:
        """One turn, if this process leads and there is something to decide by; None: it stood by."""
        term = self._term()
        if term != self._led:
            again = " again, and starts over: another one may have led" if self._led else ""
            self._led = term
            self._figures.leads(leader=term > 0)
            self._log.info("Leading" if term else "StandingBy", f"this instance leads{again}" if term else self._leader())
            if term:
                self._began()
        if not term:
            return None
        missing = self._policy_missing()
        if missing:
            self._say("NoPolicy", f"nothing is decided: {missing}")
            # Alive and not ready: a process that waits for its policy must not be taken for one that is stuck.
            waited = LoopReport(at_seconds=int(self._wall_seconds()), unavailable=f"there is no policy: {missing}")
            self._figures.turned(waited, 0, self._view.age_seconds())
            return None
        with self.turning, self._within(term):
            return None if self._wake.stopped else self._turn()

    def _turn(self) -> LoopReport | None:
        began = self._monotonic()
        try:
            report = self._loop.turn()
        except NotLeaderError as error:
            self._say("LostLease", str(error))
            return None
        except Exception as error:
            return self._failed(error, self._monotonic() - began)
        self._figures.turned(report, self._monotonic() - began, self._view.age_seconds())
        if report.plan is not None and not self._frozen:
            # The view's first objects stay for good: without this every full collection walks hundreds of thousands of them.
            self._frozen = True
            gc.collect()
            gc.freeze()
        self._look_again(report)
        self._tell(report)
        self._after_turn(report)
        return report

    def _look_again(self, report: LoopReport) -> None:
        """Nothing announces these: a burst that ends, nodes that are marked as leaving, a timer that runs out. And after an
        adoption, the loop need not wait until everything is quiet."""
        due: list[float] = []
        if any(result.code == Arriving.code for result in report.results):
            # Whether it has ended is counted in whole seconds: it is asked right after the next one has begun.
            due.append(1.01 - self._wall_seconds() % 1)
        if any(result.action.kind is ActionKind.ADOPT and result.state is ResultState.DONE for result in report.results):
            due.append(_ADOPTED_SECONDS)
        if any(result.action.kind is ActionKind.REMOVE_NODE and result.state is ResultState.DONE for result in report.results):
            due.append(_BEGUN_SECONDS)
        if report.plan is not None and report.decided is not None:
            decided = report.decided
            timer = next_timer_seconds(report.plan, decided.memory, decided.policy.policy, decided.now_seconds)
            if timer is not None:
                # By the fraction, too: decisions count whole seconds, and would be late by what has passed of this one.
                due.append(max(gathered_seconds(report.plan, timer, _GATHERED_SECONDS) - self._wall_seconds(), 0))
        if due:
            self._wake.again(min(due))

    def _failed(self, error: Exception, took_seconds: float) -> LoopReport:
        """A defect must not end the thread while the process looks alive: it is told, and readiness says so."""
        self._say("TurnFailed", f"this turn ended by a defect: {type(error).__name__}: {error}")
        report = LoopReport(at_seconds=int(self._wall_seconds()), unavailable=f"{type(error).__name__}: {error}")
        self._figures.turned(report, took_seconds, self._view.age_seconds())
        return report

    def _tell(self, report: LoopReport) -> None:
        """One line per group for everything that was done, refused or has changed; none for an iteration like the one before."""
        if report.unavailable:
            self._say("Unavailable", f"nothing is decided: {report.unavailable}")
        elif self._reported:
            self._reported = ""
            self._log.info("Available", "there is a view to trust and a policy again")
        if report.plan is not None and _essence(report.plan) != self._reported_plan:
            self._reported_plan = _essence(report.plan)
            self._log.info("Plan", report.plan.summary, digest=report.plan.digest, mode=report.plan.mode)
        for line in self._new_lines.of(tuple(result_lines(report, self._period_seconds))):
            self._log.line(line.level, line.code, line.message, line.fields)

    def _say(self, code: str, message: str) -> None:
        """Once, until something else is said; that it has lasted some seconds longer is nothing else."""
        essence = SECONDS.sub("", message)
        if essence != self._reported:
            self._reported = essence
            self._log.warning(code, message)


def _essence(plan: Plan) -> str:
    """What makes a plan news: its summary and its actions. The ages in it do not count, nor does the number of a burst's pods
    that the scheduler has yet to bind."""
    return "\n".join(
        (
            _BINDING.sub("fit", plan.summary),
            *(f"{action.kind} {action.group} {action.to} {action.nodes}" for action in plan.actions),
        )
    )
