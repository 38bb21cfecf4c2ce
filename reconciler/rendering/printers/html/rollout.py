"""The predicted rollout of a group as one HTML file."""

from collections.abc import Iterator

from reconciler.plan.rollout import Rollout
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.rollout import rollout_document
from reconciler.rendering.printers.html.element import Html, joined, tag
from reconciler.rendering.printers.html.page import Head, Section, document, mark, scrolling
from reconciler.rendering.printers.html.plan import foot
from reconciler.rendering.words.fold import Fold

_NAMES, _ROWS = 20, 400
_COLOURS = {tree.Meaning.DANGER: "bad", tree.Meaning.HELD: "held", tree.Meaning.NEUTRAL: None}


def rollout_html(rollout: Rollout) -> str:
    """One self-contained file, bounded like that of a plan: every section and table of the document."""
    page = rollout_document(rollout, Fold(names=_NAMES, rows=_ROWS))
    alarms = [plain_sentence(line) for block in page.blocks if isinstance(block, tree.Alarm) for line in block.lines]
    notes = [plain_sentence(block.sentence) for block in page.blocks if isinstance(block, tree.Paragraph)]
    head = Head(
        title=page.title,
        lead=plain_sentence(page.lead),
        facts=page.facts,
        figures=(),
        caption="",
        warning=joined(tag("span", line, class_="line") for line in (*alarms, *notes)),
    )
    return document(head, list(_sections(page)), None, foot("", None)[1:])


def _sections(page: tree.Document) -> Iterator[Section]:
    for number, block in enumerate(page.blocks):
        if isinstance(block, tree.Section):
            prose = [tag("p", plain_sentence(part.sentence)) for part in block.blocks if isinstance(part, tree.Paragraph)]
            lines = tag("ul", joined(map(_line, block.differences)), class_="list sheet") if block.differences else None
            note = "" if block.number is None else f"{block.number:,}"
            yield Section(f"part-{number}", block.heading, tag("div", *prose, lines), note)
        elif isinstance(block, tree.Table):
            yield Section(f"part-{number}", "Waves", _table(block), f"{len(block.rows):,}")


def _line(one: tree.Difference) -> Html:
    return tag("li", tag("span", mark(one.mark)), tag("span", one.sentence), class_=_COLOURS[one.meaning])


def _table(block: tree.Table) -> Html:
    kinds = ["r" if column.right else None for column in block.columns]
    heads = (
        tag("th", column.heading.capitalize(), scope="col", class_=kind)
        for column, kind in zip(block.columns, kinds, strict=True)
    )
    rows = (tag("tr", joined(tag("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True))) for row in block.rows)
    note = tag("p", block.note, class_="soft") if block.note else None
    shown = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", joined(rows)))
    return tag("div", scrolling("Waves", shown), note)
