"""When an API server was last away, and for how long its other clients may still be reconnecting.

SOURCE: client-go 0.30.1, `tools/cache/reflector.go`. A reflector that lost its watch retries after 0.8 s. The wait doubles each
time up to 30 s, and a random factor of 1 to 2 stretches it. The doubling starts over after 2 minutes without a failure. The waits
before the k-th retry add up to at least 0.8 (2^k - 1) s. So after an outage of T seconds the current wait is at most
`1.6 (T / 0.8 + 1) = 2 T + 1.6` s, and never more than 60 s. Each watched kind waits on its own.
"""

import threading
from collections.abc import Callable

_FIRST_REFUSAL, _BROKEN = 300, 500
_STARTS_OVER_SECONDS = 120.0
_SHORTEST_SECONDS = 1.6
_LONGEST_SECONDS = 60.0
_LIST_SECONDS = 5.0
"""Time for the steps after a retry: the server rejects the old resource version, another short wait, the list. SOURCE: seen once
after a restart. Controllers retried 5.0 s after the server was ready, and had both watches 1.0 s later. The rest is an
allowance."""


class Outages:
    """What one process sees of one server. Several threads may use it. `monotonic` is in seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._first_failure: float | None = None
        self._last_failure = 0.0
        self._answered: float | None = None

    def failed(self) -> None:
        """A request got no answer, or a watch broke."""
        with self._lock:
            now = self._monotonic()
            quiet = self._answered is not None and now - self._last_failure > _STARTS_OVER_SECONDS
            if self._first_failure is None or quiet:
                self._first_failure = now
            self._last_failure = now
            self._answered = None

    def answered(self, status: int = 200) -> None:
        """The server answered with this HTTP status. An outage ends with a success: a starting server answers 403, 429 and 503
        for some seconds. One that lost its etcd answers 500 and breaks the watches of all clients."""
        if status >= _BROKEN:
            self.failed()
        elif status < _FIRST_REFUSAL:
            with self._lock:
                if self._first_failure is not None and self._answered is None:
                    self._answered = self._monotonic()

    @property
    def away(self) -> bool:
        """Whether nothing was answered since the last failure."""
        with self._lock:
            return self._first_failure is not None and self._answered is None

    def reconnecting_seconds(self) -> float:
        """For how long other clients may still act on data from before the outage; 0 if there was none. While the server is away:
        the longest possible wait."""
        with self._lock:
            if self._first_failure is None:
                return 0.0
            if self._answered is None:
                return _LONGEST_SECONDS + _LIST_SECONDS
            away = self._answered - self._first_failure
            wait = min(2 * away + _SHORTEST_SECONDS, _LONGEST_SECONDS) + _LIST_SECONDS
            return max(self._answered + wait - self._monotonic(), 0.0)
