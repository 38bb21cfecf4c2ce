"""When the loop decides: soon after a change, and at least once a period."""

import threading
from collections.abc import Callable
from enum import StrEnum


class WakeReason(StrEnum):
    """Why a turn begins. Stop: none does, the process ends."""

    EVENT = "Event"
    PERIOD = "Period"
    STOP = "Stop"


class Wake:
    """Gathers events into one iteration. It begins `idle_seconds` after the last event, and at the latest `most_seconds` after
    the first. Without events it begins `period_seconds` after the one before (row S18: every 10 s).

    A Deployment's hundred pods come within a second. Judged one by one, they would get a hundred small nodes. While pods wait,
    the scheduler keeps writing their statuses, and there may be no second of quiet. The iteration then begins after two seconds
    anyway: the decision sees what arrives, and says whether demand is still arriving. `clock` is monotonic, in seconds.
    """

    def __init__(
        self, clock: Callable[[], float], *, period_seconds: float = 10, idle_seconds: float = 1, most_seconds: float = 2
    ) -> None:
        self._clock = clock
        self._period = period_seconds
        self._idle = idle_seconds
        self._most = most_seconds
        self._changed = threading.Condition()
        self._first: float | None = None
        self._again: float | None = None
        self._last = 0.0
        self._stopped = False

    def notify(self) -> None:
        """Something happened. Cheap, from any thread."""
        with self._changed:
            now = self._clock()
            self._last = now
            if self._first is None:
                self._first = now
                self._changed.notify_all()

    def again(self, seconds: float) -> None:
        """The next turn begins no later than so many seconds from now, whatever happens."""
        self._again = self._clock() + seconds

    def stop(self) -> None:
        """End the wait now and all later ones at once."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def wait(self) -> WakeReason:
        """Block until the next turn is due; events up to now belong to it, later ones to the turn after."""
        begin = self._clock()
        with self._changed:
            while True:
                now = self._clock()
                if self._stopped:
                    return WakeReason.STOP
                if self._first is not None:
                    due = min(self._last + self._idle, self._first + self._most)
                    reason = WakeReason.EVENT
                else:
                    due = begin + self._period
                    reason = WakeReason.PERIOD
                if self._again is not None:
                    due = min(due, self._again)
                if now >= due:
                    self._first = self._again = None
                    return reason
                self._changed.wait(due - now)
