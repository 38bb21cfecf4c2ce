"""A preview as one HTML file: what the policy change says, what it does, and the plan that follows from the head."""

from collections.abc import Sequence
from decimal import Decimal

from reconciler.plan.money import money_text
from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.plan.replay import Replay
from reconciler.policy.problems.findings import Problem
from reconciler.rendering.differences import (
    NOT_COMPARED,
    Difference,
    consequences,
    difference_sections,
    further_sections,
    head_words,
    side_words,
    snapshot_warnings,
    snapshot_words,
    untouched_words,
    warnings_words,
    with_further,
)
from reconciler.rendering.differences import Section as Differences
from reconciler.rendering.fold import NAMES_SHOWN, Fold
from reconciler.rendering.html.element import Content, Html, arrows, joined, tag
from reconciler.rendering.html.page import CLASSES, Head, Section, counted, document, fold, mark, scrolling
from reconciler.rendering.html.plan import action_section, cautions, change, foot, plan_figures, plan_sections
from reconciler.rendering.problems.text import render_problem
from reconciler.rendering.refusal import refusal
from reconciler.rendering.text.simulation import FigureLine, figure_lines, heading_words, note_words, side_names, target_lines

# What demand of the past comes to under one policy or two, as a part of a report.

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


_MOST_LINES = 250
_FEW_LINES = 12
"""So many of one kind are all shown at once."""
_MOST_PROBLEMS = 200


def preview_html(preview: Preview) -> str:
    """One self-contained file; bounded like that of a plan."""
    plan, pictures = preview.plan, preview.pictures or Pictures(now=Picture())
    sides = [("base", side_words(preview.base)), ("head", side_words(preview.head))]
    sides += [("snapshot", snapshot)] if (snapshot := snapshot_words(preview)) else []
    head = Head(
        title="What this change does to the node groups" if preview.comparison is not None else "What this policy does",
        lead=_lead(preview),
        facts=(*head_words(preview), *sides),
        figures=_figures(preview),
        warning=" ".join((*snapshot_warnings(preview), *consequences(preview), *([told] if (told := cautions(plan)) else [])))
        or None,
    )
    policies = ("the base", "the head") if preview.comparison is not None else None
    sections = _told(preview)
    if preview.replay is not None:
        sections.append(replay_section(preview.replay))
    if (actions := action_section(plan)) is not None:
        title = "What is done at the head" if preview.comparison is not None else actions.heading
        sections.append(Section(actions.anchor, title, actions.body, actions.note))
    sections += plan_sections(plan, pictures, policies)
    return document(head, sections, [group.name for group in plan.groups], foot(preview.digest, plan.settled_loops))


def refused_html(problems: Sequence[Problem], base: PreviewSide, head: PreviewSide) -> str:
    """What is wrong with a head that cannot be used."""
    why = refusal(problems)
    top = Head(
        title=why.what,
        lead=f"{why.number}{'' if why.conflicting else ' in the policy'}, so nothing was decided.",
        facts=(("base", side_words(base)), ("head", side_words(head))),
        figures=(),
        warning=why.after,
    )
    return document(top, [_problems("Problems", problems)], [], foot("", None)[1:])


def _lead(preview: Preview) -> str:
    found = preview.comparison
    if found is None:
        return preview.plan.summary
    if not preview.changed:
        return "Nothing changes: neither the policy nor the decision differs."
    if found.empty:
        return f"{'The policy differs' if preview.changes else 'A declared size differs'}, the decision does not."
    before, after = found.summary_before, found.summary_after
    return after if before != after else f"{after.rstrip('.')}, as before; what differs is told below."


def _figures(preview: Preview) -> Sequence[tuple[str, Content, str]]:
    if preview.comparison is None:
        return plan_figures(preview.plan)
    found = preview.comparison
    before, after = preview.impact_before, preview.impact_after
    figures: list[tuple[str, Content, str]] = [
        ("Policy values", f"{len(preview.changes):,} {'differs' if len(preview.changes) == 1 else 'differ'}", ""),
        ("Groups", f"{len(found.groups):,} {'differs' if len(found.groups) == 1 else 'differ'}", untouched_words(preview)),
        _pair("Evictions until it rests", len(before.evicted_settled), len(after.evicted_settled)),
        _pair("Pods without a place at rest", len(before.waiting), len(after.waiting)),
    ]
    if found.cost_before.settled_per_hour is not None and found.cost_after.settled_per_hour is not None:
        currency = found.cost_after.currency
        old, new = (money_text(Decimal(c.settled_per_hour or "0"), c.currency) for c in (found.cost_before, found.cost_after))
        more = found.settled_per_hour_change or Decimal(0)
        note = f"{money_text(more, currency, signed=True)}/h" if more else "no difference"
        figures.append(("Cost per hour at rest", change(old, new, 0), note))
    return figures


def _pair(name: str, before: int, after: int) -> tuple[str, Content, str]:
    """Of these fewer is better."""
    return name, change(f"{before:,}", f"{after:,}", (before > after) - (before < after)), ""


def _told(preview: Preview) -> list[Section]:
    """The differences, or why there are none; then warnings."""
    found = preview.comparison
    sections = []
    if found is None:
        told = f"{NOT_COMPARED}: {preview.no_base} This is the plan of {preview.head.source} alone."
        sections.append(Section("differences", "Differences", tag("p", told)))
        if preview.base_problems:
            sections.append(_problems("Problems of the base", preview.base_problems))
    else:
        parts = with_further(difference_sections(preview.changes, found, Fold()), further_sections(preview, Fold()))
        body = joined(_lot(part) for part in parts) if parts else tag("p", "Neither the policy nor the decision differs.")
        number = sum(len(part.differences) for part in parts)
        sections.append(Section("differences", "Differences", body, counted(number, "line") if number else ""))
    if warnings := warnings_words(preview):
        items = joined(tag("li", tag("span", mark("!")), tag("span", line), class_="held") for line in warnings[:_MOST_LINES])
        body = tag("ul", items, class_="list sheet")
        sections.append(Section("warnings", "Warnings about the policy", body, f"{len(warnings):,}"))
    return sections


def _lot(part: Differences) -> Html:
    lines = part.differences[:_MOST_LINES]
    shown = lines if len(lines) <= _FEW_LINES else lines[:NAMES_SHOWN]
    items = _items(shown)
    if rest := lines[len(shown) :]:
        more = fold(f"{counted(len(rest), 'more line')}", tag("ul", _items(rest), class_="list"))
        items = joined((items, tag("li", tag("span", "\u00b7", class_="m", aria_hidden="true"), more)))
    left = len(part.differences) - len(lines)
    note = tag("p", f"{counted(left, 'line')} left out; -o json has all.", class_="soft") if left else None
    title = tag("h3", f"{part.heading} ", tag("span", len(part.differences), class_="n"))
    return tag("div", title, tag("ul", items, class_="list sheet"), note, data_block=True)


def _items(lines: Sequence[Difference]) -> Html:
    return joined(
        tag(
            "li", tag("span", mark(line.mark)), tag("span", arrows(line.sentence)), class_=CLASSES.get(line.mark),
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
    """Line by line, since a line end is a character that texts of others may not bring."""
    rows: list[Content] = []
    for line in render_problem(problem).rstrip("\n").split("\n"):
        rows += [line, Html("\n")]
    return joined(rows)
