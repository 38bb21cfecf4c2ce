"""What demand of the past comes to under one policy or two, as a part of a report."""

from collections.abc import Sequence

from reconciler.plan.replay import Replay
from reconciler.rendering.html.element import Content, Html, joined, tag
from reconciler.rendering.html.page import Section, counted, scrolling
from reconciler.rendering.simulation_words import FigureLine, figure_lines, heading_words, note_words, side_names, target_lines

_MOST_TARGETS = 300


def replay_section(replay: Replay) -> Section:
    """The figures a policy, then node hours by target, folded; a column of differences where there are two policies."""
    names = side_names(replay)
    parts: list[Content] = [
        tag("p", heading_words(replay), class_="soft"),
        scrolling("Replay, figures by policy", _table("", names, figure_lines(replay))),
    ]
    targets = target_lines(replay)
    if targets:
        shown = scrolling("Replay, node hours by target", _table("target", names, targets[:_MOST_TARGETS]))
        left = len(targets) - _MOST_TARGETS
        note = tag("p", f"{counted(left, 'target')} left out; -o json has all.", class_="soft") if left > 0 else None
        parts.append(tag("details", tag("summary", "Node hours by target"), shown, note))
    parts += [tag("p", note, class_="soft") for note in note_words(replay)]
    return Section("replay", "Replay of recorded demand", joined(parts), counted(replay.peak_demand_pods, "pod") + " at the peak")


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
