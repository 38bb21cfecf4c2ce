"""A replay as a document and as JSON: its figures in words, the same on a terminal, on a page and in a pull request."""

from collections.abc import Callable
from decimal import Decimal

import msgspec

from reconciler.plan.money import money_text
from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.plan.waiting_times import falls_on_never
from reconciler.rendering.documents.blocks import (
    Block,
    Column,
    Document,
    Foreign,
    OverTime,
    Paragraph,
    Sentence,
    Table,
    names_listed,
)
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.unobserved import unobserved_words
from reconciler.values.decoding import convert
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text

_UNKNOWN = "unknown"
COULD_NOT_GROW = "no group could grow, so the figures say nothing about this policy"


FIRST_OF_WHAT_WAS_DONE = "nodes grown before the figures begin"
"""Lines before it tell of availability and cost."""
EVICTED = "pods evicted"


class FigureLine(msgspec.Struct, frozen=True):
    """One line of the table: what it is, one cell per policy, and the difference of two (empty where there is none to show)."""

    name: str
    cells: tuple[str, ...]
    change: str = ""


def heading_words(replay: Replay) -> Sentence:
    """`trace pool-2 · cluster prod · 96h of virtual time`."""
    cluster = (" · cluster ", Foreign(replay.cluster)) if replay.cluster else ()
    when = f" · {duration_text(replay.seconds)} from {replay.start} · up to {count_text(replay.peak_demand_pods, 'pod')}"
    return ("trace ", Foreign(replay.trace), *cluster, when)


def found_words(replay: Replay) -> str:
    """`spare: +$52.65, 0 evictions (48), longest wait 0s (90s)`: the last policy, with the figures of the first in brackets."""
    lines = {line.name: line for line in figure_lines(replay)}
    cost, evicted, wait = (lines[name] for name in ("cost", EVICTED, "time to schedule, longest"))
    money = cost.change.partition(" (")[0] or ("same cost" if cost.cells[1:] else cost.cells[0])
    priced = () if _UNKNOWN in cost.cells else (money,)
    noun = "eviction" if evicted.cells[-1] == "1" else "evictions"
    other = [f" ({line.cells[0]})" if line.change else "" for line in (evicted, wait)]
    facts = (*priced, f"{evicted.cells[-1]} {noun}{other[0]}", f"longest wait {wait.cells[-1]}{other[1]}")
    return f"{side_names(replay)[-1]}: {', '.join(facts)}"


def side_names(replay: Replay) -> tuple[str, ...]:
    """A heading a policy: its name, with where it was read from when two have the same."""
    names = [side.policy for side in replay.sides]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(side.source or side.policy for side in replay.sides)


def figure_lines(replay: Replay) -> tuple[FigureLine, ...]:
    """Availability first, then cost, then what was done."""
    sides, currency = replay.sides, replay.currency
    lines = [
        _waits(sides, "p50", 50, lambda side: side.wait_p50_seconds),
        _waits(sides, "p95", 95, lambda side: side.wait_p95_seconds),
        _waits(sides, "p99", 99, lambda side: side.wait_p99_seconds),
        _waits(sides, "longest", 100, lambda side: side.wait_max_seconds),
        _counts(sides, "pods that never got a node", lambda side: side.pods_never_placed),
        _tenths(sides, "unplaced pod minutes", lambda side: side.unplaced_pod_seconds, 60),
        _share(sides, "pod time with a node", lambda side: side.served_ppm, 10_000),
        _counts(sides, "pods pending at the end", lambda side: side.pods_pending),
    ]
    if any(side.zone_spread_permille is not None for side in sides):
        lines.append(_share(sides, "spread over zones", lambda side: side.zone_spread_permille, 10))
    lines += [
        _tenths(sides, "node hours", lambda side: side.node_seconds, 3600),
        _money(sides, "cost", lambda side: side.cost, currency),
        _tenths(sides, "pod minutes lost by evictions", lambda side: side.lost_pod_seconds, 60),
        _money(sides, "cost of lost work", lambda side: side.lost_cost, currency),
        _counts(sides, FIRST_OF_WHAT_WAS_DONE, lambda side: side.lead_grown_nodes),
        _counts(sides, "nodes when the figures begin", lambda side: side.start_nodes),
        _counts(sides, "peak nodes", lambda side: side.peak_nodes),
        _counts(sides, "nodes grown", lambda side: side.grown_nodes),
        _counts(sides, "nodes removed", lambda side: side.removed_nodes),
        _counts(sides, EVICTED, lambda side: side.evictions),
    ]
    for name, read in (("machines failed", _failed), ("writes refused", _refused)):
        if any(read(side) for side in sides):
            lines.append(_counts(sides, name, read))
    return tuple(lines)


