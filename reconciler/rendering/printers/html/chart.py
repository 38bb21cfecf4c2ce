"""Drawings over time as inline SVG: areas, lines, bars and marks on one axis of seconds. Integers only, so bytes are the same."""

import itertools
from collections.abc import Sequence

import msgspec

from reconciler.rendering.printers.html.element import Content, Html, joined, path, tag

WIDTH = 640
_LEFT, _RIGHT = 4, 636
_TOP, _BOTTOM = 30, 200
_STRIP_TOP, _STRIP_BOTTOM = 206, 232
_MARKS = 240
_FOOT, _FOOT_BELOW_STRIP, _BELOW_FOOT = 226, 268, 6
_LABEL_HEIGHT = 26
"""An area gets its number where it is at least so high."""
_LETTER = 12
_AROUND = 6
"""Room for the width of a line at both ends of a small chart."""


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """Across: steps of equal length, the last of which may be shorter. Upwards: from 0 to `most`."""

    step_seconds: int
    whole_seconds: int
    most: int

    def x(self, step: int) -> int:
        """Where a step begins."""
        past = min(step * self.step_seconds, self.whole_seconds)
        return _LEFT + (_RIGHT - _LEFT) * past // max(1, self.whole_seconds)

    def y(self, value: int) -> int:
        """The height of a value."""
        return _BOTTOM - (_BOTTOM - _TOP) * value // max(1, self.most)


def area(axis: Axis, values: Sequence[int], kind: str, below: Sequence[int] | None = None) -> Html:
    """From `below` (the bottom without it) up to below and values."""
    low = below or (0,) * len(values)
    high = [under + value for under, value in zip(low, values, strict=True)]
    if not any(values):
        return joined(())
    forth = _stairs(axis, high)
    back = [(x, y) for x, y in reversed(_stairs(axis, low))]
    return path(kind, f"M{_points([*forth, *back])}z")


