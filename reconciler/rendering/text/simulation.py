"""A replay as text, as markdown and as JSON."""

import msgspec

from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.rendering.json_text import json_text
from reconciler.rendering.markdown_code import code, folded
from reconciler.rendering.markdown_code import table as markdown_table
from reconciler.rendering.plain import plain
from reconciler.rendering.simulation_words import FigureLine, figure_lines, heading_words, note_words, side_names, target_lines
from reconciler.rendering.text.layout import Column, Row, Style, Tone, paragraph, table

FORMAT_VERSION = "1.0"
_TITLE = "node hours by target"


class SimulationDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`simulate -o json`: one trace, and one entry in `sides` a policy, that of `--policy` first."""

    format_version: str = FORMAT_VERSION
    trace: str
    cluster: str
    start: str
    end: str
    seconds: int
    peak_demand_pods: int
    currency: str
    sides: tuple[ReplayFigures, ...]


def replay_json(replay: Replay) -> str:
    """Two spaces of indentation, keys in declared order; ends with a newline."""
    document = SimulationDocument(
        trace=replay.trace,
        cluster=replay.cluster,
        start=replay.start,
        end=replay.end,
        seconds=replay.seconds,
        peak_demand_pods=replay.peak_demand_pods,
        currency=replay.currency,
        sides=replay.sides,
    )
    return json_text(document, None)


def replay_text(replay: Replay, *, width: int, colour: bool = False) -> str:
    """A table with a column a policy, and the difference of two."""
    style = Style(colour=colour)
    lines = [*paragraph(heading_words(replay), width, 0), ""]
    lines += _table(replay, "", figure_lines(replay), width, style)
    lines += ["", *_table(replay, _TITLE, target_lines(replay), width, style)]
    for note in note_words(replay):
        lines += ["", *paragraph(note, width, 0)]
    return "\n".join(lines) + "\n"


def replay_markdown(replay: Replay) -> str:
    """The same for a pull request; targets are folded."""
    blocks = [["## What this demand comes to"], [code(heading_words(replay))], _markdown(replay, "", figure_lines(replay))]
    blocks.append(folded(_TITLE.capitalize(), _markdown(replay, "target", target_lines(replay))))
    blocks += [[code(note)] for note in note_words(replay)]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def replay_section(replay: Replay, width: int, style: Style) -> list[str]:
    """The figures below something else: a heading and the table, without targets."""
    heading = style.paint("Replay", Tone.HEADING)
    return [heading, *paragraph(heading_words(replay), width, 2), *_table(replay, "", figure_lines(replay), width, style)]


def replay_markdown_section(replay: Replay) -> list[str]:
    """The same for a pull request."""
    return ["### Replay", "", code(heading_words(replay)), "", *_markdown(replay, "", figure_lines(replay))]


def _table(replay: Replay, title: str, lines: tuple[FigureLine, ...], width: int, style: Style) -> list[str]:
    two = len(replay.sides) == 2
    columns = [Column(heading=title, shrinks=True), *(Column(heading=plain(name), right=True) for name in side_names(replay))]
    columns += [Column(heading="change", right=True)] if two else []
    rows = [Row("", (line.name, *line.cells, *((line.change,) if two else ()))) for line in lines]
    return table(columns, rows, width, style)


def _markdown(replay: Replay, title: str, lines: tuple[FigureLine, ...]) -> list[str]:
    two = len(replay.sides) == 2
    headings = [title, *(f">{code(name)}" for name in side_names(replay)), *([">change"] if two else [])]
    rows = [(code(line.name) if title else line.name, *line.cells, *((line.change,) if two else ())) for line in lines]
    return markdown_table(headings, rows)
