"""A preview as one HTML file: what the policy change says, what it does, and the plan that follows from the head."""

from collections.abc import Iterator, Sequence

from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import cut, plain_sentence
from reconciler.rendering.documents.preview.change_figures import EVICTIONS, PODS, change_figures
from reconciler.rendering.documents.preview.document import FURTHER, POLICY, WARNINGS, preview_document, side_words, steady_states
from reconciler.rendering.documents.preview.what_if import WHAT_IF
from reconciler.rendering.documents.replay import with_side_names
from reconciler.rendering.printers.html.actions import action_section
from reconciler.rendering.printers.html.element import Content, Html, arrows, joined, tag, text_lines
from reconciler.rendering.printers.html.page import Head, Section, counted, document, fold, mark, scrolling
from reconciler.rendering.printers.html.plan import cautions, change, foot, plan_figures, plan_sections
from reconciler.rendering.printers.html.replay import replay_section
from reconciler.rendering.printers.html.week import week_page
from reconciler.rendering.printers.problem_lines import render_problem
from reconciler.rendering.words.fold import NAMES_SHOWN, Fold
from reconciler.rendering.words.refusal import refusal
from reconciler.rendering.words.wording import MAIN, THIS_PR

_RED = "bad"
_COLOURS = {tree.Meaning.DANGER: _RED, tree.Meaning.HELD: "held", tree.Meaning.NEUTRAL: None}
_MOST_LINES = 250
_FEW_LINES = 12
"""So many of one kind are all shown at once."""
_MOST_PROBLEMS = 200


def preview_html(preview: Preview) -> str:
    """One self-contained file, bounded like that of a plan, whose sections stand between what differs and the policy."""
    plan, pictures = preview.plan, preview.pictures or Pictures(now=Picture())
    preview_tree = preview_document(preview, Fold())
    compared = preview.comparison is not None
    sources = [
        (name, ", ".join(parts))
        for block in preview_tree.blocks
        if isinstance(block, tree.Sources)
        for name, parts in block.lines
    ]
    head = Head(
        title=preview_tree.title,
        lead=plain_sentence(preview_tree.lead) if compared else plan.summary,
        facts=(*preview_tree.facts, *sources),
        figures=_figures(preview),
        caption=steady_states(preview.comparison) if preview.comparison is not None else "",
        warning=_warning(preview_tree, cautions(plan)),
    )
    sections = [
        *_own(preview_tree, POLICY, "policy", "value"),
        *_differences(preview_tree, compared=compared),
        *_what_if(preview_tree),
        *((week_page(preview.timeline),) if compared and preview.timeline is not None else ()),
        *_problem_sections(preview_tree),
        *_own(preview_tree, WARNINGS, "warnings"),
    ]
    if preview.replay is not None:
        sections.append(replay_section(with_side_names(preview.replay, (MAIN, THIS_PR))))
    if (actions := action_section(plan)) is not None:
        title = f"What {THIS_PR} does" if compared else actions.heading
        sections.append(Section(actions.anchor, title, actions.body, actions.note))
    sections += plan_sections(
        plan, pictures, (f"{MAIN}'s policy", f"{THIS_PR}'s policy") if compared else None, preview.comparison
    )
    sections += _own(preview_tree, FURTHER, "policy-values", "value")
    return document(head, sections, [group.name for group in plan.groups], foot(preview_tree.digest, plan))


def _warning(preview_tree: tree.Document, of_plan: str | None) -> Html | None:
    """Alarms of the document, then what is to be known of the plan; a line each."""
    alarms = (*preview_tree.alarms, *(block for block in preview_tree.blocks if isinstance(block, tree.Alarm)))
    parts = [_line(arrows(plain_sentence(one)), alarm) for alarm in alarms for one in alarm.lines]
    parts += [_line(of_plan)] if of_plan else []
    return joined(parts) if parts else None


def _line(words: str, alarm: tree.Alarm | None = None) -> Html:
    red = _RED if alarm is not None and alarm.meaning is tree.Meaning.DANGER else None
    grade = tag("b", f"{alarm.title}: ", class_=red) if alarm is not None and alarm.title else None
    return tag("span", grade, words, class_="line")


def refused_html(problems: Sequence[Problem], base: PreviewSide, head: PreviewSide) -> str:
    """What is wrong with a head that cannot be used."""
    why = refusal(problems)
    top = Head(
        title=why.what,
        lead=f"{why.number}{'' if why.conflicting else ' in the policy'}, so nothing was decided.",
        facts=((MAIN, side_words(base)), (THIS_PR, side_words(head))),
        figures=(),
        warning=why.after,
    )
    return document(top, [_problems("Problems", problems)], [], foot("", None)[1:])


def _figures(preview: Preview) -> Sequence[tuple[str, Content, Content]]:
    """Main and this PR, with the difference; without a comparison those of the plan."""
    if preview.comparison is None:
        return plan_figures(preview.plan)
    tiles: list[tuple[str, Content, Content]] = []
    for figure in change_figures(preview):
        today, after, more = figure.cells()
        worse = figure.code in (PODS, EVICTIONS) and isinstance(figure.change, int) and figure.change > 0
        value = change(today, after, worse=worse)
        tiles.append((figure.name.capitalize(), value, more if figure.changed else "no difference"))
    return tiles


