"""Drives the reflectors of many clusters: one thread waits for all their sockets and pauses, a few others work.

A reflector that waits costs no thread. One that asks its server for a list, or takes events in, has a thread for so long. No more
than `AT_ONCE` of one cluster have one at a time. So a cluster that is slow, or that floods us, takes threads from no other.
"""

import heapq
import itertools
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from reconciler.kube.connection.api import UnreachableError
from reconciler.kube.connection.unreachable_cause import cause
from reconciler.kube.watching.reflector import Drive, Pause, Steps

AT_ONCE = 4
_READS = 64
"""After so many in a row, other reflectors of the cluster have their turn."""
_IDLE_SECONDS = 20.0
"""A thread without work ends after this."""
_AGAIN_SECONDS = 1.0
"""So long after the system had no thread for us, the hub asks for one again."""
_NO_SOCKET = -1


@runtime_checkable
class SocketStream(Protocol):
    """A stream of lines on a socket, read without waiting."""

    silence_seconds: float

    def fileno(self) -> int:
        """What to wait for; -1 if it has no socket."""

    def ready_lines(self) -> list[bytes] | None:
        """What is there now; None at the end."""

    def silence(self) -> UnreachableError:
        """What it means that nothing came within the allowed silence."""


class _Task:
    """A reflector under way. Only the thread that works on it, or the hub's own while it is parked, touches it."""

    def __init__(self, steps: Steps, lane: "Lane") -> None:
        self.steps = steps
        self.lane = lane
        self.given: list[bytes] | None = None
        self.error: Exception | None = None
        self.stream: SocketStream | None = None
        """What it waits for; None while it pauses or works."""
        self.parked = False
        self.registered = _NO_SOCKET
        self.due = 0.0
        """When its wait ends, if nothing comes."""
        self.timer: float | None = None
        """When the hub looks at that; not after it is due."""
        self.woken = False
        self.over = threading.Event()


class Lane:
    """The reflectors of one cluster."""

    def __init__(self, hub: "StreamHub") -> None:
        self._hub = hub
        self.working = 0
        self.waiting: deque[_Task] = deque()

    def drive(self, steps: Steps, name: str) -> "_Driven":
        """See `Drive`."""
        del name
        return self._hub.begin(_Task(steps, self))


class _Driven:
    def __init__(self, hub: "StreamHub", task: _Task) -> None:
        self._hub = hub
        self._task = task

    def wake(self) -> None:
        self._hub.wake(self._task)

    def join(self, timeout_seconds: float) -> bool:
        return self._task.over.wait(timeout_seconds)


