"""The week of windows, budgets and holds of two policies, as bars: main above, this PR below."""

from reconciler.plan.timeline import Spans, Timeline, Track
from reconciler.rendering.documents.preview.week import WEEK, track_words
from reconciler.rendering.printers.html.element import Html, joined, path, tag
from reconciler.rendering.printers.html.page import Section
from reconciler.rendering.words.wording import MAIN, THIS_PR
from reconciler.values.instant import instant_text
from reconciler.values.plural import count_text

_DAYS = 7
_WIDTH, _HEIGHT, _BAR = 84 * _DAYS, 24, 9
_SIDES = (("d", MAIN), ("f", THIS_PR))
"""Colours of the two sides, as in the picture of nodes."""


def week_page(timeline: Timeline) -> Section:
    """One row for each; those that differ first."""
    key = joined(
        tag("li", tag("svg", path(kind, "M1 1h14v10H1z"), width=16, height=12, aria_hidden="true"), name) for kind, name in _SIDES
    )  # fmt: skip
    rows = joined(
        joined((tag("p", track_words(track), class_="name"), tag("div", _drawing(timeline, track), class_="chart")))
        for track in timeline.tracks
    )
    note = f"Seven days from {instant_text(timeline.from_seconds)}, with a line at each midnight."
    body = (tag("ul", key, class_="key"), rows, tag("p", note, class_="soft small"))
    return Section("week", WEEK, joined(body), count_text(len(timeline.differing), "difference"))


def _drawing(timeline: Timeline, track: Track) -> Html:
    words = ", ".join(
        f"{name}: {count_text(len(spans), 'span')}" for name, spans in ((MAIN, track.before), (THIS_PR, track.after))
    )
    days = path("axis", "".join(f"M{_WIDTH * day // _DAYS} 0V{_HEIGHT}" for day in range(_DAYS + 1)))
    bars = (_bars(timeline, spans, kind, 2 + number * (_BAR + 2))
            for number, (spans, (kind, _)) in enumerate(zip((track.before, track.after), _SIDES, strict=True)))  # fmt: skip
    return tag("svg", days, *bars, role="img", aria_label=words, width=_WIDTH, height=_HEIGHT, viewBox=f"0 0 {_WIDTH} {_HEIGHT}")


def _bars(timeline: Timeline, spans: Spans, kind: str, top: int) -> Html:
    whole = timeline.until_seconds - timeline.from_seconds
    at = [[_WIDTH * (instant - timeline.from_seconds) // whole for instant in span] for span in spans]
    drawn = "".join(f"M{x} {top}h{max(1, end - x)}v{_BAR}H{x}z" for x, end in at)
    return path(kind, drawn) if drawn else joined(())
