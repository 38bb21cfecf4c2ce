"""Readings of targets that callers share who ask at the same time: a hundred nodes of one target begin to leave together."""

import threading
from collections.abc import Callable

from reconciler.cluster.target import TargetRef
from reconciler.providers.machines.dialect import Reading


class _Round:
    """Those who asked before its reading began."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reading: Reading | None = None


class SharedReadings:
    """At most one reading of a target is under way. Who asks meanwhile waits for the next one, so that nobody is told of what was
    read before the asking: each judges by what he would have read himself."""

    def __init__(self, read: Callable[[TargetRef], Reading]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._next: dict[TargetRef, _Round] = {}
        self._busy: dict[TargetRef, threading.Lock] = {}

    def of(self, target: TargetRef) -> Reading:
        """The target as it is after this call. Raises what the reading does; others whose reading failed read themselves."""
        with self._lock:
            mine = self._next.setdefault(target, _Round())
            busy = self._busy.setdefault(target, threading.Lock())
        with mine.lock:
            if mine.reading is None:
                with busy:
                    with self._lock:
                        if self._next.get(target) is mine:
                            del self._next[target]
                    mine.reading = self._read(target)
            return mine.reading
