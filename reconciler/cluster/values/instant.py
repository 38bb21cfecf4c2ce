"""Instants and durations of objects: what a text means, or what makes its object unreadable."""

import re
from fractions import Fraction

from reconciler.cluster.snapshots.unreadable import UnreadableError
from reconciler.values.instant import InstantError, InstantFault, parse_instant

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
_WORDS = {InstantFault.DAY: "there is no such day", InstantFault.TIME: "there is no such time of day"}
_WORDS |= {InstantFault.OFFSET: "there is no such offset"}


def unix_seconds(text: str) -> int:
    """Unix time of an RFC 3339 text; fractions of a second are dropped. Raises `UnreadableError`."""
    try:
        return parse_instant(text)
    except InstantError as error:
        fault = _WORDS.get(error.fault, "RFC 3339, such as 2026-11-21T18:00:00Z")
        raise UnreadableError(f"{_shown(text)} is no time ({fault})") from None


def unix_seconds_or_zero(text: str | None) -> int:
    """Unix time of an optional RFC 3339 text, 0 where there is none. Raises `UnreadableError`."""
    return unix_seconds(text) if text else 0


def duration_seconds(text: str) -> Fraction:
    """Seconds of a Go duration (`10m`, `1h30m`, `1.5s`), exact. Raises `UnreadableError`."""
    match = _DURATION.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        raise UnreadableError(f"{_shown(text)} is no duration (such as 10m, 90s or 1h30m)")
    total = sum((Fraction(amount) * _UNIT_SECONDS[unit] for amount, unit in _DURATION_PART.findall(match[2])), Fraction(0))
    return -total if match[1] == "-" else total


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 64 else f'"{text[:64]}…"'
