"""Waiting times between tries, with jitter, so that failed clients do not return at the same moment."""

from collections.abc import Callable

from reconciler.kube.connection.api import ApiError, UnreachableError

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0
UNREACHABLE_SECONDS = 4.0
"""A request that nobody answers costs a server nothing. Each second of waiting is one more without a decision."""


class Backoff:
    """Doubling waits from 0.8 s to 30 s, each between half of its length and all of it. `random` gives numbers in [0, 1).

    SOURCE: client-go's reflectors wait 0.8 s to 30 s with jitter; half as the lower bound keeps a wait a wait.
    """

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._seconds = FIRST_SECONDS
        self._failure: tuple[str, int] = ("", 0)

    def after(self, error: Exception) -> float:
        """The wait after a failure. It starts over if the previous failure was of another kind. A server that comes back first
        refuses connections, then answers 403 until it has read its roles. Each phase is short."""
        failure = type(error).__name__, error.status if isinstance(error, ApiError) else 0
        if failure != self._failure:
            self._failure = failure
            self.reset()
        wait = self.next_seconds(error.retry_after_seconds if isinstance(error, ApiError) else 0)
        return min(wait, UNREACHABLE_SECONDS) if isinstance(error, UnreachableError) else wait

    def next_seconds(self, at_least_seconds: float = 0.0) -> float:
        """The wait after one more failure; not shorter than the server asked for."""
        seconds = self._seconds
        self._seconds = min(2 * seconds, LONGEST_SECONDS)
        return max(seconds * (1 + self._random()) / 2, at_least_seconds)

    def reset(self) -> None:
        """Record a success: the next failure counts as the first."""
        self._seconds = FIRST_SECONDS
