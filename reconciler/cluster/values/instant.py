"""Instants of objects: what a text means, or what makes its object unreadable."""

from reconciler.cluster.values.quoted import quoted
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.instant import InstantError, InstantFault, parse_instant

_WORDS = {InstantFault.DAY: "the day does not exist", InstantFault.TIME: "the time of day does not exist"}
_WORDS |= {InstantFault.OFFSET: "the offset does not exist"}


def unix_seconds(text: str) -> int:
    """Unix time of an RFC 3339 text; fractions of a second are dropped. Raises `UnreadableError`."""
    try:
        return parse_instant(text)
    except InstantError as error:
        fault = _WORDS.get(error.fault, "write RFC 3339, such as 2026-11-21T18:00:00Z")
        raise UnreadableError(f"invalid time {quoted(text)} ({fault})") from None


def unix_seconds_or_zero(text: str | None) -> int:
    """Unix time of an optional RFC 3339 text, 0 where there is none. Raises `UnreadableError`."""
    return unix_seconds(text) if text else 0
