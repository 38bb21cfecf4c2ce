"""Real time and randomness for what follows a cluster; tests pass in their own."""

import random
import threading
import time
from typing import Protocol

# Linux stops its monotonic clock in a suspend; others have no such clock.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Pace(Protocol):
    """Time and randomness, passed in. `pause` waits, and returns true if it was woken because everything is to end."""

    def monotonic(self) -> float:
        """Seconds on a clock that only goes forward."""

    def random(self) -> float:
        """A number in [0, 1)."""

    def pause(self, seconds: float) -> bool:
        """Wait; true: stop."""


class RealPace:
    """The machine's clocks. `pause` ends at once, with true, after `stop`."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._random = random.Random()  # noqa: S311 - spreads retries, keeps no secret

    def monotonic(self) -> float:
        """Seconds on a monotonic clock that also counts while the machine is suspended: a lease expires then as well."""
        return time.clock_gettime(_CLOCK)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def pause(self, seconds: float) -> bool:
        """Wait; true: stop."""
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        """Wake every waiting thread, for good."""
        self._stopped.set()
