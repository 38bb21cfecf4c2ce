"""A replay over time in words and as rows of bars: the numbers of its series as people read them."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.values.resources import CPU, MEMORY
from reconciler.plan.replay import Replay, ReplaySeries
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.plain import plain
from reconciler.values.duration import duration_text
from reconciler.values.quantity import amount_text


class ResourceSeries(msgspec.Struct, frozen=True):
    """Demand and capacity of one resource, with its name at the start of a sentence."""

    resource: str
    title: str
    demand: tuple[int, ...]
    capacity: tuple[int, ...]

    def amount(self, value: int) -> str:
        """`12.5 cores`, `48Gi`."""
        text = amount_text(self.resource, value)
        return text if self.resource != CPU else f"{text} core" if text == "1" else f"{text} cores"


def resource_series(series: ReplaySeries) -> tuple[ResourceSeries, ...]:
    """CPU, then memory."""
    return (
        ResourceSeries(CPU, "CPU", series.demand_cpu_milli, series.capacity_cpu_milli),
        ResourceSeries(MEMORY, "Memory", series.demand_memory_bytes, series.capacity_memory_bytes),
    )


COLUMNS = 60
"""Bars in a row."""
_BARS = " ▁▂▃▄▅▆▇█"
_NAMES = ("demand", "capacity", "pending")
_INDENT, _GAP = 4, 2


def bars(values: Sequence[int], most: int) -> str:
    """A character a value: a blank for 0, a full block for `most`; what is above 0 is never blank."""
    return "".join(_BARS[-(-8 * value // most) if most else 0] for value in values)


def columns(values: Sequence[int], step_seconds: int, whole_seconds: int, number: int = COLUMNS) -> tuple[int, ...]:
    """The largest value in each of `number` equal parts of the time; a step that is in two parts counts in both."""
    peaks = []
    for part in range(number):
        first = part * whole_seconds // number // step_seconds
        last = -(-(part + 1) * whole_seconds // number // step_seconds)
        peaks.append(max(values[first : max(first + 1, last)], default=0))
    return tuple(peaks)


def over_time_lines(replay: Replay, names: Sequence[str], width: int) -> list[str]:
    """For each policy a sentence with the main numbers, and a row of bars for demand, capacity and pending pods. Demand and
    capacity are drawn at one scale. Of cpu, or of memory where no pod requests cpu."""
    label = max(len(name) for name in _NAMES)
    number = min(COLUMNS, max(1, width - _INDENT - label - _GAP)) if width else COLUMNS
    lines: list[str] = []
    for name, side in zip(names, replay.sides, strict=True):
        series = side.series
        cpu, memory = resource_series(series)
        one = memory if not any(cpu.demand) and any(memory.demand) else cpu
        parts = [columns(values, series.step_seconds, replay.seconds, number) for values in (one.demand, one.capacity)]
        waiting = columns(series.pending_pods, series.step_seconds, replay.seconds, number)
        scale = max(max(part) for part in parts)
        summary = (
            f"{plain(name)} over {duration_text(replay.seconds)}, {one.title if one is cpu else 'memory'}: demand up to "
            f"{one.amount(max(one.demand))}, capacity up to {one.amount(max(one.capacity))}, pending pods up to {max(waiting):,}"
        )
        lines += ["", *paragraph(summary, width, 2)]
        rows = (*(bars(part, scale) for part in parts), bars(waiting, max(waiting)))
        lines += [
            f"{' ' * _INDENT}{heading.ljust(label)}{' ' * _GAP}{row}".rstrip() for heading, row in zip(_NAMES, rows, strict=True)
        ]
    return lines
