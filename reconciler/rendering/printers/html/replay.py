"""A replay as charts and tables: a page of its own, and a part of the report of a preview."""

from collections.abc import Sequence
from decimal import Decimal

from reconciler.plan.money import money_text
from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.replay import (
    FIRST_OF_WHAT_WAS_DONE,
    FigureLine,
    figure_lines,
    heading_words,
    note_words,
    side_names,
    target_lines,
)
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
from reconciler.rendering.printers.html.page import Head, Section, counted, document, fold, scrolling
from reconciler.rendering.printers.html.plan import change, foot
from reconciler.rendering.printers.over_time import ResourceSeries, resource_series
from reconciler.rendering.words.plain import shortened
from reconciler.values.duration import duration_text

# Charts over time: CPU, nodes and cost at once, memory folded. The policies of a replay are drawn at the same scale.

_NAME = 48
"""Characters of a name in a title or a key."""
_FILLS = ("p", "f", "d")
_NOBODY, _OTHERS = "nodes that no group sizes", "all other targets"


def _charts(replay: Replay, names: Sequence[str], *, few: bool = False) -> Html:
    """`few`: nodes are folded too, as a part of a longer page."""
    sides = [(_title(names, name), side) for name, side in zip(names, replay.sides, strict=True)]
    cpu, memory = ([_resource(replay, sides, side, title, which) for title, side in sides] for which in (0, 1))
    nodes = [_nodes(replay, title, side) for title, side in sides]
    cost = _cost(replay, names)
    paid = [] if cost is None else [cost]
    if few:
        return joined((_beside([*cpu, *paid]), fold("Nodes by group and memory over time", _beside([*nodes, *memory]))))
    drawn = [part for parts in zip(cpu, nodes, strict=True) for part in parts]
    return joined((_beside([*drawn, *paid]), fold("Memory over time", _beside(memory))))


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
    """Nodes by target, one on the other; each has a number in the drawing and in the key."""
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
    for index, (name, values) in enumerate(parts):
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


# The section, and the page.

_MOST_TARGETS = 300


def replay_section(replay: Replay) -> Section:
    """Charts over time and the figures a policy, then node hours by target, folded; a column of differences where there are two
    policies."""
    names = side_names(replay)
    parts: list[Content] = [
        tag("p", plain_sentence(heading_words(replay)), class_="soft"),
        _charts(replay, names, few=True),
        *_tables(replay, names),
        *(tag("p", plain_sentence(note), class_="soft") for note in note_words(replay)),
    ]
    return Section("replay", "Replay of recorded demand", joined(parts), counted(replay.peak_demand_pods, "pod") + " at the peak")


def replay_html(replay: Replay) -> str:
    """One self-contained file without a script; bounded whatever the trace."""
    names = side_names(replay)
    notes = note_words(replay)
    warning = joined(tag("span", plain_sentence(note), class_="line") for note in notes) if notes else None
    head = Head(
        title="What this demand comes to",
        lead=plain_sentence(heading_words(replay)),
        facts=tuple((label, name) for label, name in zip(("policy", "against"), names, strict=False)),
        figures=_tiles(replay),
        warning=warning,
    )
    over_time = Section("over-time", "Over time", _charts(replay, names))
    tables = Section("figures", "Figures", joined(_tables(replay, names)))
    return document(head, [over_time, tables], None, foot("", None)[1:])


_TILES = ("cost", "time to schedule, p99", "pods that never got a node", "peak nodes")


def _tiles(replay: Replay) -> list[tuple[str, Content, Content]]:
    """What is asked first, with the difference of two policies."""
    lines = {line.name: line for line in figure_lines(replay)}
    return [(name.capitalize(), change(lines[name].cells[0], lines[name].cells[-1]), lines[name].change) for name in _TILES]


def _tables(replay: Replay, names: Sequence[str]) -> list[Content]:
    lines = figure_lines(replay)
    first = [line.name for line in lines].index(FIRST_OF_WHAT_WAS_DONE)
    done = scrolling("Replay, actions by policy", _table("", names, lines[first:]))
    parts: list[Content] = [
        scrolling("Replay, figures by policy", _table("", names, lines[:first])),
        fold("Nodes and evictions", done),
    ]
    targets = target_lines(replay)
    if targets:
        shown = scrolling("Replay, node hours by target", _table("target", names, targets[:_MOST_TARGETS]))
        left = len(targets) - _MOST_TARGETS
        note = tag("p", f"{counted(left, 'target')} left out. All are in -o json.", class_="soft") if left > 0 else None
        parts.append(tag("details", tag("summary", "Node hours by target"), shown, note))
    return parts


def _table(title: str, names: Sequence[str], lines: Sequence[FigureLine]) -> Html:
    two = len(names) == 2
    heads = [tag("th", title or tag("span", "figure", class_="sr"), scope="col")]
    heads += [tag("th", name, scope="col", class_="r") for name in names]
    heads += [tag("th", "change", scope="col", class_="r")] if two else []
    body = tag("tbody", joined(_row(line, two=two) for line in lines))
    return tag("table", tag("thead", tag("tr", joined(heads))), body, class_="few")


def _row(line: FigureLine, *, two: bool) -> Html:
    cells = [tag("th", line.name, scope="row", class_="name")]
    cells += [tag("td", cell, class_="r") for cell in line.cells]
    cells += [tag("td", line.change, class_="r")] if two else []
    return tag("tr", joined(cells))
