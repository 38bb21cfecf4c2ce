"""Instants and durations as the API writes them: RFC 3339 texts as Unix seconds, Go durations as seconds."""

import re
from datetime import date
from fractions import Fraction
from functools import lru_cache

from reconciler.cluster.snapshots.unreadable import UnreadableError

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_DURATION = re.compile(r"([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+|0)", re.ASCII)
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)", re.ASCII)
_UNIT_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_EPOCH_DAY = date(1970, 1, 1).toordinal()


_SECOND_UTC = {f"{second:02}Z": second for second in range(60)}


def unix_seconds(text: str) -> int:
    """Unix time of an RFC 3339 text; fractions of a second are dropped. Raises `UnreadableError`."""
    # As the API server writes it: of hundreds of thousands of instants most share their minute with others.
    second = _SECOND_UTC.get(text[17:])
    if second is not None:
        minute = _minute(text[:17])
        if minute is not None:
            return minute + second
    return _instant(text)


def unix_seconds_or_zero(text: str | None) -> int:
    """Unix time of an optional RFC 3339 text, 0 where there is none. Raises `UnreadableError`."""
    return unix_seconds(text) if text else 0


@lru_cache(maxsize=1 << 12)
def _minute(text: str) -> int | None:
    """Unix time of the start of a minute in UTC (`2026-11-21T18:00:`); None where it is none."""
    try:
        return _instant(f"{text}00Z")
    except UnreadableError:
        return None


@lru_cache(maxsize=1 << 14)
def _instant(text: str) -> int:
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise UnreadableError(f"{_shown(text)} is no time (RFC 3339, such as 2026-11-21T18:00:00Z)")
    day, hour, minute, second, sign, offset_hours, offset_minutes = match.groups()
    hours, minutes, seconds = int(hour), int(minute), int(second)
    try:
        days = _day(day)
    except ValueError:
        raise UnreadableError(f"{_shown(text)} is no time (there is no such day)") from None
    if hours > 23 or minutes > 59 or seconds > 59:
        raise UnreadableError(f"{_shown(text)} is no time (there is no such time of day)")
    total = days * 86400 + hours * 3600 + minutes * 60 + seconds
    if sign:
        offset = int(offset_hours) * 3600 + int(offset_minutes) * 60
        total += -offset if sign == "+" else offset
    return total


def duration_seconds(text: str) -> Fraction:
    """Seconds of a Go duration (`10m`, `1h30m`, `1.5s`), exact. Raises `UnreadableError`."""
    match = _DURATION.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        raise UnreadableError(f"{_shown(text)} is no duration (such as 10m, 90s or 1h30m)")
    total = sum((Fraction(amount) * _UNIT_SECONDS[unit] for amount, unit in _DURATION_PART.findall(match[2])), Fraction(0))
    return -total if match[1] == "-" else total


@lru_cache(maxsize=1 << 10)
def _day(text: str) -> int:
    return date.fromisoformat(text).toordinal() - _EPOCH_DAY


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 64 else f'"{text[:64]}…"'
