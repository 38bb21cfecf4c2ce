"""Which recurring windows are open at an instant."""

import msgspec

from reconciler.policy.documents import Window
from reconciler.policy.values.schedule import last_opening


class OpenWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window that is open, and when it closes (Unix seconds)."""

    window: Window
    index: int
    until_seconds: int


def closes_at(schedule: str, time_zone: str, duration_seconds: int, now_seconds: int) -> int | None:
    """When the span that is open at `now_seconds` closes; None when none is open.

    A span opens at a start of the cron schedule and lasts `duration_seconds`, its end excluded; a later start extends it.
    """
    opened = last_opening(schedule, time_zone, now_seconds)
    if opened is None or opened + duration_seconds <= now_seconds:
        return None
    return opened + duration_seconds


def open_windows(windows: tuple[Window, ...], now_seconds: int) -> tuple[OpenWindow, ...]:
    """Those of `windows` that are open, in their order."""
    found = []
    for index, window in enumerate(windows):
        until = closes_at(window.schedule, window.time_zone, window.duration_seconds, now_seconds)
        if until is not None:
            found.append(OpenWindow(window=window, index=index, until_seconds=until))
    return tuple(found)