def numbered(axis: Axis, number: int, values: Sequence[int], below: Sequence[int]) -> Html:
    """The number of an area where it is highest; nothing where it has no room for one."""
    at = max(range(len(values)), key=lambda step: (values[step], -step))
    top, bottom = axis.y(below[at] + values[at]), axis.y(below[at])
    if bottom - top < _LABEL_HEIGHT:
        return joined(())
    x = min(max((axis.x(at) + axis.x(at + 1)) // 2, _LEFT + _LETTER), _RIGHT - _LETTER)
    return tag("text", number, class_="number", x=x, y=(top + bottom) // 2 + 8, text_anchor="middle")


def stairs(axis: Axis, values: Sequence[int], kind: str, first: int = 0) -> Html:
    """A line that holds each value for its step; `first` is the step of the first value."""
    return path(kind, f"M{_points(_stairs(axis, values, first))}")


def small_chart(words: str, drawn: Content) -> Html:
    """A drawing as wide as its place, without frame and key; `words` is what a screen reader says for it."""
    box = f"0 {_TOP - _AROUND} {WIDTH} {_BOTTOM - _TOP + 2 * _AROUND}"
    ground = path("grid", f"M{_LEFT} {_BOTTOM}H{_RIGHT}")
    return tag("svg", ground, drawn, role="img", aria_label=words, viewBox=box, preserveAspectRatio="none", class_="spark")


def climb(axis: Axis, values: Sequence[int], kind: str) -> Html:
    """A line from 0 through the value at the end of each step."""
    points = [(_LEFT, _BOTTOM), *((axis.x(step + 1), axis.y(value)) for step, value in enumerate(values))]
    return path(kind, f"M{_points(_straight(points))}")


def shaded(axis: Axis, values: Sequence[int]) -> Html:
    """A shade over the steps whose value is above 0, and below the drawing a bar for each, up to the most of them."""
    most = max(values, default=0)
    if not most:
        return joined(())
    shades, columns = [], []
    for step, value in enumerate(values):
        if value:
            x, wide = axis.x(step), max(2, axis.x(step + 1) - axis.x(step))
            high = max(2, (_STRIP_BOTTOM - _STRIP_TOP) * value // most)
            shades.append(f"M{x} {_TOP}h{wide}V{_BOTTOM}h-{wide}z")
            columns.append(f"M{x} {_STRIP_BOTTOM}v-{high}h{wide}v{high}z")
    return joined((path("shade", "".join(shades)), path("waits", "".join(columns))))


def marks(axis: Axis, values: Sequence[int]) -> Html:
    """A small triangle below every step whose value is above 0."""
    positions = [(axis.x(step) + axis.x(step + 1)) // 2 for step, value in enumerate(values) if value]
    drawn = "".join(f"M{min(max(x, _LEFT + 5), _RIGHT - 5)} {_MARKS - 6}l5 10h-10z" for x in positions)
    return path("evicts", drawn) if positions else joined(())


class Caption(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds a drawing: its title, what a screen reader says in its place, the value at its top, and both ends of the
    time. Also whether pending pods and evictions have their room below."""

    title: str
    words: str
    top: str
    ends: tuple[str, str]
    strip: bool = False


def figure(caption: Caption, drawn: Sequence[Content], key: Sequence[Content]) -> Html:
    """A drawing with what stands around it and its key."""
    foot = _FOOT_BELOW_STRIP if caption.strip else _FOOT
    frame = (
        path("grid", f"M{_LEFT} {_TOP}H{_RIGHT}M{_LEFT} {_BOTTOM}H{_RIGHT}"),
        tag("text", caption.top, x=_LEFT, y=_TOP - 8),
        tag("text", caption.ends[0], x=_LEFT, y=foot),
        tag("text", caption.ends[1], x=_RIGHT, y=foot, text_anchor="end"),
    )
    label = f"{caption.title}: {caption.words}"
    svg = tag("svg", *frame, *drawn, role="img", aria_label=label, viewBox=f"0 0 {WIDTH} {foot + _BELOW_FOOT}")
    legend = tag("ul", joined(tag("li", entry) for entry in key), class_="key")
    return tag("figure", tag("figcaption", caption.title), svg, legend, class_="chart sheet")


_SAMPLES = {
    "line": path("line-a", "M2 14H38"),
    "dashed": path("line-b", "M2 14H38"),
    "waits": path("waits", "M4 26v-12h8v12zM16 26v-22h8v22zM28 26v-8h8v8z"),
    "evicts": path("evicts", "M20 6l8 16h-16z"),
}


def key_entry(kind: str, words: str, number: int | None = None) -> Html:
    """A sample of what is drawn, with its number where it has one, and its name."""
    inner = _SAMPLES.get(kind) or tag("rect", class_=kind, x=2, y=2, width=36, height=24)
    label = tag("text", number, class_="number", x=20, y=22, text_anchor="middle") if number is not None else None
    svg = tag("svg", inner, label, viewBox="0 0 40 28", width=20, height=14, aria_hidden="true")
    spoken = f"{number}: {words}" if number is not None else words
    return joined((svg, tag("span", spoken)))


def _stairs(axis: Axis, values: Sequence[int], first: int = 0) -> list[tuple[int, int]]:
    points: list[tuple[int, int]] = []
    for step, value in enumerate(values, first):
        y = axis.y(value)
        if not points or points[-1][1] != y:
            points.append((axis.x(step), y))
        elif len(points) > 1 and points[-2][1] == y:
            points.pop()
        points.append((axis.x(step + 1), y))
    return points


def _straight(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without points that lie between two others at the same height."""
    corners: list[tuple[int, int]] = []
    for point in points:
        if len(corners) > 1 and corners[-1][1] == corners[-2][1] == point[1]:
            corners.pop()
        corners.append(point)
    return corners


def _points(points: Sequence[tuple[int, int]]) -> str:
    """The way from point to point, behind an `M`; level and upright parts take one number."""
    steps = [f"{points[0][0]} {points[0][1]}"]
    for (x, y), (next_x, next_y) in itertools.pairwise(points):
        steps.append(f"H{next_x}" if y == next_y else f"V{next_y}" if x == next_x else f"L{next_x} {next_y}")
    return "".join(steps)
