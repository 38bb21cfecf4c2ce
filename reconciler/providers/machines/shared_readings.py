"""Readings of a target that concurrent callers share. A hundred nodes of one target may begin to leave together."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from reconciler.cluster.target import TargetRef

RECENT_SECONDS = 0.5
"""SOURCE: measured, a hundred nodes of one target. Sequential readings, each of three requests, took two of the three seconds in
which all of them began to leave."""


Read = TypeVar("Read")


class _Round(Generic[Read]):
    """Callers who asked before its reading began."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reading: Read | None = None


class SharedReadings(Generic[Read]):
    """At most one reading of a target is under way. Later callers wait for the next one. So nobody gets data from before the
    call: each judges by what a read of its own would have returned."""

    def __init__(self, read: Callable[[TargetRef], Read], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[TargetRef, tuple[float, Read]] = {}
        self._next: dict[TargetRef, _Round[Read]] = {}
        self._busy: dict[TargetRef, threading.Lock] = {}

    def of(self, target: TargetRef) -> Read:
        """The target after this call. Raises what the reading does; callers whose shared reading failed read themselves."""
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
        """The target at most half a second before this call, or as `of` returns it. A refusal based on it is judged again by
        `of`. A permission is judged again before anything is written."""
        last = self._last.get(target)
        return last[1] if last is not None and self._clock() - last[0] <= RECENT_SECONDS else self.of(target)
