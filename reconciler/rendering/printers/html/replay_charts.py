"""Charts over time: CPU, nodes and cost, with memory folded. The policies of a replay share one scale."""

from collections.abc import Sequence
from decimal import Decimal

from reconciler.plan.money import money_text
from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.rendering.printers.html.chart import (
    Axis,
    Caption,
    area,
    climb,
    figure,
    key_entry,
    marks,
    numbered,
    shaded,
    stairs,
)
from reconciler.rendering.printers.html.element import Content, Html, joined, tag
from reconciler.rendering.printers.html.page import counted, fold
from reconciler.rendering.printers.over_time import ResourceSeries, resource_series
from reconciler.rendering.words.plain import shortened
from reconciler.values.duration import duration_text

_NAME = 48
"""Characters of a name in a title or a key."""
_FILLS = ("p", "f", "d")
_NOBODY, _OTHERS = "nodes that no group sizes", "all other targets"


def charts_over_time(replay: Replay, names: Sequence[str], *, few: bool = False) -> Html:
    """`few`: nodes are folded too, as a part of a longer page."""
    sides = [(_title(names, name), side) for name, side in zip(names, replay.sides, strict=True)]
    cpu, memory = ([_resource(replay, sides, side, title, which) for title, side in sides] for which in (0, 1))
    nodes = [_nodes(replay, title, side) for title, side in sides]
    cost = _cost(replay, names)
    paid = [] if cost is None else [cost]
    if few:
        return joined((_beside([*cpu, *paid]), fold("Nodes by group and memory over time", _beside([*nodes, *memory]))))
    # Of three columns, both policies have one each.
    return joined((_beside([*cpu, *paid, *nodes]), fold("Memory over time", _beside(memory))))


def _beside(charts: Sequence[Html]) -> Html:
    return tag("div", joined(charts), class_="pictures")


def _title(names: Sequence[str], name: str) -> str:
    """What stands behind the title of a chart: nothing where there is one policy."""
    return f", {shortened(name, _NAME)}" if len(names) > 1 else ""


def _ends(replay: Replay) -> tuple[str, str]:
    return replay.start, f"{duration_text(replay.seconds)} later"


def _axis(replay: Replay, side: ReplayFigures, most: int) -> Axis:
    return Axis(step_seconds=side.series.step_seconds, whole_seconds=replay.seconds, most=most)


def _most(series: ResourceSeries) -> int:
    return max(*series.demand, *series.capacity)


def _resource(replay: Replay, sides: Sequence[tuple[str, ReplayFigures]], side: ReplayFigures, title: str, which: int) -> Html:
    """Demand as an area, capacity as a line above it; where pods are pending it is shaded. `which`: 0 CPU, 1 memory."""
    series, shown = side.series, resource_series(side.series)[which]
    most = max(_most(resource_series(other.series)[which]) for _, other in sides)
    axis = _axis(replay, side, most)
    demand, capacity = (shown.amount(max(values)) for values in (shown.demand, shown.capacity))
    pending, evicted = max(series.pending_pods), sum(series.evictions)
    steps = sum(pods > 0 for pods in series.pending_pods)
    facts = [f"demand up to {demand}", f"capacity up to {capacity}"]
    key = [key_entry("p", facts[0]), key_entry("line", facts[1])]
    if pending:
        facts.append(f"up to {counted(pending, 'pod')} pending, in {steps} of {len(series.pending_pods)} steps")
        key.append(key_entry("waits", f"shaded, bars below: pods pending, up to {pending:,}"))
    else:
        facts.append("no pod pending")
    facts.append(f"{counted(evicted, 'pod')} evicted")
    if evicted:
        key.append(key_entry("evicts", f"{counted(evicted, 'pod')} evicted"))
    drawn = [
        area(axis, shown.demand, "p"),
        shaded(axis, series.pending_pods),
        stairs(axis, shown.capacity, "line-a"),
        marks(axis, series.evictions),
    ]
    words = Caption(
        title=f"{shown.title}: demand and capacity{title}",
        words=", ".join(facts),
        top=shown.amount(most),
        ends=_ends(replay),
        strip=True,
    )
    return figure(words, drawn, key)


def _nodes(replay: Replay, title: str, side: ReplayFigures) -> Html:
    """Nodes by target, one on the other. Each has a number in the drawing and in the key; number and colour are those that it
    has under every policy."""
    series = side.series
    most = max(max(other.series.nodes) for other in replay.sides)
    axis = _axis(replay, side, most)
    parts = [(shortened(line.target, _NAME) or _NOBODY, line.nodes) for line in series.targets]
    named = [sum(column) for column in zip(*(values for _, values in parts), strict=True)] or [0] * len(series.nodes)
    rest = tuple(total - known for total, known in zip(series.nodes, named, strict=True))
    parts += [(_OTHERS, rest)] if any(rest) else []
    below = (0,) * len(series.nodes)
    areas: list[Content] = []
    numbers: list[Content] = []
    key: list[Content] = []
    order = [
        *dict.fromkeys(shortened(line.target, _NAME) or _NOBODY for one in replay.sides for line in one.series.targets),
        _OTHERS,
    ]
    for name, values in parts:
        index = order.index(name)
        kind = f"{_FILLS[index % len(_FILLS)]} layer"
        areas.append(area(axis, values, kind, below))
        numbers.append(numbered(axis, index + 1, values, below))
        key.append(key_entry(kind, f"{name}, up to {max(values):,}", index + 1))
        below = tuple(under + value for under, value in zip(below, values, strict=True))
    facts = [f"up to {counted(max(series.nodes), 'node')}", f"{series.nodes[-1]:,} at the end"]
    facts += [f"{name} up to {max(values):,}" for name, values in parts]
    shown = [tag("span", f"{facts[0]}, {facts[1]}"), *key]
    words = Caption(title=f"Nodes by group{title}", words=", ".join(facts), top=counted(most, "node"), ends=_ends(replay))
    return figure(words, [*areas, *numbers], shown)


def _cost(replay: Replay, names: Sequence[str]) -> Html | None:
    """What has been paid up to each instant under all policies; None where no price is known."""
    curves = [
        (name, side, tuple(int(Decimal(amount) * 100) for amount in side.series.cost))
        for name, side in zip(names, replay.sides, strict=True)
        if side.series.cost is not None
    ]
    if not curves:
        return None
    most = max(values[-1] for _, _, values in curves)
    drawn, key, facts = [], [], []
    for (name, side, values), kind, sample in zip(curves, ("line-a", "line-b"), ("line", "dashed"), strict=False):
        drawn.append(climb(_axis(replay, side, most), values, kind))
        words = f"{shortened(name, _NAME)}: {money_text(Decimal(values[-1]) / 100, replay.currency)} in the end"
        key.append(key_entry(sample, words))
        facts.append(words)
    top = money_text(Decimal(most) / 100, replay.currency)
    return figure(Caption(title="Cost so far", words=", ".join(facts), top=top, ends=_ends(replay)), drawn, key)
