"""How long to wait before the next try, so that many clients that failed at once do not come back at once."""

from collections.abc import Callable

FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0


class Backoff:
    """Doubling waits from 0.8 s to 30 s, each between half of its length and all of it. `random` gives numbers in [0, 1).

    SOURCE: client-go's reflectors wait 0.8 s to 30 s with jitter; half as the lower bound keeps a wait a wait.
    """

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._seconds = FIRST_SECONDS

    def next_seconds(self, at_least_seconds: float = 0.0) -> float:
        """The wait after one more failure; not shorter than what the server asked for."""
        seconds = self._seconds
        self._seconds = min(2 * seconds, LONGEST_SECONDS)
        return max(seconds * (1 + self._random()) / 2, at_least_seconds)

    def reset(self) -> None:
        """It went well: the next failure counts as the first."""
        self._seconds = FIRST_SECONDS
