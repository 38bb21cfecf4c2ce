"""Virtual time: what is to happen when, in a fixed order."""

import heapq
from collections.abc import Callable

Step = Callable[[], None]


class Agenda:
    """A clock that only moves when told, with steps at instants (Unix seconds).

    Steps at the same instant run in the order in which they were added, so a run repeats exactly.
    """

    def __init__(self, now_seconds: int) -> None:
        self.now_seconds = now_seconds
        self._queue: list[tuple[int, int, Step]] = []
        self._count = 0

    def at(self, seconds: int, step: Step) -> None:
        """Do `step` at an instant; one in the past is due now."""
        self._count += 1
        heapq.heappush(self._queue, (max(seconds, self.now_seconds), self._count, step))

    def after(self, seconds: int, step: Step) -> None:
        """Do `step` so many seconds from now."""
        self.at(self.now_seconds + seconds, step)

    @property
    def next_seconds(self) -> int | None:
        """The instant of the next thing to do, or None."""
        return self._queue[0][0] if self._queue else None

    def do_due(self) -> bool:
        """Do everything that is due at the present instant, what it adds for this instant included; whether anything was."""
        done = False
        while self._queue and self._queue[0][0] <= self.now_seconds:
            heapq.heappop(self._queue)[2]()
            done = True
        return done
