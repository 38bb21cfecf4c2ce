"""Durations as Go writes them (`1h30m`, `1.5h`, `10m`): texts as seconds, and whole seconds as texts.

SOURCE: Go's `time.ParseDuration`, which Kubernetes' `metav1.Duration` uses. A duration is a signed sequence of decimal numbers,
each with a unit: ns, us, ms, s, m or h. A lone `0` needs no unit, days are not a unit, and int64 nanoseconds bound it. Policies
have whole seconds: a duration that is not a whole number of seconds is an error and is not rounded.
"""

import re
from fractions import Fraction

from reconciler.values.shown_text import shown

_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
MAX_LENGTH = 64
"""The most characters of a duration: more than any needs, and few enough to read quickly."""

_SCALE = 10**27
_MOST = (2**63 - 1) * 10**18


class DurationError(ValueError):
    """An invalid duration; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_duration(text: str) -> int:
    """`text` in whole seconds; may be negative. Raises `DurationError`, also for a part of a second."""
    scaled = _scaled(text)
    seconds, rest = divmod(abs(scaled), _SCALE)
    if rest:
        raise DurationError(f"{shown(text)} is not a whole number of seconds", f"write {seconds + 1}s")
    return -seconds if scaled < 0 else seconds


def exact_seconds(text: str) -> Fraction:
    """`text` in seconds; may be negative. Raises `DurationError`."""
    return Fraction(_scaled(text), _SCALE)


def _scaled(text: str) -> int:
    """Nanoseconds times 10^18, so that every decimal fraction stays an integer; finer than that is dropped."""
    if text in ("0", "+0", "-0"):
        return 0
    if len(text) > MAX_LENGTH:
        message = f"{shown(text)} has {len(text)} characters, a duration has {MAX_LENGTH} at most"
        raise DurationError(message, "write it in larger units: 90s, 10m, 1h30m")
    if not _WHOLE.fullmatch(text):
        raise DurationError(f"invalid duration {shown(text)}", _hint(text))
    scaled = 0
    for number, unit in _PART.findall(text):
        whole, _, fraction = number.partition(".")
        fraction = fraction[:18]
        scaled += _NANOSECONDS[unit] * (int(whole or 0) * 10**18 + int(fraction.ljust(18, "0") or 0))
    if scaled > _MOST:
        raise DurationError(f"{shown(text)} is longer than 292 years, the longest duration")
    return -scaled if text.startswith("-") else scaled


def duration_text(seconds: int) -> str:
    """The shortest Go form: 5400 is `1h30m`, 0 is `0s`."""
    if seconds < 0:
        return "-" + duration_text(-seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if amount]
    return "".join(parts) or "0s"


def _hint(text: str) -> str:
    if re.fullmatch(r"[0-9]+", text):
        return f"a duration has a unit: {text}s, {text}m or {text}h"
    days = re.fullmatch(r"([0-9]+)\s*(d|day|days|w|week|weeks)", text.lower())
    if days:
        hours = int(days[1]) * (24 if days[2].startswith("d") else 168)
        return f"the longest unit is h: write {hours}h"
    words = re.fullmatch(r"([0-9]+)\s*(s|sec|secs|seconds?|m|min|mins|minutes?|h|hr|hrs|hours?)", text.lower())
    if words:
        return f"write {words[1]}{words[2][0]}"
    return "write a number and a unit, such as 90s, 10m or 1h30m"
