"""When a window of a group is open: by a cron schedule, between two dates, or by a schedule between two dates."""

from collections.abc import Iterator

import msgspec

from reconciler.policy.documents import GroupFields, Window
from reconciler.policy.values.schedule import last_opening, openings_after
from reconciler.values.instant import instant_text


class OpenWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window that is open, and when it closes (Unix seconds)."""

    window: Window
    index: int
    until_seconds: int

    @property
    def name(self) -> str:
        """The name that plans show: its own, else its number and when it opens."""
        window = self.window
        opens = window.schedule or f"from {instant_text(window.from_seconds or 0)}"
        return window.name or f"#{self.index + 1} ({opens})"


def closes_at(schedule: str, time_zone: str, duration_seconds: int, now_seconds: int) -> int | None:
    """When the span that is open at `now_seconds` closes; None when none is open.

    A span opens at a start of the cron schedule and lasts `duration_seconds`, its end excluded; a later start extends it.
    """
    opened = last_opening(schedule, time_zone, now_seconds)
    if opened is None or opened + duration_seconds <= now_seconds:
        return None
    return opened + duration_seconds


def window_closes_at(window: Window, now_seconds: int) -> int | None:
    """When the window closes if it is open at `now_seconds` (Unix time), else None. Its end is excluded."""
    if not _in_dates(window, now_seconds):
        return None
    if not window.schedule:
        return window.until_seconds
    closes = closes_at(window.schedule, window.time_zone, window.duration_seconds or 0, now_seconds)
    if closes is None or window.until_seconds is None:
        return closes
    return min(closes, window.until_seconds)


def open_windows(windows: tuple[Window, ...], now_seconds: int) -> tuple[OpenWindow, ...]:
    """Those of `windows` that are open, in their order."""
    closing = ((index, window, window_closes_at(window, now_seconds)) for index, window in enumerate(windows))
    return tuple(
        OpenWindow(window=window, index=index, until_seconds=until) for index, window, until in closing if until is not None
    )


def next_opening(window: Window, after_seconds: int) -> int | None:
    """The first instant after `after_seconds` (Unix time) at which the window opens; None if it never opens again."""
    begins, ends = window.from_seconds, window.until_seconds
    if begins is not None and after_seconds < begins:
        # A span of the schedule that began earlier opens the window at its first date.
        if window_closes_at(window, begins) is not None:
            return begins
        after_seconds = begins
    if not window.schedule:
        return None
    opening = next(openings_after(window.schedule, window.time_zone, after_seconds), None)
    return None if opening is None or (ends is not None and opening >= ends) else opening


def window_edges(window: Window, after_seconds: int) -> Iterator[int]:
    """The next opening and, if the window is open, its end: instants after `after_seconds` (Unix time)."""
    edges = (next_opening(window, after_seconds), window_closes_at(window, after_seconds))
    yield from (edge for edge in edges if edge is not None)


def window_level(opened: OpenWindow) -> GroupFields | None:
    """What an open window sets in place of all other levels; None if it sets bounds only."""
    level = GroupFields(scale_down=opened.window.scale_down)
    return None if level == _NOTHING else level


_NOTHING = GroupFields()


def _in_dates(window: Window, now_seconds: int) -> bool:
    begins, ends = window.from_seconds, window.until_seconds
    return (begins is None or begins <= now_seconds) and (ends is None or now_seconds < ends)
