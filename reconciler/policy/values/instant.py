"""Instants in RFC 3339 (`2026-11-21T18:00:00Z`), read into Unix seconds."""

import re
from datetime import datetime

from reconciler.policy.values.shown_text import shown

MAX_LENGTH = 64
"""Characters of an instant, nanoseconds and an offset included."""

_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9][0-9]-[0-9][0-9])[Tt]([0-9][0-9]:[0-9][0-9]:[0-9][0-9])(\.[0-9]+)?([Zz]|[-+][0-9][0-9]:[0-9][0-9])"
)
_EXAMPLE = 'write for example "2026-11-21T18:00:00Z"'


class InstantError(ValueError):
    """A text that is no instant; `hint` says what to write."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def parse_instant(text: str) -> int:
    """`text` as whole Unix seconds (a fraction of a second is dropped). Raises `InstantError`."""
    if len(text) > MAX_LENGTH:
        message = f"{shown(text)} has {len(text)} characters, an instant has {MAX_LENGTH} at most"
        raise InstantError(message, _EXAMPLE)
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InstantError(f"{shown(text)} is no RFC 3339 instant", _hint(text))
    zone = "+00:00" if match[4] in "Zz" else match[4]
    try:
        return int(datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").timestamp())
    except (ValueError, OverflowError) as error:
        raise InstantError(f"{shown(text)} is no instant: {error}", "check month, day, hour and offset") from error


def _hint(text: str) -> str:
    if re.fullmatch(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]", text):
        return f'write date, time and zone: "{text}T18:00:00Z"'
    if re.fullmatch(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9][Tt ][0-9][0-9]:[0-9][0-9](:[0-9][0-9])?", text):
        seconds = "" if text.count(":") == 2 else ":00"
        return f'add the zone: "{text.replace(" ", "T")}{seconds}Z" for UTC'
    return _EXAMPLE
