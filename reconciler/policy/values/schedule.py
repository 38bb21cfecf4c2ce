"""Cron schedules of windows and budgets: five fields, read and stepped as Kubernetes' CronJob does.

SOURCE: CronJob parses with `robfig/cron` v3 `ParseStandard`. It differs from other crons:

- `*` and `?` mean any. Weekdays are 0-6; 7 is invalid. Names are jan-dec and sun-sat. `L`, `W` and `#` are invalid.

- If day of month or day of week is a bare `*` or `?`, both must match, else one suffices. A stepped star (`*/2`) counts as
  restricted.

- A wall-clock time that a spring transition skips does not happen. One that an autumn transition repeats happens twice.

`cronsim` finds the next matching wall-clock minute. It imitates Debian's cron: jobs that a clock change skips run after the gap,
and repeated ones run once. It treats a stepped star as a star, and accepts `L`, `#`, 7 and seconds. We therefore give it
wall-clock time without a zone, and only the part of an expression that both crons read alike. This module applies the zone.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from reconciler.policy.values.time_zone import time_zone
from reconciler.values.shown_text import cut, shown
from reconciler.values.whole_number import whole_number

MAX_LENGTH = 512
"""Characters of a schedule: room for one that lists every minute, hour and day."""

_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    ("day of week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_DAYS_OF_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_TERM = re.compile(r"(\*|\?|[0-9]+|[a-z]+)(?:-([0-9]+|[a-z]+))?(?:/([0-9]+))?")
_NEAR = timedelta(hours=3)
"""By so much a clock may be set back or forward. SOURCE: the time zone database has no larger change of a zone's offset but for
whole days that are skipped."""
_MAX_YEAR = 9000  # `datetime` ends at 9999 and the search looks up to 50 years ahead


class ScheduleError(ValueError):
    """An invalid schedule; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@lru_cache(maxsize=1024)
def canonical_schedule(text: str) -> str:
    """The schedule in the form that both crons read alike. Raises `ScheduleError`."""
    if len(text) > MAX_LENGTH:
        message = f"{shown(text)} has {len(text)} characters, a schedule has {MAX_LENGTH} at most"
        raise ScheduleError(message, "write ranges and steps: 0-30, */5")
    lowered = text.strip().lower()
    if lowered.startswith(("tz=", "cron_tz=")):
        raise ScheduleError(f"{shown(text)} sets a time zone inside the schedule", "use the key timeZone")
    if lowered.startswith("@"):
        if lowered in _DESCRIPTORS:
            lowered = _DESCRIPTORS[lowered]
        else:
            raise ScheduleError(
                f"invalid schedule {shown(text)}", "write five fields: minute hour day-of-month month day-of-week"
            )
    fields = lowered.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(
            f"{shown(text)} has {len(fields)} field{'' if len(fields) == 1 else 's'}, a schedule has five",
            'minute hour day-of-month month day-of-week: "0 7 * * mon-fri" is 07:00 on working days',
        )
    return " ".join(_canonical_field(field, *rule) for field, rule in zip(fields, _FIELDS, strict=True))


def _canonical_field(field: str, name: str, low: int, high: int, names: tuple[str, ...]) -> str:
    numbers: set[int] = set()
    star = False
    for term in field.split(","):
        match = _TERM.fullmatch(term)
        if match is None:
            raise ScheduleError(
                f"the {name} {shown(term)} is not understood", f"a number from {low} to {high}, *, a-b, */step or a list"
            )
        start, end, step = match[1], match[2], int(match[3] or 1)
        if step == 0:
            raise ScheduleError(f"the {name} {shown(term)} has a step of 0", "a step is 1 or more")
        if start in "*?":
            if end:
                raise ScheduleError(f"the {name} {shown(term)} is not understood", "write * alone or a range a-b")
            star |= step == 1
            numbers.update(range(low, high + 1, step))
            continue
        first = _number(start, name, low, high, names)
        last = _number(end, name, low, high, names) if end else (high if match[3] else first)
        if last < first:
            numbered = None not in (whole_number(start), whole_number(end or ""))
            hint = f"write {start}-{high},{low}-{end}" if numbered else "write it as two ranges"
            raise ScheduleError(f"the {name} {shown(term)} runs backwards", hint)
        numbers.update(range(first, last + 1, step))
    if star:
        return "*"
    return ",".join(str(number) for number in sorted(numbers))


