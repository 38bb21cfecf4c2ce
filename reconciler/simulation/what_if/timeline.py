"""The week of two policies: when their windows, scheduled budgets and holds are in force."""

from collections.abc import Iterator, Sequence

from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.plan.timeline import Spans, Timeline, Track
from reconciler.policy.documents import PolicySet, Window
from reconciler.policy.windows import next_opening, window_closes_at
from reconciler.simulation.what_if.week import WEEK_SECONDS

MOST_TRACKS, MOST_SPANS = 24, 200
_DAY_SECONDS = 24 * 3600
_Key = tuple[str, str, str]


def timeline(sides: Sequence[tuple[World, PolicySet]], now_seconds: int) -> Timeline | None:
    """The week of `now_seconds` (Unix time) under both policies, main first. Groups with equal spans of one name are one track.
    Those that differ come first. None if nothing is bound to a time."""
    begins = now_seconds - now_seconds % _DAY_SECONDS
    ends = begins + WEEK_SECONDS
    spans = [dict(_spans(world, policy, now_seconds, (begins, ends))) for world, policy in sides]
    lots: dict[tuple[str, str, Spans, Spans], list[str]] = {}
    for key in sorted({key for side in spans for key in side}):
        kind, name, group = key
        before, after = (side.get(key, ()) for side in spans)
        lots.setdefault((kind, name, before, after), []).extend([group] if group else [])
    if not any(before or after for _, _, before, after in lots):
        return None
    tracks = [
        Track(kind=kind, name=name, groups=tuple(groups), before=before, after=after)
        for (kind, name, before, after), groups in lots.items()
    ]
    tracks.sort(key=lambda track: track.before == track.after)
    return Timeline(from_seconds=begins, until_seconds=ends, tracks=tuple(tracks[:MOST_TRACKS]))


def _spans(world: World, policy: PolicySet, now_seconds: int, week: tuple[int, int]) -> Iterator[tuple[_Key, Spans]]:
    for group in effective_groups(world, policy, now_seconds):
        for number, window in enumerate(group.windows, 1):
            yield ("window", window.name or f"#{number}", group.name), open_spans(window, *week)
        if group.hold:
            yield ("hold", "", group.name), ((now_seconds, min(group.hold_until_seconds or week[1], week[1])),)
    for number, budget in enumerate(policy.policy.budgets, 1):
        if budget.schedule:
            window = Window(schedule=budget.schedule, time_zone=budget.time_zone, duration_seconds=budget.duration_seconds)
            yield ("budget", budget.name or f"#{number}", ""), open_spans(window, *week)


def open_spans(window: Window, begins: int, ends: int) -> Spans:
    """When the window is open between two instants (Unix time). After very many spans, it counts as closed."""
    spans: list[tuple[int, int]] = []
    at = begins
    while at < ends and len(spans) < MOST_SPANS:
        closes = window_closes_at(window, at)
        if closes is None:
            opens = next_opening(window, at)
            if opens is None:
                break
            at = opens
            continue
        until = min(closes, ends)
        if spans and spans[-1][1] == at:
            spans[-1] = (spans[-1][0], until)
        else:
            spans.append((at, until))
        at = closes
    return tuple(spans)
