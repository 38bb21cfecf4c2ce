"""The week of windows, budgets and holds that differ, as bars of text."""

from collections.abc import Iterator
from datetime import UTC, datetime

from reconciler.plan.timeline import Spans, Timeline, Track
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed, plain
from reconciler.rendering.words.wording import MAIN, THIS_PR
from reconciler.values.plural import count_text

WEEK = "Week of windows, budgets and holds"
CELL_SECONDS = 3 * 3600
_CELLS_OF_A_DAY = 24 * 3600 // CELL_SECONDS
_MOST_TRACKS = 4
_MARGIN = max(len(MAIN), len(THIS_PR)) + 3
_LONGEST_NAME = 70


def week_section(timeline: Timeline | None) -> Iterator[tree.Section]:
    """Both sides of each track that differs, below the days; a cell is filled where it is in force at any time of it."""
    if timeline is None or not timeline.differing:
        return
    days = (datetime.fromtimestamp(at, UTC) for at in range(timeline.from_seconds, timeline.until_seconds, 24 * 3600))
    lines = [f"{'UTC':<{_MARGIN}}{''.join(f'{day:%a %d}'.ljust(_CELLS_OF_A_DAY) for day in days)}".rstrip()]
    for track in timeline.differing[:_MOST_TRACKS]:
        lines.append(plain(track_words(track))[:_LONGEST_NAME])
        lines += [
            f"  {name:<{_MARGIN - 2}}{_bar(timeline, spans)}" for name, spans in ((MAIN, track.before), (THIS_PR, track.after))
        ]
    left = len(timeline.differing) - _MOST_TRACKS
    lines += [f"and {left} more"] if left > 0 else []
    yield tree.Section(WEEK, len(timeline.differing), (), "track", (tree.Code(tuple(lines), what="bar"),), drop=2)


def track_words(track: Track) -> str:
    """`window night of auto, big`, `budget evening-peak`, `hold of 12 groups`."""
    groups = listed(track.groups, NAMES_SHOWN) if len(track.groups) <= NAMES_SHOWN + 1 else count_text(len(track.groups), "group")
    return " ".join(part for part in (track.kind, track.name, f"of {groups}" if track.groups else "") if part)


def _bar(timeline: Timeline, spans: Spans) -> str:
    cells = range(timeline.from_seconds, timeline.until_seconds, CELL_SECONDS)
    return "".join("■" if any(start < at + CELL_SECONDS and at < end for start, end in spans) else "·" for at in cells)
