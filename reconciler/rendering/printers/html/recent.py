"""Figures of the last six hours, each as a line in its tile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from reconciler.rendering.printers.html.chart import Axis, small_chart, stairs
from reconciler.rendering.printers.html.element import NOTHING, Html, joined, tag
from reconciler.values.instant import instant_text

STEP_SECONDS = 120
KEPT_SECONDS = 6 * 3600
MOST = KEPT_SECONDS // STEP_SECONDS
"""Samples that are kept: one a step."""
_BRIDGED = 5
"""So many steps without a sample continue the value before them; a longer pause is a gap in the line."""

_UNITS = (("d", 86_400, 2 * 86_400), ("h", 3600, 3600), ("min", 60, 60))
"""Seconds of one, and from how many seconds on it is used."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The highest values within the step that begins at `at_seconds`. `cost_micros` is per hour; None: nothing has a price.
    `sizes` are replicas by target."""

    at_seconds: int
    nodes: int
    pending: int
    cost_micros: int | None = None
    sizes: Mapping[str, int] = {}


def line(
    title: str,
    samples: Sequence[Sample],
    now_seconds: int,
    value: Callable[[Sample], int | None],
    words: Callable[[int], str],
) -> Html:
    """The line of one figure from six hours ago to `now_seconds`, with its lowest and highest value in `words`. It is empty where
    no sample has a value."""
    begin = now_seconds // STEP_SECONDS - MOST + 1
    known = {sample.at_seconds // STEP_SECONDS - begin: figure for sample in samples if (figure := value(sample)) is not None}
    steps = {step: amount for step, amount in known.items() if 0 <= step < MOST}
    if not steps:
        return NOTHING
    low, high = words(min(steps.values())), words(max(steps.values()))
    span = span_words((MOST - min(steps)) * STEP_SECONDS)
    spread = low if low == high else f"{low} to {high}"
    axis = Axis(step_seconds=STEP_SECONDS, whole_seconds=KEPT_SECONDS, most=max(steps.values()))
    drawn = joined(stairs(axis, values, "line-a", first) for first, values in _runs(steps))
    return joined((small_chart(f"{title}, last {span}: {spread}", drawn), tag("span", f"last {span}: {spread}", class_="line")))


def size_lines(samples: Sequence[Sample], now_seconds: int, names: Mapping[str, str]) -> dict[str, Html]:
    """The lines of groups by target, with the `names` of the groups. One whose size never changed has none."""

    def of(target: str) -> Callable[[Sample], int | None]:
        return lambda sample: sample.sizes.get(target)

    moved = [name for name in names if len({sample.sizes.get(name) for sample in samples} - {None}) > 1]
    return {target: line(names[target], samples, now_seconds, of(target), "{:,}".format) for target in moved}


def lasting(since_seconds: int, now_seconds: int) -> Html:
    """`for 12 s`, with the instant of its beginning for who points at it."""
    instant = instant_text(since_seconds)
    return tag("time", f"for {span_words(now_seconds - since_seconds)}", datetime=instant, title=f"since {instant}")


def ago(at_seconds: int, now_seconds: int) -> Html:
    """`12 s ago`, with the instant for who points at it."""
    instant = instant_text(at_seconds)
    return tag("time", f"{span_words(now_seconds - at_seconds)} ago", datetime=instant, title=instant)


def span_words(seconds: int) -> str:
    """`12 s`, `3 min`, `6 h`, `2 d`: rounded down to the largest unit."""
    for unit, length, least in _UNITS:
        if seconds >= least:
            return f"{seconds // length} {unit}"
    return f"{max(0, seconds)} s"


def _runs(steps: dict[int, int]) -> Iterator[tuple[int, list[int]]]:
    """First step and values of each part of the line."""
    filled: list[tuple[int, int]] = []
    last, value = -1 - _BRIDGED, 0
    for step in range(MOST):
        if step in steps:
            last, value = step, steps[step]
        if last >= 0 and step - last <= _BRIDGED:
            filled.append((step, value))
    for _, run in groupby(enumerate(filled), lambda entry: entry[1][0] - entry[0]):
        part = [entry for _, entry in run]
        yield part[0][0], [value for _, value in part]
