"""One process of the product in virtual time: its unmodified view, polls, providers, drain and loop, without threads."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

from reconciler.cluster.target import TargetRef
from reconciler.control.live.live_memory_store import LiveMemoryStore, remembered_targets
from reconciler.control.live.live_port import LivePort
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.connection.api import ApiError, ContentType, UnreachableError
from reconciler.kube.drain import NodeDrain
from reconciler.kube.leading.state import StateObject
from reconciler.kube.watching.collection import Served, cluster_api
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.kube.watching.polled_source import PolledSource
from reconciler.kube.watching.reflector import Pause, Steps
from reconciler.kube.watching.target_streams import OwnTargets
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import TargetProvider
from reconciler.simulation.timers import gathered_seconds, next_timer_seconds
from tests.virtual.api import VirtualApi, VirtualWatch

NAMESPACE, POLICY = "reconciler", "prod"
_NEVER = 1e12
_TAINTED_SECONDS, _GATHERED_SECONDS, _IDLE_SECONDS = 0.5, 5, 1.0


_ERRORS: Mapping[str, Callable[[], Exception]] = {
    "lost": lambda: UnreachableError("Read timed out"),
    "refused": lambda: ApiError(500, "InternalError", "etcdserver: request timed out"),
    "denied": lambda: ApiError(403, "Forbidden", 'it is forbidden: User "r" cannot write it'),
    "expired": lambda: ApiError(401, "Unauthorized", "Unauthorized"),
}


class KilledError(BaseException):
    """The process ends here."""


class Agenda:
    """What happens when. What is due at one instant happens in the order in which it was put here."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, instant: float, happen: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (max(instant, self.now), self._number, happen))

    def until(self, instant: float) -> None:
        """Time passes, and what is due happens."""
        while self._due and self._due[0][0] <= instant:
            due, _, happen = heapq.heappop(self._due)
            self.now = max(self.now, due)
            happen()
        self.now = max(self.now, instant)


class Wire(Protocol):
    """How calls of the process reach their servers: late, refused, without an answer, or as the last thing that it does."""

    def call(self, what: str, do: Callable[[], Any], *, writes: bool, errors: Mapping[str, Callable[[], Exception]]) -> Any: ...
    def chance(self, most: float) -> float: ...


class Poll(PolledSource, Protocol):
    """A polled source that is asked in virtual time."""

    def ask(self) -> bool: ...
    def _pause_seconds(self) -> float: ...


class Parts:
    """What a platform has in a process. `wake` is given what lets `polls` be asked at once."""

    def __init__(
        self,
        providers: Mapping[str, TargetProvider],
        polls: Iterable[Poll] = (),
        served: tuple[Served, ...] = (),
        wake: Callable[[Callable[[], None]], None] = lambda _: None,
    ) -> None:
        self.providers, self.polls, self.served, self.wake = providers, tuple(polls), served, wake


