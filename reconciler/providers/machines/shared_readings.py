"""What is read of a target, shared by callers who ask at the same time: a hundred nodes of one target begin to leave together."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from reconciler.cluster.target import TargetRef

RECENT_SECONDS = 0.5
"""SOURCE: measured, a hundred nodes of one target: readings one after the other, each of three requests, were two of the three
seconds in which all of them began to leave."""


Read = TypeVar("Read")


class _Round(Generic[Read]):
    """Those who asked before its reading began."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reading: Read | None = None


class SharedReadings(Generic[Read]):
    """At most one reading of a target is under way. Who asks meanwhile waits for the next one, so that nobody is told of what was
    read before the asking: each judges by what he would have read himself."""

    def __init__(self, read: Callable[[TargetRef], Read], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[TargetRef, tuple[float, Read]] = {}
        self._next: dict[TargetRef, _Round[Read]] = {}
        self._busy: dict[TargetRef, threading.Lock] = {}

    def of(self, target: TargetRef) -> Read:
        """The target as it is after this call. Raises what the reading does; others whose reading failed read themselves."""
        with self._lock:
            mine = self._next.setdefault(target, _Round[Read]())
            busy = self._busy.setdefault(target, threading.Lock())
        with mine.lock:
            if mine.reading is None:
                with busy:
                    with self._lock:
                        if self._next.get(target) is mine:
                            del self._next[target]
                    began = self._clock()
                    mine.reading = self._read(target)
                    kept = {other: last for other, last in self._last.copy().items() if began - last[0] <= RECENT_SECONDS}
                    self._last = {**kept, target: (began, mine.reading)}
            return mine.reading

    def recent(self, target: TargetRef) -> Read:
        """The target as it was at most half a second before this call, or as `of` gives it: for what is judged again by `of`
        where it says no, and again before anything is written where it says yes."""
        last = self._last.get(target)
        return last[1] if last is not None and self._clock() - last[0] <= RECENT_SECONDS else self.of(target)