def _differences(preview_tree: tree.Document, *, compared: bool) -> Iterator[Section]:
    """What differs, or why nothing does; what does not differ is counted next to the heading."""
    parts = [
        _lot(part, title=tag("h3", f"{part.heading} ", tag("span", part.number, class_="n")))
        for part in preview_tree.blocks
        if isinstance(part, tree.Section) and part.differences and part.heading not in (POLICY, FURTHER, WARNINGS)
    ]
    why = [tag("p", plain_sentence(part.sentence)) for part in preview_tree.blocks if isinstance(part, tree.Paragraph)]
    body = joined(parts) if parts else tag("p", "The decision does not differ.") if compared else joined(why)
    untouched = [part.heading for part in preview_tree.blocks if isinstance(part, tree.Names)] if compared else []
    yield Section("differences", "Differences", body, ", ".join(untouched))


def _what_if(preview_tree: tree.Document) -> Iterator[Section]:
    for part in preview_tree.blocks:
        if isinstance(part, tree.Section) and part.heading.startswith(WHAT_IF):
            tables = [_table(block, WHAT_IF) for block in part.blocks if isinstance(block, tree.Table)]
            yield Section("what-if", part.heading, fold("Situations that differ", joined(tables)))


def _table(block: tree.Table, label: str) -> Html:
    sides = ["r" if column.right else None for column in block.columns]
    heads = [tag("th", column.heading or tag("span", "situation", class_="sr"), scope="col", class_=side)
             for column, side in zip(block.columns, sides, strict=True)]  # fmt: skip
    rows = [
        tag("tr", tag("th", row[0], scope="row", class_="name"),
            joined(tag("td", cell, class_=side) for cell, side in zip(row[1:], sides[1:], strict=True)))
        for row in block.rows
    ]  # fmt: skip
    table = tag("table", tag("thead", tag("tr", joined(heads))), tag("tbody", joined(rows)), class_="few")
    notes = [tag("p", words, class_="soft") for words in (block.caption, block.note) if words]
    return joined((scrolling(label, table), *notes))


def _problem_sections(preview_tree: tree.Document) -> Iterator[Section]:
    yield from (_problems(part.title, part.problems) for part in preview_tree.blocks if isinstance(part, tree.Problems))


def _own(preview_tree: tree.Document, heading: str, anchor: str, noun: str = "") -> Iterator[Section]:
    """A section that stands for itself."""
    for part in preview_tree.blocks:
        if isinstance(part, tree.Section) and part.heading == heading:
            yield Section(anchor, heading, _lot(part), counted(part.number or 0, noun) if noun else f"{part.number:,}")


def _lot(part: tree.Section, title: Html | None = None) -> Html:
    lines = cut(part.differences, _MOST_LINES, part.noun)
    shown = lines if len(lines) <= _FEW_LINES else lines[:NAMES_SHOWN]
    items = _items(shown)
    if rest := lines[len(shown) :]:
        more = fold(f"{counted(len(rest), 'more line')}", tag("ul", _items(rest), class_="list"))
        items = joined((items, tag("li", tag("span", "\u00b7", class_="m", aria_hidden="true"), more)))
    left_out = len(part.differences) > _MOST_LINES
    note = tag("p", "-o json has everything.", class_="soft") if left_out else None
    shown_list = tag("ul", items, class_="list sheet") if lines else None
    return tag("div", title, joined(_block(block) for block in part.blocks), shown_list, note, data_block=True)


_SIGNS = {"+": "add", "-": "del", "@": "soft"}


def _block(block: tree.Block) -> Html | None:
    """Changed lines of a file, and the sentences about them."""
    if isinstance(block, tree.Code):
        lines = (tag("span", line, class_=_SIGNS.get(line[:1])) for line in block.lines)
        code = tag("code", joined(part for line in lines for part in (line, Html("\n"))))
        return tag("div", tag("pre", code, class_="wrap"), class_="sheet")
    if isinstance(block, tree.Items):
        return tag("ul", _items([tree.Difference(one.bullet[:1], one.text) for one in block.items]), class_="list")
    return None


def _items(lines: Sequence[tree.Difference]) -> Html:
    return joined(
        tag(
            "li", tag("span", mark(line.mark)), tag("span", arrows(line.sentence)), class_=_COLOURS[line.meaning],
            data_item=True, data_counted=True, data_moves=True,
        )
        for line in lines
    )  # fmt: skip


def _problems(heading: str, problems: Sequence[Problem]) -> Section:
    shown = problems[:_MOST_PROBLEMS]
    text = joined(tag("pre", tag("code", _lines(problem)), data_item=True, data_counted=True) for problem in shown)
    left = len(problems) - len(shown)
    note = tag("p", f"{counted(left, 'problem')} left out.", class_="soft") if left else None
    body = tag(
        "div", text, note, class_="sheet scroll code", tabindex="0", role="region", aria_label=f"Text of {heading.lower()}"
    )
    return Section("policy-problems", heading, body, f"{len(problems):,}")


def _lines(problem: Problem) -> Html:
    return text_lines(render_problem(problem).rstrip("\n").split("\n"))