class Connection:
    """An `Api` of the process."""

    def __init__(self, server: VirtualApi, wire: Wire) -> None:
        self._server, self._wire = server, wire

    def with_timeout(self, _: float) -> "Connection":
        return self

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        return self._call(f"GET {path}", lambda: self._server.get(path, query), writes=False)

    def write(
        self, method: str, path: str, body: object = None, *, content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:  # fmt: skip
        def do() -> bytes:
            return self._server.write(method, path, body, content_type=content_type, query=query)

        return self._call(f"{method} {path}", do, writes=True)

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> VirtualWatch:
        return self._server.stream(path, query, silence_seconds=silence_seconds)

    def _call(self, what: str, do: Callable[[], bytes], *, writes: bool) -> bytes:
        found: bytes = self._wire.call(what, do, writes=writes, errors=_ERRORS)
        return found


class _Driven:
    """A reflector, one step after the other."""

    def __init__(self, process: "Process", steps: Steps) -> None:
        self._process, self._steps = process, steps
        self._watch: VirtualWatch | None = None
        self._take(lambda: next(steps))

    def wake(self) -> None:
        return

    def join(self, timeout_seconds: float) -> bool:
        return True

    def _take(self, step: Callable[[], Any]) -> None:
        try:
            found = step()
        except StopIteration:
            return
        if isinstance(found, Pause):
            self._watch = None
            self._process.at(self._process.agenda.now + found.seconds, lambda: self._take(lambda: next(self._steps)))
            return
        watch = found.stream
        if watch is not self._watch:
            self._watch = watch
            watch.told = lambda due: self._process.at(due, lambda: self._read(watch))
        if watch.lines:
            self._process.at(watch.lines[0][0], lambda: self._read(watch))

    def _read(self, watch: VirtualWatch) -> None:
        if watch is not self._watch or not watch.lines or watch.lines[0][0] > self._process.agenda.now:
            return
        came: list[bytes] = []
        while watch.lines and watch.lines[0][0] <= self._process.agenda.now:
            line = watch.lines[0][1]
            if not isinstance(line, bytes):
                if came:
                    break
                watch.lines.popleft()
                self._take(partial(self._steps.throw, line) if line is not None else partial(self._steps.send, None))
                return
            came.append(line)
            watch.lines.popleft()
        self._take(lambda: self._steps.send(came))


class _Targets(OwnTargets):
    """The streams of targets, driven as well."""

    def __init__(self, process: "Process", **rest: Any) -> None:
        self._process = process
        super().__init__(**rest)

    def _reflector(self, item: Any) -> Any:
        made = super()._reflector(item)
        made._drive = self._process.drive
        return made


class _Polled:
    """A `PolledSource` that is asked when it is due. Questions and turns take turns."""

    def __init__(self, process: "Process", poll: Poll) -> None:
        self._process, self._poll, self._next = process, poll, 0.0

    def __getattr__(self, name: str) -> Any:
        """What it says of itself."""
        return getattr(self._poll, name)

    def start(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.wake()

    def stop(self) -> None:
        return

    def wake(self) -> None:
        self._next = self._process.agenda.now
        self._process.at(self._next, self._round)

    def _round(self) -> None:
        now = self._process.agenda.now
        if now < self._next:
            return
        if self._process.busy:
            self._process.at(now + 0.5, self._round)
            return
        self._next = _NEVER
        news: list[bool] = []
        self._process.work(lambda: news.append(self._poll.ask()))
        if any(news):
            self._changed()
        self._next = min(self._next, self._process.agenda.now + self._poll._pause_seconds())
        self._process.at(self._next, self._round)


class Process:
    """Begins at once. `turned` is given every report; `died` is called when it was killed."""

    def __init__(
        self,
        agenda: Agenda,
        server: VirtualApi,
        wire: Wire,
        parts: Callable[["Process"], Parts],
        policy: PolicySet,
        period_seconds: float,
        turned: Callable[[LoopReport], None],
        died: Callable[[], None],
    ) -> None:
        self.agenda, self.policy, self.busy, self.lives = agenda, policy, False, True
        self._turned, self._died, self.period_seconds = turned, died, period_seconds
        self.last_plan: Plan | None = None
        self.api = Connection(server, wire)
        self.state = LockedState(StateObject(self.api, NAMESPACE, POLICY))
        own = parts(self)
        polled = [_Polled(self, poll) for poll in own.polls]
        for one in polled:
            own.wake(one.wake)
        # As a process begins where no platform was found on the server.
        served = own.served or (cluster_api(),)

        def targets(changed: Callable[[], None]) -> _Targets:
            return _Targets(
                self,
                api=self.api,
                served=served,
                namespaces=(),
                capi_group="",
                pace=self,
                changed=changed,
                silence_seconds=_NEVER,
            )

        self.view = LiveWorld(
            self.api, now_seconds=self.now, served=served, polled=tuple(polled), on_change=self.notify, pace=self,
            targets=targets, longest_silence_seconds=_NEVER, silence_seconds=_NEVER,
            drive=self.drive,
        )  # fmt: skip
        drain = NodeDrain(self.api, POLICY, self.now, timeout_seconds=300, rules=lambda: policy.policy.drain)
        port = LivePort(self.view, self.now, self, own.providers, drain, POLICY, self._marks, pace=self)
        self.store = LiveMemoryStore(self.state)
        self.loop = ControlLoop(port, self, self.store)
        self._due = agenda.now
        self.view.start()
        self._look_at(agenda.now + _IDLE_SECONDS)

    def current(self) -> PolicySet:
        return self.policy

    def remembered(self) -> tuple[str, ...]:
        """The targets of the groups at the last decision, of this process or an earlier one."""
        return remembered_targets(self.api, NAMESPACE, POLICY)()

    def pods_wait(self) -> bool:
        return self.last_plan is not None and self.last_plan.pods_wait

    def now(self) -> int:
        return int(self.agenda.now)

    def monotonic(self) -> float:
        return self.agenda.now

    def random(self) -> float:
        return 0.5

    def pause(self, seconds: float) -> bool:
        self.agenda.until(self.agenda.now + seconds)
        return False

    def at(self, instant: float, happen: Callable[[], None]) -> None:
        """As long as the process lives."""
        self.agenda.at(instant, lambda: happen() if self.lives else None)

    def drive(self, steps: Steps, _: str) -> _Driven:
        return _Driven(self, steps)

    def notify(self) -> None:
        """Something has changed."""
        self._look_at(self.agenda.now + _IDLE_SECONDS)

    def work(self, do: Callable[[], None]) -> None:
        """What may be the last thing that it does."""
        self.busy = True
        try:
            do()
        except KilledError:
            self.lives = False
            self._died()
        finally:
            self.busy = False

    def _marks(self, _: TargetRef) -> Mapping[str, str]:
        return {POLICY_MARK: POLICY}

    def _look_at(self, instant: float) -> None:
        if not self.busy and instant >= self._due > self.agenda.now:
            return
        self._due = instant
        self.at(instant, self._look)

    def _look(self) -> None:
        if self.agenda.now < self._due:
            return
        if self.busy:
            self._due = self.agenda.now
            self.at(self.agenda.now + 0.5, self._look)
            return
        self._due = _NEVER
        reports: list[LoopReport] = []
        self.work(lambda: reports.append(self.loop.turn()))
        for report in reports:
            self.last_plan = report.plan or self.last_plan
            self._turned(report)
            self._look_at(min(self._due, self._next_seconds(report)))

    def _next_seconds(self, report: LoopReport) -> float:
        now = self.agenda.now
        due = [now + self.period_seconds]
        if report.plan is not None and report.decided is not None:
            decided = report.decided
            timer = next_timer_seconds(report.plan, decided.memory, decided.policy.policy, decided.now_seconds)
            if timer is not None:
                due.append(gathered_seconds(report.plan, timer, _GATHERED_SECONDS))
        if any(result.code == "Arriving" for result in report.results):
            due.append(now + 1)
        if any(result.action.nodes and not result.code for result in report.results):
            due.append(now + _TAINTED_SECONDS)
        return max(min(due), now + _TAINTED_SECONDS)
