"""Whether two recurring windows are ever open at the same time."""

from collections.abc import Iterator
from itertools import islice

from reconciler.policy.documents import Window
from reconciler.policy.values.schedule import ever_fires, last_opening, openings_after

MAX_OPENINGS = 500
"""How many openings of the rarer window are examined: more than a year of a daily one, so every kind of day is met."""

MAX_STEPS = 40_000
"""How many minutes are looked at in one tree, and days on the way to them: looking for a rare one passes many."""

_DAY = 86_400
_HORIZON_SECONDS = 40 * 366 * _DAY
"""Days of the month and of the week meet alike every 28 years, but for one century year in four."""
_PROBE, _PROBE_SECONDS = 60, 800 * _DAY

_Recurrence = tuple[str, str, int]
"""Schedule, time zone, seconds that it stays open. A window without a schedule has an empty one: it is open between its dates."""
_Pair = tuple[_Recurrence, _Recurrence, int, int]
"""Both, and the first and the last second in which both may be open, by their dates."""


class Overlaps:
    """Overlaps of windows from `now_seconds` on, each pair computed once, within a budget of steps."""

    def __init__(self, now_seconds: int) -> None:
        self._now = now_seconds
        self._instants: dict[_Pair, int | None] = {}
        self._frequencies: dict[_Recurrence, tuple[int, int]] = {}
        self._steps = 0

    @property
    def steps(self) -> int:
        """What was spent of the budget."""
        return self._steps

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent: what is not known by then is not looked for."""
        return self._steps > MAX_STEPS

    def first(self, one: Window, other: Window) -> int | None:
        """An instant (Unix time) at which both windows are open; None when none was found, or looked for to the end."""
        pair = self._pair(one, other)
        if pair not in self._instants and not self.exhausted:
            fires = all(not schedule or ever_fires(schedule) for schedule, _, _ in pair[:2])
            instant = self._search(*pair) if fires else None
            if not self.exhausted:
                self._instants[pair] = instant
        return self._instants.get(pair)

    def examined(self, one: Window, other: Window) -> bool:
        """Whether the answer of `first` stands, instead of the end of the budget."""
        return self._pair(one, other) in self._instants

    def _pair(self, one: Window, other: Window) -> _Pair:
        low, high = sorted((_recurrence(one), _recurrence(other)))
        first = max(self._now, *(window.from_seconds or 0 for window in (one, other)))
        ends = [window.until_seconds - 1 for window in (one, other) if window.until_seconds is not None]
        return low, high, first, min((first + _HORIZON_SECONDS, *ends))

    def _search(self, one: _Recurrence, other: _Recurrence, first: int, last_second: int) -> int | None:
        if first > last_second:
            return None
        if self._is_open(one, first) and self._is_open(other, first):
            return first
        if not one[0] or not other[0]:
            # Between its dates, the window without a schedule is always open. Equal recurrences cannot both be so and get here.
            instant = next(self._openings(one if one[0] else other, first), None)
            return instant if instant is not None and instant <= last_second else None
        rare, frequent = sorted((one, other), key=self._frequency)
        for opening in islice(self._openings(rare, first - rare[2]), MAX_OPENINGS):
            if opening > last_second:
                break
            start, end = max(opening, first), min(opening + rare[2], last_second + 1)
            if end <= start:
                continue
            last = self._last(frequent, end - 1)
            if last is None or last + frequent[2] <= start:
                continue
            instant = start if self._is_open(frequent, start) else next(self._openings(frequent, start), None)
            if instant is not None and instant < end:
                return instant
        return None

    def _frequency(self, recurrence: _Recurrence) -> tuple[int, int]:
        """The rarer a window opens in the next years, the less."""
        if recurrence not in self._frequencies:
            seen = 0, 0
            for opening in islice(self._openings(recurrence, self._now), _PROBE):
                if opening > self._now + _PROBE_SECONDS:
                    break
                seen = seen[0] + 1, self._now - opening
            self._frequencies[recurrence] = seen
        return self._frequencies[recurrence]

    def _openings(self, recurrence: _Recurrence, after: int) -> Iterator[int]:
        """Those after an instant, until the budget is spent."""
        seen = after
        for opening in openings_after(recurrence[0], recurrence[1], after, self._pass):
            self._spend(opening - seen)
            if self.exhausted:
                return
            seen = opening
            yield opening

    def _last(self, recurrence: _Recurrence, at: int) -> int | None:
        opening = last_opening(recurrence[0], recurrence[1], at, self._pass)
        self._spend(at - opening if opening is not None else 0)
        return opening

    def _is_open(self, recurrence: _Recurrence, at: int) -> bool:
        if not recurrence[0]:
            return True
        last = self._last(recurrence, at)
        return last is not None and at < last + recurrence[2]

    def _pass(self) -> None:
        self._steps += 1

    def _spend(self, seconds: int) -> None:
        self._steps += seconds // _DAY


def _recurrence(window: Window) -> _Recurrence:
    return window.schedule, window.time_zone, window.duration_seconds or 0
