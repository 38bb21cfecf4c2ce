"""Whether two recurring windows are ever open at the same time."""

from itertools import islice

from reconciler.policy.documents import Window
from reconciler.policy.values.schedule import is_open, last_opening, openings_after

MAX_OPENINGS = 500
"""How many openings of the rarer window are looked at: more than a year of a daily one, so every kind of day is met."""

MAX_STEPS = 10_000
"""How many openings are looked at in one tree."""

_PROBE = 60

_Recurrence = tuple[str, str, int]


class Overlaps:
    """Overlaps of windows from `now_seconds` on, each pair computed once, within a budget of steps."""

    def __init__(self, now_seconds: int) -> None:
        self._now = now_seconds
        self._found: dict[tuple[_Recurrence, _Recurrence], int | None] = {}
        self._steps = 0

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent; answers given since then are not to be used."""
        return self._steps > MAX_STEPS

    def first(self, one: Window, other: Window) -> int | None:
        """An instant (Unix time) at which both windows are open; None when none was found."""
        low, high = sorted((_recurrence(one), _recurrence(other)))
        if (low, high) not in self._found:
            self._found[low, high] = self._search(low, high)
        return self._found[low, high]

    def _search(self, one: _Recurrence, other: _Recurrence) -> int | None:
        now = self._now
        if is_open(*one, now) and is_open(*other, now):
            return now
        rare, frequent = sorted((one, other), key=self._span, reverse=True)
        schedule, zone, duration = rare
        for opening in islice(openings_after(schedule, zone, now - duration), MAX_OPENINGS):
            self._steps += 1
            if self.exhausted:
                return None
            last = last_opening(frequent[0], frequent[1], opening + duration - 1)
            if last is None or last + frequent[2] <= opening:
                continue
            found = opening if is_open(*frequent, opening) else next(openings_after(frequent[0], frequent[1], opening))
            if found >= now:
                return found
        return None

    def _span(self, recurrence: _Recurrence) -> int:
        """How long the next openings take: the longer, the rarer."""
        openings = list(islice(openings_after(recurrence[0], recurrence[1], self._now), _PROBE))
        return openings[-1] - self._now if len(openings) == _PROBE else 1 << 62


def _recurrence(window: Window) -> _Recurrence:
    return window.schedule, window.time_zone, window.duration_seconds
