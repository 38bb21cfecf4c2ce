"""Instants in RFC 3339 (`2026-11-21T18:00:00Z`): texts as Unix seconds, and Unix seconds as texts.

SOURCE: RFC 3339, section 5.6. `T` and `Z` may be lower case, a fraction has any number of digits, and an offset is at most 23:59.
As in Go's `time.Parse`, leap seconds are invalid. So are instants outside the years 1 to 9999 in UTC.
"""

import re
from datetime import UTC, date, datetime
from enum import Enum
from functools import lru_cache
from typing import Annotated

from msgspec import Meta

from reconciler.values.shown_text import shown

MAX_LENGTH = 64
"""Characters of an instant, nanoseconds and an offset included."""

_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|([-+])([0-9]{2}):([0-9]{2}))"
)
_EXAMPLE = 'write for example "2026-11-21T18:00:00Z"'
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST = (date.min.toordinal() - _EPOCH_DAY) * 86_400
_END = (date.max.toordinal() + 1 - _EPOCH_DAY) * 86_400
UnixSeconds = Annotated[int, Meta(ge=0, le=1 << 36)]
"""An instant or a span in a text that somebody else may have written. It ends in the year 4147: the sum of two is an instant."""
_SECOND_UTC = {f"{second:02}Z": second for second in range(60)}
_MINUTES_A_DAY = 24 * 60


class InstantFault(Enum):
    """What is wrong with an invalid instant."""

    LENGTH = "length"
    FORM = "form"
    DAY = "day"
    TIME = "time of day"
    OFFSET = "offset"


class InstantError(ValueError):
    """An invalid instant; `reason` says why without repeating it, `hint` says what to write."""

    def __init__(self, fault: InstantFault, message: str, reason: str, hint: str = _EXAMPLE) -> None:
        super().__init__(message)
        self.fault = fault
        self.reason = reason
        self.hint = hint


def parse_instant(text: str) -> int:
    """`text` as whole Unix seconds; a fraction of a second is dropped. Raises `InstantError`."""
    # As the API server writes it: of hundreds of thousands of instants most share their day with others.
    second = _SECOND_UTC.get(text[17:])
    if second is not None:
        day, minute = _day_start(text[:11]), _minute_of_day(text[11:17])
        if day is not None and minute is not None:
            return day + minute + second
    return _instant(text)


@lru_cache(maxsize=1 << 12)
def instant_text(seconds: int) -> str:
    """Whole Unix seconds -> `2026-11-21T18:00:00Z`. Raises `ValueError` outside the years 1 to 9999."""
    # Not strftime: it leaves out the zeros before the years below 1000.
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}Z"


def micro_instant_text(seconds: float) -> str:
    """Unix seconds -> `2026-11-21T18:00:00.250000Z`, as Kubernetes' `metav1.MicroTime`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@lru_cache(maxsize=1 << 12)
def _day_start(text: str) -> int | None:
    """Unix seconds of the start of a day in UTC (`2026-11-21T`); None if it is invalid."""
    return _seconds_or_none(f"{text}00:00:00Z")


@lru_cache(maxsize=_MINUTES_A_DAY)
def _minute_of_day(text: str) -> int | None:
    """Seconds of a day before a minute (`18:00:`); None if it is invalid."""
    return _seconds_or_none(f"1970-01-01T{text}00Z")


def _seconds_or_none(text: str) -> int | None:
    try:
        return _instant(text)
    except InstantError:
        return None


@lru_cache(maxsize=1 << 14)
def _instant(text: str) -> int:
    if len(text) > MAX_LENGTH:
        reason = f"has {len(text)} characters, an instant has {MAX_LENGTH} at most"
        raise InstantError(InstantFault.LENGTH, f"{shown(text)} {reason}", reason)
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InstantError(InstantFault.FORM, f"invalid instant {shown(text)}: not RFC 3339", "not RFC 3339", _hint(text))
    year, month, day, hours, minutes, seconds, sign, offset_hours, offset_minutes = match.groups()
    try:
        days = _day(int(year), int(month), int(day))
    except ValueError as error:
        raise _refused(InstantFault.DAY, text, str(error)) from None
    for name, amount, most in (("hour", hours, 23), ("minute", minutes, 59), ("second", seconds, 59)):
        if int(amount) > most:
            raise _refused(InstantFault.TIME, text, f"{name} must be in 0..{most}")
    total = days * 86_400 + int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    if sign:
        if int(offset_hours) > 23 or int(offset_minutes) > 59:
            raise _refused(InstantFault.OFFSET, text, "offset must be in -23:59..+23:59")
        offset = int(offset_hours) * 3600 + int(offset_minutes) * 60
        total += -offset if sign == "+" else offset
        if not _FIRST <= total < _END:
            raise _refused(InstantFault.DAY, text, "in UTC its year is not in 1..9999")
    return total


def _refused(fault: InstantFault, text: str, reason: str) -> InstantError:
    return InstantError(fault, f"invalid instant {shown(text)}: {reason}", reason, "check month, day, hour and offset")


@lru_cache(maxsize=1 << 10)
def _day(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() - _EPOCH_DAY


def _hint(text: str) -> str:
    if re.fullmatch(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]", text):
        return f'write date, time and zone: "{text}T18:00:00Z"'
    if re.fullmatch(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9][Tt ][0-9][0-9]:[0-9][0-9](:[0-9][0-9])?", text):
        seconds = "" if text.count(":") == 2 else ":00"
        return f'add the zone: "{text.replace(" ", "T")}{seconds}Z" for UTC'
    return _EXAMPLE
