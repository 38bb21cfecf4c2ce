"""A search for a better policy as a page: the front as a picture, then all trials."""

from collections.abc import Sequence

from reconciler.plan.tuning import Trial, Tuning
from reconciler.rendering.documents.blocks import Block, Document, Items, Table, plain_sentence
from reconciler.rendering.documents.tuning import front, name_of, percent
from reconciler.rendering.printers.html.chart import WIDTH, Axis, Caption, figure, key_entry
from reconciler.rendering.printers.html.element import NOTHING, Content, Html, joined, path, tag
from reconciler.rendering.printers.html.page import Head, Section, document, scrolling
from reconciler.rendering.printers.html.plan import foot

_LETTERS_END = WIDTH - 90
_ABOVE = 125
"""Percent of the longest wait: room for names above it."""


def tuning_html(tuning: Tuning, told: Document) -> str:
    """One self-contained file without a script. `told` is the same as text; its tables and sentences follow the picture."""
    head = Head(title=told.title, lead=plain_sentence(told.lead), facts=told.facts, figures=())
    *figures, limits = (_block(block) for block in told.blocks)
    sections = [
        Section("front", "Cost and waiting", tag("div", _picture(tuning), class_="pictures")),
        Section("figures", "Figures", joined(figures)),
        Section("limits", "What a replay cannot know", limits),
    ]
    return document(head, sections, None, foot("", None)[1:])


def _block(block: Block) -> Html:
    if isinstance(block, Table):
        return joined((tag("p", block.caption), scrolling(block.caption or "Held out", _table(block)), tag("p", block.note)))
    return tag("ul", joined(tag("li", item.text) for item in block.items)) if isinstance(block, Items) else NOTHING


def _picture(tuning: Tuning) -> Html:
    """Every trial that was judged on all search periods: cost to the right, waiting upwards, today's policy as a triangle."""
    whole = [trial for trial in tuning.trials if len(trial.periods) == len(tuning.search_periods)]
    low = min(trial.cost_ppm for trial in whole)
    span = max(1, max(trial.cost_ppm for trial in whole) - low)
    longest = max(1, *(trial.wait_ppm for trial in whole))
    most = longest * _ABOVE // 100
    axis = Axis(step_seconds=1, whole_seconds=span, most=most)
    places = {trial.number: (axis.x(trial.cost_ppm - low), axis.y(trial.wait_ppm)) for trial in whole}
    on = [places[trial.number] for trial in sorted(whole, key=lambda one: (one.cost_ppm, -one.wait_ppm)) if trial.on_front]
    drawn: list[Content] = [path("line-b", "M" + "L".join(f"{x} {y}" for x, y in on))]
    drawn += [
        _mark(trial, *places[trial.number]) for trial in reversed(whole)
    ]  # today's is the first, and drawn above the others
    labels = {places[trial.number]: name_of(tuning, trial) for trial in reversed(front(tuning)) if trial.number in places}
    drawn += [_label(name, x, y) for (x, y), name in labels.items()]
    words = Caption(
        title="Each policy by cost and waiting time, relative to today",
        words=", ".join(
            f"{name_of(tuning, one)}: cost {percent(one.cost_ppm)}, waiting {percent(one.wait_ppm)}" for one in whole
        ),
        top=f"waiting {percent(most)} of today's",
        ends=(f"cost {percent(low)} of today's", percent(low + span)),
    )
    return figure(words, drawn, [key_entry("evicts", "today"), key_entry("dashed", "front"), key_entry("waits", "another trial")])


def _mark(trial: Trial, x: int, y: int) -> Html:
    return path("evicts", f"M{x} {y - 8}l8 14h-16z") if not trial.number else path("waits", f"M{x - 4} {y - 4}h8v8h-8z")


def _label(name: str, x: int, y: int) -> Html:
    end = x > _LETTERS_END
    return tag("text", name, x=x - 10 if end else x + 10, y=y - 8, text_anchor="end" if end else "start")


def _table(table: Table) -> Html:
    heads = joined(tag("th", column.heading, scope="col", class_="r" if column.right else None) for column in table.columns)
    return tag(
        "table", tag("thead", tag("tr", heads)), tag("tbody", joined(_row(table, row) for row in table.rows)), class_="few"
    )


def _row(table: Table, row: Sequence[str]) -> Html:
    cells = zip(table.columns, row, strict=True)
    return tag("tr", joined(tag("td", cell, class_="r" if column.right else None) for column, cell in cells))