def target_lines(replay: Replay) -> tuple[FigureLine, ...]:
    """Node hours of every target that had a node at all; nodes of nobody last."""
    hours: dict[str, list[int]] = {}
    for index, side in enumerate(replay.sides):
        for line in side.targets:
            hours.setdefault(line.target, [0] * len(replay.sides))[index] = line.node_seconds
    return tuple(
        FigureLine(
            Foreign(target or "nodes that no group sizes"),
            tuple(f"{seconds / 3600:,.1f}" for seconds in node_seconds),
            _signed(node_seconds[1] - node_seconds[0], 3600) if len(node_seconds) == 2 else "",
        )
        for target, node_seconds in sorted(hours.items(), key=lambda item: (not item[0], item[0]))
        if any(node_seconds)
    )


def note_words(replay: Replay) -> tuple[Sentence, ...]:
    """What the figures leave out, and why they may say nothing."""
    notes: list[Sentence] = []
    for name, side in zip(side_names(replay), replay.sides, strict=True):
        if not side.could_grow:
            notes.append((Foreign(name), f": {COULD_NOT_GROW}"))
        if side.held_groups:
            notes.append((Foreign(name), ": held all the time: ", *names_listed(side.held_groups, NAMES_SHOWN)))
        if side.groups_without_template:
            names = names_listed(side.groups_without_template, NAMES_SHOWN)
            notes.append((Foreign(name), ": the capacity of a new node is unknown: ", *names))
    without = sorted({target for side in replay.sides for target in side.unpriced})
    notes += ((words,) for words in unobserved_words(replay.unobserved_seconds))
    return (*notes, *((("without a price, so not in the cost: ", *names_listed(without, 0)),) if without else ()))


_Read = Callable[[ReplayFigures], int]


def _failed(side: ReplayFigures) -> int:
    return side.machines_failed


def _refused(side: ReplayFigures) -> int:
    return side.writes_refused


def _waits(sides: tuple[ReplayFigures, ...], name: str, percent: int, read: _Read) -> FigureLine:
    """Of pods that never got a node nobody knows how long they would have waited, nor any difference."""
    values = [read(side) for side in sides]
    never = [falls_on_never(percent, side.pods_placed, side.pods_never_placed) for side in sides]
    cells = (f"longer than {duration_text(value)}" if late else f"{value}s" for value, late in zip(values, never, strict=True))
    change = f"{values[1] - values[0]:+}s" if len(values) == 2 and values[0] != values[1] and not any(never) else ""
    return FigureLine(f"time to schedule, {name}", tuple(cells), change)


def _counts(sides: tuple[ReplayFigures, ...], name: str, read: _Read) -> FigureLine:
    values = [read(side) for side in sides]
    change = f"{values[1] - values[0]:+,}" if len(values) == 2 and values[0] != values[1] else ""
    return FigureLine(name, tuple(f"{value:,}" for value in values), change)


def _tenths(sides: tuple[ReplayFigures, ...], name: str, read: _Read, unit: int) -> FigureLine:
    values = [read(side) for side in sides]
    change = _signed(values[1] - values[0], unit) if len(values) == 2 else ""
    if change and values[0]:
        change += f" ({100 * (values[1] - values[0]) / values[0]:+.1f}%)"
    return FigureLine(name, tuple(f"{value / unit:,.1f}" for value in values), change)


