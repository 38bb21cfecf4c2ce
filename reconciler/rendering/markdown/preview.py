"""A preview as markdown for a pull request."""

from collections.abc import Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.comparison import PolicyChange
from reconciler.policy.problems.findings import Problem
from reconciler.rendering.differences import (
    NOT_COMPARED,
    Section,
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
from reconciler.rendering.fold import Fold
from reconciler.rendering.markdown.plan import GITHUB_LIMIT, length, plan_markdown
from reconciler.rendering.markdown_code import code, fenced, folded
from reconciler.rendering.plain import plain, shortened
from reconciler.rendering.problems.text import render_text
from reconciler.rendering.refusal import refusal
from reconciler.rendering.text.simulation import replay_markdown_section
from reconciler.rendering.wording import count

# Two policies and their two plans side by side, as markdown for a pull request.

_OPEN = ("Policy", "Groups", "Cost", "Declared sizes", "Evictions")  # what a reviewer reads first is not folded
_LEAST = 10
_NOTES = ""


def comparison_markdown(
    changes: Sequence[PolicyChange],
    comparison: PlanComparison,
    *,
    further: Sequence[Section] = (),
    lead: str = "",
    notes: Sequence[Sequence[str]] = (),
    limit: int = GITHUB_LIMIT,
) -> str:
    """What differs, in at most `limit` UTF-16 units. `further` sections come behind the cost; `lead` and `notes` are
    markdown already and come behind the title and at the end.

    What does not fit is cut in this order, each section from its end and with a count of what is missing: nodes, pods,
    actions, problems, further sections from the last on, notes, groups, the policy.
    """
    sections = with_further(difference_sections(changes, comparison, Fold()), further)
    most = {section.heading: len(section.differences) for section in sections}
    kept: Sequence[Sequence[str]] = notes
    first = ("Nodes", "Pending pods", "Actions", "Problems", *(section.heading for section in reversed(further)))
    for heading in (*first, _NOTES, "Groups", "Policy"):
        if heading == _NOTES and length(_assembled(sections, changes, comparison, most, lead, kept)) > limit:
            kept = ()
        while most.get(heading, 0) and length(_assembled(sections, changes, comparison, most, lead, kept)) > limit:
            most[heading] = 0 if most[heading] <= _LEAST else most[heading] // 2
    return _assembled(sections, changes, comparison, most, lead, kept)


def _assembled(
    sections: Sequence[Section],
    changes: Sequence[PolicyChange],
    comparison: PlanComparison,
    most: dict[str, int],
    lead: str,
    notes: Sequence[Sequence[str]],
) -> str:
    blocks: list[Sequence[str]] = [["## What this change does to the node groups"]]
    blocks += [[lead]] if lead else []
    blocks.append([f"before: {code(comparison.summary_before)}", "", f"after: **{code(comparison.summary_after)}**"])
    if not changes:
        blocks.append(["The policy does not differ."])
    if comparison.empty and all(section.heading == "Policy" for section in sections):
        blocks.append(["The decision does not differ."])
    for section in sections:
        shown = section.differences[: most[section.heading]]
        lines = [f"{difference.mark} {plain(difference.sentence)}" for difference in shown]
        left = len(section.differences) - len(shown)
        body = fenced(lines, "diff") if lines else []
        body += ["", f"and {count(left, 'line')} more that did not fit; `-o json` has everything."] if left else []
        title = f"{section.heading} ({len(section.differences)})"
        blocks.append([f"### {title}", "", *body] if section.heading in _OPEN else folded(title, body))
    blocks += notes
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


_MOST_LINES = 100
_LINE_CHARACTERS = 300


def preview_markdown(preview: Preview, *, limit: int = GITHUB_LIMIT) -> str:
    """At most `limit` UTF-16 units; the last line holds the digest and the commits, everything above it is what is told."""
    sides = f"base {code(side_words(preview.base))} · head {code(side_words(preview.head))}"
    snapshot = code(snapshot_words(preview))
    foot = f"\n<sub>{code(preview.digest)} · {sides}{' · snapshot ' if snapshot else ''}{snapshot}</sub>\n"
    alarm = _alarm(preview)
    words = " · ".join(f"{name} {code(value)}" for name, value in head_words(preview))
    notes = _notes(preview)
    if preview.comparison is None:
        told = ["## What this policy does to the node groups", "", f"{NOT_COMPARED}: {code(preview.no_base)}", ""]
        if preview.base_problems:
            told += [*folded("Problems of the base", problem_lines(render_text(preview.base_problems))), ""]
        told += [line for note in notes for line in (*note, "")]
        start = alarm + "\n".join(told) + "\n"
        return start + plan_markdown(preview.plan, limit=limit - length(start) - length(foot)) + foot
    first = "\n>\n".join(f"> **{code(told)}**" for told in consequences(preview))
    words += f"\n\n> [!IMPORTANT]\n{first}" if first else ""
    room = limit - length(foot) - length(alarm)
    return (
        alarm
        + comparison_markdown(
            preview.changes, preview.comparison, further=further_sections(preview, Fold()), lead=words, notes=notes, limit=room
        )
        + foot
    )


def _alarm(preview: Preview) -> str:
    """Before everything else, as a block that hosts show in colour."""
    return "".join(f"> [!WARNING]\n> {code(warning)}\n\n" for warning in snapshot_warnings(preview))


def _notes(preview: Preview) -> list[list[str]]:
    notes = []
    if warnings := warnings_words(preview):
        notes.append([f"### Warnings about the policy ({len(warnings)})", "", *problem_lines("\n".join(warnings))])
    if untouched := untouched_words(preview):
        notes.append(folded(untouched, problem_lines("\n".join(preview.untouched))))
    if preview.replay is not None:
        notes.append(replay_markdown_section(preview.replay))
    return notes


def refused_markdown(problems: tuple[Problem, ...], base: PreviewSide, head: PreviewSide) -> str:
    """What is wrong with a head that cannot be used, for a pull request."""
    why = refusal(problems)
    body = problem_lines(render_text(problems))
    foot = f"<sub>base {code(side_words(base))} · head {code(side_words(head))}</sub>"
    return "\n".join([f"## {why.title}", "", why.told, "", *body, "", foot]) + "\n"


def problem_lines(text: str) -> list[str]:
    """Lines of others in a fence: at most a hundred, long ones shortened."""
    lines = [shortened(plain(line), _LINE_CHARACTERS) for line in text.splitlines()]
    left = len(lines) - _MOST_LINES
    return fenced([*lines[:_MOST_LINES], *([f"and {left} lines more"] if left > 0 else [])], "text")