def _number(text: str, name: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + low
    number = whole_number(text)
    if number is None:
        hint = f"names are {names[0]} to {names[-1]}" if names else f"a number from {low} to {high}, *, a-b, */step or a list"
        raise ScheduleError(f"the {name} {shown(text)} is not understood", hint)
    if not low <= number <= high:
        hint = "Sunday is 0" if name == "day of week" and number == 7 else f"{name} is {low} to {high}"
        raise ScheduleError(f"the {name} {cut(text)} is out of range", hint)
    return number


def ever_fires(text: str) -> bool:
    """Whether some year has an instant at which a schedule fires. Raises `ScheduleError`.

    By its fields alone: looking for one that never comes passes fifty years of days.
    """
    _, _, days, months, weekdays = canonical_schedule(text).split()
    if "*" in (days, months) or weekdays != "*":
        return True
    longest = max(_DAYS_OF_MONTHS[int(month) - 1] for month in months.split(","))
    return int(days.split(",")[0]) <= longest


def openings_after(
    schedule: str, zone_name: str, after_seconds: int, passed: Callable[[], object] = lambda: None
) -> Iterator[int]:
    """The instants at which `schedule` fires, strictly after `after_seconds` (Unix time), in order.

    Ends when there is none within 50 years. `passed` is called for every minute that is looked at. Raises `ScheduleError` or
    `UnknownTimeZoneError`.
    """
    zone = time_zone(zone_name)
    seen = after_seconds
    wall = _wall(after_seconds, zone)
    # A wall-clock minute before `after` may still name a later instant when the clock was set back in between.
    start = wall - timedelta(minutes=1) if _steady(wall, zone) else wall - _NEAR
    held: list[int] = []  # instants found; released once no earlier one can follow
    for minute in _search(schedule, start):
        passed()
        instants = _instants(minute, zone)
        if len(instants) == 1 and not held:
            if instants[0] > seen:
                seen = instants[0]
                yield seen
            continue
        held += (instant for instant in instants if instant > seen)
        horizon = _instant(minute - _NEAR, zone)
        held.sort()
        while held and held[0] <= horizon:
            seen = held.pop(0)
            yield seen
    yield from sorted(held)


def last_opening(schedule: str, zone_name: str, at_seconds: int, passed: Callable[[], object] = lambda: None) -> int | None:
    """The latest instant at or before `at_seconds` at which `schedule` fired; None when there was none in 50 years. `passed` as
    above."""
    zone = time_zone(zone_name)
    best: int | None = None
    wall = _wall(at_seconds, zone)
    steady = _steady(wall, zone)
    for minute in _search(schedule, wall + (timedelta(minutes=1) if steady else _NEAR), reverse=True):
        passed()
        for instant in _instants(minute, zone):
            if instant <= at_seconds and (best is None or instant > best):
                best = instant
        if best is not None and (steady or _instant(minute + _NEAR, zone) < best):
            break
    return best


def _search(schedule: str, wall: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    if not 1000 < wall.year < _MAX_YEAR:
        return
    try:
        yield from CronSim(canonical_schedule(schedule), wall, reverse=reverse)
    except CronSimError:
        return  # days that no listed month has: it never fires


_LAST_SECONDS = int(datetime(_MAX_YEAR + 1, 1, 1, tzinfo=UTC).timestamp())
"""Nothing is looked for after this; the time of a pod may be later, and then the clocks of some zones end."""


def _wall(seconds: int, zone: ZoneInfo) -> datetime:
    return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=min(seconds, _LAST_SECONDS))).astimezone(zone).replace(tzinfo=None)


def _steady(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether no change of the clock is near: wall-clock minutes there are in the order of their instants."""
    offsets = {(wall + apart).replace(tzinfo=zone, fold=fold).utcoffset() for apart in (-2 * _NEAR, 2 * _NEAR) for fold in (0, 1)}
    return len(offsets) == 1


def _instant(wall: datetime, zone: ZoneInfo) -> int:
    return int(wall.replace(tzinfo=zone).timestamp())


def _instants(wall: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    first = wall.replace(tzinfo=zone, fold=0)
    second = wall.replace(tzinfo=zone, fold=1)
    if first.utcoffset() == second.utcoffset():
        return (int(first.timestamp()),)
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        return ()  # skipped by a forward transition
    return (int(first.timestamp()), int(second.timestamp()))
