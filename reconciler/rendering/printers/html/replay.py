"""A replay as charts and tables: a page of its own, and a part of the report of a preview."""

from collections.abc import Sequence

from reconciler.plan.replay import Replay
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.replay import (
    EVICTED,
    FIRST_OF_WHAT_WAS_DONE,
    FigureLine,
    figure_lines,
    found_words,
    heading_words,
    note_words,
    side_names,
    target_lines,
)
from reconciler.rendering.printers.html.element import Content, Html, joined, tag
from reconciler.rendering.printers.html.page import Head, Section, counted, document, fold, scrolling
from reconciler.rendering.printers.html.plan import change, foot
from reconciler.rendering.printers.html.replay_charts import charts_over_time
from reconciler.rendering.words.plain import shortened

_MOST_TARGETS = 300


def replay_section(replay: Replay) -> Section:
    """Charts over time and the figures a policy, then node hours by target, folded; a column of differences where there are two
    policies."""
    names = side_names(replay)
    parts: list[Content] = [
        tag("p", plain_sentence(heading_words(replay)), class_="soft"),
        charts_over_time(replay, names, few=True),
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
        title=plain_sentence(heading_words(replay)),
        lead=shortened(found_words(replay), _LEAD),
        facts=tuple((label, name) for label, name in zip(("policy", "against"), names, strict=False)),
        figures=_tiles(replay),
        warning=warning,
    )
    over_time = Section("over-time", "Over time", charts_over_time(replay, names))
    tables = Section("figures", "Figures", joined(_tables(replay, names)))
    return document(head, [over_time, tables], None, foot("", None)[1:])


_LEAD = 120
_TILES = ("cost", "time to schedule, p99", "pods that never got a node", "peak nodes", EVICTED)


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
