"""How far the clock of this machine is from that of an API server, by the `Date` of its answers."""

import threading
from collections.abc import Callable, Iterable
from email.utils import parsedate_to_datetime

_PAUSE_SECONDS = 5.0
_NOISE_SECONDS = 3
"""A date has whole seconds, and an answer takes its time."""
_LONGEST_ANSWER_SECONDS = 5.0
"""The date of an answer that took longer says too little."""


class ServerClock:
    """What one process knows of one server's clock. Several threads may use it. `monotonic` is in seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._read: tuple[float, float] | None = None

    def began(self) -> float:
        """Call it before a request, and give the result to `answered`."""
        return self._monotonic()

    def answered(self, date: str | None, began: float) -> None:
        """An answer to the request that began then, with this `Date` (None: it has none)."""
        now = self._monotonic()
        with self._lock:
            if date is None or now - began > _LONGEST_ANSWER_SECONDS:
                return
            if self._read is not None and now - self._read[1] < _PAUSE_SECONDS:
                return
            try:
                self._read = parsedate_to_datetime(date).timestamp(), now
            except (ValueError, OverflowError):
                return

    def ahead_seconds(self, wall_seconds: float) -> int:
        """How far a clock that shows `wall_seconds` is ahead of the server's (negative: behind). 0 if the server sent no date,
        or if they show about the same."""
        with self._lock:
            if self._read is None:
                return 0
            seconds, at = self._read
            ahead = round(wall_seconds - seconds - (self._monotonic() - at))
            return ahead if abs(ahead) > _NOISE_SECONDS else 0


def farthest(clocks: Iterable[ServerClock], wall_seconds: float) -> int:
    """The largest of the differences, whatever its sign."""
    return max((clock.ahead_seconds(wall_seconds) for clock in clocks), key=abs, default=0)