class StreamHub:
    """Between construction and `stop`. All calls may come from any thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Condition()
        self._ready: deque[_Task] = deque()
        self._threads = self._busy = 0
        self._short = False
        self._orders: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._ear, self._mouth = socket.socketpair()
        for one in (self._ear, self._mouth):
            one.setblocking(False)  # noqa: FBT003 - the standard library's own
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._timers: list[tuple[float, int, _Task]] = []
        self._numbers: Iterator[int] = itertools.count()
        self._stopped = False
        self._thread = threading.Thread(target=self._wait, name="streams", daemon=True)
        self._thread.start()

    def lane(self) -> Drive:
        """For the reflectors of one more cluster."""
        return Lane(self).drive

    def stop(self) -> None:
        """End its threads. Reflectors that were not stopped before stay where they are."""
        self._order(self._end)
        self._thread.join()

    def begin(self, task: _Task) -> _Driven:
        """Work on it from now on."""
        self._enqueue(task)
        return _Driven(self, task)

    def wake(self, task: _Task) -> None:
        """End its pause; what it reads was cut."""

        def woken() -> None:
            task.woken = True
            if task.parked and task.stream is None:
                self._unpark(task)

        self._order(woken)

    # The hub's own thread: it alone knows the selector, the timers and what is parked.

    def _order(self, what: Callable[[], None]) -> None:
        self._orders.append(what)
        with suppress(BlockingIOError, OSError):  # a full pipe wakes it, too
            self._mouth.send(b".")

    def _wait(self) -> None:
        while True:
            while self._orders:
                self._orders.popleft()()
            if self._has_ended():
                break
            due = self._timers[0][0] - self._monotonic() if self._timers else None
            if self._short:
                due = _AGAIN_SECONDS if due is None else min(due, _AGAIN_SECONDS)
            for key, _ in self._selector.select(None if due is None else max(due, 0.0)):
                if key.data is None:
                    with suppress(BlockingIOError):
                        while self._ear.recv(4096):
                            pass
                else:
                    self._unpark(key.data)
            self._end_waits()
            if self._short:
                self._begin_missing()
        self._selector.close()
        self._ear.close()
        self._mouth.close()

    def _end_waits(self) -> None:
        now = self._monotonic()
        while self._timers and self._timers[0][0] <= now:
            when, _, task = heapq.heappop(self._timers)
            if task.timer != when:
                continue  # An earlier one took its place.
            task.timer = None
            if task.parked and task.due > now:
                self._look_at(task)
            elif task.parked:
                if task.stream is not None:
                    task.error = task.stream.silence()
                self._unpark(task)

    def _look_at(self, task: _Task) -> None:
        """When it is due, at the latest. A stream with many events parks often: its timer stays where it is until then."""
        if task.timer is None or task.timer > task.due:
            task.timer = task.due
            heapq.heappush(self._timers, (task.due, next(self._numbers), task))

    def _has_ended(self) -> bool:
        return self._stopped

    def _end(self) -> None:
        self._stopped = True
        with self._lock:
            self._lock.notify_all()

    def _park(self, task: _Task, stream: SocketStream | None, seconds: float) -> None:
        task.stream, task.parked = stream, True
        if stream is not None:
            try:
                self._selector.register(stream, selectors.EVENT_READ, task)
            except (OSError, ValueError, KeyError) as error:
                # This thread serves all clusters, so one stream that cannot be waited for must not end it.
                task.error = UnreachableError(f"the watch broke: {cause(error)}")
                self._unpark(task)
                return
            task.registered = stream.fileno()
        elif task.woken:
            self._unpark(task)
            return
        task.due = self._monotonic() + seconds
        self._look_at(task)

    def _unpark(self, task: _Task) -> None:
        if task.registered >= 0:
            self._selector.unregister(task.registered)
            task.registered = _NO_SOCKET
        task.parked = False
        self._enqueue(task)

    # The threads that work.

    def _enqueue(self, task: _Task) -> None:
        with self._lock:
            lane = task.lane
            if lane.working >= AT_ONCE:
                lane.waiting.append(task)
                return
            lane.working += 1
            self._give(task)

    def _give(self, task: _Task) -> None:
        """Under the lock."""
        self._ready.append(task)
        if self._threads - self._busy >= len(self._ready):
            self._lock.notify()
        elif not self._begin_thread():
            self._order(lambda: None)  # The hub's own thread is to look.

    def _begin_thread(self) -> bool:
        """Under the lock. False: the system has none now. What is ready waits for one that works, or for the next attempt."""
        self._threads += 1
        try:
            threading.Thread(target=self._work, name="stream", daemon=True).start()
        except RuntimeError:
            self._threads -= 1
            self._short = True
            return False
        return True

    def _begin_missing(self) -> None:
        with self._lock:
            self._short = False
            while len(self._ready) > self._threads - self._busy and self._begin_thread():
                pass

    def _work(self) -> None:
        while (task := self._next()) is not None:
            # A defect ends this thread, and is shown; the reflector counts as ended then.
            wait: _Wait | None = _Over()
            whole = False
            try:
                wait = self._advance(task)
                whole = True
            finally:
                self._advanced(task, wait, whole=whole)

    def _next(self) -> _Task | None:
        """The next one to work on; None: this thread ends."""
        with self._lock:
            while not self._ready:
                called = self._lock.wait(_IDLE_SECONDS)
                if not self._ready and (self._stopped or not called):
                    self._threads -= 1
                    return None
            self._busy += 1
            return self._ready.popleft()

    def _advanced(self, task: _Task, wait: "_Wait | None", *, whole: bool) -> None:
        lane = task.lane
        with self._lock:
            self._busy -= 1
            self._threads -= not whole
            lane.working -= 1
            if wait is None:
                lane.waiting.append(task)
            if lane.waiting:
                lane.working += 1
                self._give(lane.waiting.popleft())
        if isinstance(wait, _Parks):
            self._order(lambda: self._park(task, wait.stream, wait.seconds))
        elif wait is not None:
            task.over.set()

    def _advance(self, task: _Task) -> "_Wait | None":
        """Work until there is something to wait for; None: there is more, but others are next."""
        for _ in range(_READS):
            given, error, task.given, task.error = task.given, task.error, None, None
            try:
                step = task.steps.send(given) if error is None else task.steps.throw(error)
            except StopIteration:
                return _Over()
            if isinstance(step, Pause):
                return _Parks(None, step.seconds)
            if not isinstance(step.stream, SocketStream):
                raise TypeError("the stream of a reflector that shares threads has no socket")
            if not self._read(task, step.stream):
                return _Parks(step.stream, step.stream.silence_seconds)
        return None

    def _read(self, task: _Task, stream: SocketStream) -> bool:
        """Whether there is something for the reflector now."""
        try:
            task.given = stream.ready_lines()
        except Exception as error:
            task.error = error
            return True
        return task.given != []


class _Parks(msgspec.Struct, frozen=True):
    """Wait for a socket, or only for a time."""

    stream: SocketStream | None
    seconds: float


class _Over(msgspec.Struct, frozen=True):
    """The reflector has ended."""


_Wait: TypeAlias = _Parks | _Over
