"""A preview as one HTML file: what the policy change says, what it does, and the plan that follows from the head."""

from collections.abc import Sequence

from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.problems.findings import Problem
from reconciler.rendering.change_figures import EVICTIONS, PODS, change_figures
from reconciler.rendering.consequences import Grade
from reconciler.rendering.differences import POLICY, preview_sections
from reconciler.rendering.fold import NAMES_SHOWN, Fold
from reconciler.rendering.foreign_text import plain_sentence
from reconciler.rendering.headline import headline, told_consequences
from reconciler.rendering.html.element import Content, Html, arrows, joined, tag, text_lines
from reconciler.rendering.html.page import Head, Section, counted, document, fold, mark
from reconciler.rendering.html.plan import action_section, cautions, change, foot, plan_figures, plan_sections
from reconciler.rendering.html.replay import replay_section
from reconciler.rendering.marked_lines import Difference, Meaning, cut
from reconciler.rendering.marked_lines import Section as Differences
from reconciler.rendering.preview_words import (
    NOT_COMPARED,
    head_words,
    side_words,
    snapshot_warnings,
    snapshot_words,
    untouched_words,
    warnings_words,
)
from reconciler.rendering.problems.text import render_problem
from reconciler.rendering.refusal import refusal

_RED = "bad"
_COLOURS = {Meaning.DANGER: _RED, Meaning.HELD: "held", Meaning.NEUTRAL: None}
_MOST_LINES = 250
_FEW_LINES = 12
"""So many of one kind are all shown at once."""
_MOST_PROBLEMS = 200


def preview_html(preview: Preview) -> str:
    """One self-contained file; bounded like that of a plan."""
    plan, pictures = preview.plan, preview.pictures or Pictures(now=Picture())
    sides = [("today", side_words(preview.base)), ("after", side_words(preview.head))]
    sides += [("snapshot", snapshot)] if (snapshot := snapshot_words(preview)) else []
    compared = preview.comparison is not None
    head = Head(
        title="What this change does to the node groups" if compared else "What this policy does",
        lead=plain_sentence(headline(preview)) if compared else plan.summary,
        facts=(*head_words(preview), *sides),
        figures=_figures(preview),
        warning=_warning(preview),
    )
    policies = ("today's policy", "the policy after the change") if compared else None
    told = preview_sections(preview, Fold())
    sections = _told(preview, [section for section in told if section.heading != POLICY])
    if preview.replay is not None:
        sections.append(replay_section(preview.replay))
    if (actions := action_section(plan)) is not None:
        title = "What is done after the change" if compared else actions.heading
        sections.append(Section(actions.anchor, title, actions.body, actions.note))
    sections += plan_sections(plan, pictures, policies)
    sections += [
        Section("policy", "Policy", _lot(section), counted(section.number, "value"))
        for section in told
        if section.heading == POLICY
    ]
    return document(head, sections, [group.name for group in plan.groups], foot(preview.digest, plan.settled_loops))


def _warning(preview: Preview) -> Html | None:
    """Consequences by grade, then what is to be known of the snapshot and of the plan; a line each."""
    lines = [
        (f"{told.grade.capitalize()}: ", arrows(plain_sentence(one)), _RED if told.grade is Grade.CAUTION else None)
        for told in told_consequences(preview)
        for one in told.lines
    ]
    lines += [("", plain_sentence(told), None) for told in snapshot_warnings(preview)]
    lines += [("", told, None)] if (told := cautions(preview.plan)) else []
    parts = [
        tag("span", tag("b", grade, class_=colour) if grade else None, words, class_="line") for grade, words, colour in lines
    ]
    return joined(parts) if parts else None


def refused_html(problems: Sequence[Problem], base: PreviewSide, head: PreviewSide) -> str:
    """What is wrong with a head that cannot be used."""
    why = refusal(problems)
    top = Head(
        title=why.what,
        lead=f"{why.number}{'' if why.conflicting else ' in the policy'}, so nothing was decided.",
        facts=(("today", side_words(base)), ("after", side_words(head))),
        figures=(),
        warning=why.after,
    )
    return document(top, [_problems("Problems", problems)], [], foot("", None)[1:])


def _figures(preview: Preview) -> Sequence[tuple[str, Content, Content]]:
    """Today and after, with the difference; without a comparison those of the plan."""
    if preview.comparison is None:
        return plan_figures(preview.plan)
    found: list[tuple[str, Content, Content]] = []
    for figure in change_figures(preview):
        today, after, more = figure.cells()
        worse = figure.code in (PODS, EVICTIONS) and isinstance(figure.change, int) and figure.change > 0
        told = change(today, after, worse=worse)
        found.append((figure.name.capitalize(), told, more if figure.changed else "no difference"))
    return found


def _told(preview: Preview, parts: Sequence[Differences]) -> list[Section]:
    """The differences, or why there are none; then warnings."""
    sections = []
    if preview.comparison is None:
        told = f"{NOT_COMPARED}: {preview.no_base} This is the plan of {preview.head.source} alone."
        sections.append(Section("differences", "Differences", tag("p", told)))
        if preview.base_problems:
            sections.append(_problems("Problems of today's policy", preview.base_problems))
    else:
        body = joined(_lot(part) for part in parts) if parts else tag("p", "The decision does not differ.")
        sections.append(Section("differences", "Differences", body, untouched_words(preview)))
    if warnings := warnings_words(preview):
        items = joined(tag("li", tag("span", mark("!")), tag("span", line), class_="held") for line in warnings[:_MOST_LINES])
        body = tag("ul", items, class_="list sheet")
        sections.append(Section("warnings", "Warnings about the policy", body, f"{len(warnings):,}"))
    return sections


def _lot(part: Differences) -> Html:
    lines = cut(part.differences, _MOST_LINES, part.noun)
    shown = lines if len(lines) <= _FEW_LINES else lines[:NAMES_SHOWN]
    items = _items(shown)
    if rest := lines[len(shown) :]:
        more = fold(f"{counted(len(rest), 'more line')}", tag("ul", _items(rest), class_="list"))
        items = joined((items, tag("li", tag("span", "\u00b7", class_="m", aria_hidden="true"), more)))
    left_out = len(part.differences) > _MOST_LINES
    note = tag("p", "-o json has everything.", class_="soft") if left_out else None
    title = tag("h3", f"{part.heading} ", tag("span", part.number, class_="n"))
    return tag("div", title, tag("ul", items, class_="list sheet"), note, data_block=True)


def _items(lines: Sequence[Difference]) -> Html:
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