def _signed(difference: int, unit: int) -> str:
    return f"{difference / unit:+,.1f}" if difference else ""


def _share(sides: tuple[ReplayFigures, ...], name: str, read: Callable[[ReplayFigures], int | None], percent: int) -> FigureLine:
    """`percent` is what one percent is in the unit of the value."""
    values = [read(side) for side in sides]
    digits = len(str(percent)) - 1
    cells = tuple("-" if value is None else f"{value / percent:.{digits}f}%" for value in values)
    first, last = values[0], values[-1]
    known = len(values) == 2 and first is not None and last is not None and first != last
    change = f"{(last - first) / percent:+.{digits}f}" if known and first is not None and last is not None else ""
    return FigureLine(name, cells, change)


def _money(sides: tuple[ReplayFigures, ...], name: str, read: Callable[[ReplayFigures], str | None], currency: str) -> FigureLine:
    values = [read(side) for side in sides]
    cells = tuple(_UNKNOWN if value is None else Foreign(money_text(Decimal(value), currency)) for value in values)
    change = ""
    if len(values) == 2 and values[0] is not None and values[1] is not None and values[0] != values[1]:
        difference = Decimal(values[1]) - Decimal(values[0])
        change = money_text(difference, currency, signed=True)
        if Decimal(values[0]):
            change += f" ({100 * difference / Decimal(values[0]):+.1f}%)"
        change = Foreign(change)
    return FigureLine(name, cells, change)


FORMAT_VERSION = "1.0"


SimulationDocument = msgspec.defstruct(
    "SimulationDocument",
    [("format_version", str, FORMAT_VERSION), *((field.name, field.type) for field in msgspec.structs.fields(Replay))],
    frozen=True,
    kw_only=True,
    rename="camel",
    module=__name__,
    namespace={"__doc__": "`simulate -o json`: one trace, and one entry in `sides` per policy, that of `--policy` first."},
)
"""A replay behind the version of its form, which a subclass would put last."""


def replay_values(replay: Replay) -> msgspec.Struct:
    """The replay behind the version of its form, for programs."""
    return convert(replay, SimulationDocument, from_attributes=True)


def with_side_names(replay: Replay, names: tuple[str, ...]) -> Replay:
    """The same figures under other names, such as those of the two sides of a preview; a replay of one policy keeps its name."""
    if len(replay.sides) != len(names):
        return replay
    sides = (msgspec.structs.replace(side, policy=name) for side, name in zip(replay.sides, names, strict=True))
    return msgspec.structs.replace(replay, sides=tuple(sides))


def replay_blocks(replay: Replay) -> tuple[Block, ...]:
    """What it was, the figures and what they leave out, as a part of something else."""
    return (
        Paragraph(heading_words(replay)),
        _table(replay, figure_lines(replay)),
        *map(Paragraph, note_words(replay)),
    )


def replay_document(replay: Replay) -> Document:
    """A table with a column a policy, and the difference of two; then curves, and node hours by target."""
    heading, figures, *notes = replay_blocks(replay)
    targets = msgspec.structs.replace(_table(replay, target_lines(replay), "target"), title="node hours by target")
    curves = OverTime(replay, side_names(replay))
    return Document(title="What this demand comes to", blocks=(heading, figures, curves, targets, *notes))


def _table(replay: Replay, lines: tuple[FigureLine, ...], heading: str = "") -> Table:
    change = ("change",) if len(replay.sides) == 2 else ()
    names = (*map(Foreign, side_names(replay)), *change)
    columns = (Column(heading=heading, shrinks=True), *(Column(heading=name, right=True) for name in names))
    return Table(columns=columns, rows=tuple((line.name, *line.cells, *((line.change,) if change else ())) for line in lines))
