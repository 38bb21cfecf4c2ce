"""A preview as markdown for a pull request: the change in one line, cautions, figures, groups; folds below, the policy last."""

from collections.abc import Iterator, Sequence

from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.problems.findings import Problem
from reconciler.rendering.change_figures import change_figures
from reconciler.rendering.consequences import Grade
from reconciler.rendering.differences import ACTIONS, GROUPS, POLICY, preview_sections
from reconciler.rendering.fold import Fold
from reconciler.rendering.foreign_text import MARKDOWN_WIDTH, Foreign, markdown_line, markdown_paragraph
from reconciler.rendering.headline import headline, told_consequences
from reconciler.rendering.markdown.plan import GITHUB_LIMIT, length, plan_markdown
from reconciler.rendering.markdown_code import code, fenced, folded, table
from reconciler.rendering.marked_lines import Difference, Meaning, Section, cut
from reconciler.rendering.plain import plain, shortened
from reconciler.rendering.preview_words import (
    NOT_COMPARED,
    head_words,
    side_words,
    snapshot_parts,
    snapshot_warnings,
    summary_words,
    untouched_words,
    warnings_words,
)
from reconciler.rendering.problems.text import render_text
from reconciler.rendering.refusal import refusal
from reconciler.rendering.size_words import HEADING
from reconciler.rendering.text.layout import paragraph
from reconciler.rendering.text.simulation import replay_markdown_section
from reconciler.rendering.wording import count

_MOST_LINES = 100
_LINE_CHARACTERS = 300
_SENTENCE_CHARACTERS = 600
_LEAST = 10
_ALERTS = {Grade.CAUTION: "CAUTION", Grade.WARNING: "WARNING", Grade.NOTE: "NOTE"}
# Hosts colour lines that start with - and ! in a diff block: red, amber.
_COLUMN_0 = {Meaning.DANGER: "-", Meaning.HELD: "!", Meaning.NEUTRAL: " "}
_BLOCK_WIDTH = MARKDOWN_WIDTH - 4
_SIDE = MARKDOWN_WIDTH - 25


def preview_markdown(preview: Preview, *, limit: int = GITHUB_LIMIT) -> str:
    """At most `limit` UTF-16 units; the last line names the head's commit, that of the digest covers everything above it. An
    alarm about the snapshot stands before everything else.

    Headline, cautions and figures are always there. Where the whole is too long, the longest section is cut from its end, again
    and again, and says how much is missing and the gravest of it; notes go before the last ten lines of each section do.
    """
    top = [*_snapshot_alarms(preview), f"## {markdown_line(headline(preview))}", "\n".join(_words(preview))]
    foot = "\n".join(_foot(preview))
    if preview.comparison is None:
        return _alone(preview, top, foot, limit)
    top += [*_alerts(preview), *_figures(preview)]
    body = _Body(preview)
    while True:
        text = "\n\n".join([*top, *body.blocks(), foot]) + "\n"
        if length(text) <= limit or not body.shrink():
            return text


def _alone(preview: Preview, top: Sequence[str], foot: str, limit: int) -> str:
    """The plan where there is nothing to compare it with."""
    told = [*top, "\n".join([f"{NOT_COMPARED}:", *(code(line) for line in paragraph(preview.no_base, _BLOCK_WIDTH, 0))])]
    if preview.base_problems:
        told.append("\n".join(folded("Problems of today's policy", problem_lines(render_text(preview.base_problems)))))
    told += ["\n".join(note) for note in _notes(preview)]
    start = "\n\n".join(told) + "\n\n"
    return start + plan_markdown(preview.plan, limit=limit - length(start) - length(foot) - 2) + f"\n{foot}\n"


def _words(preview: Preview) -> list[str]:
    """Cluster, policy, mode, now."""
    parts: list[str] = []
    for name, value in head_words(preview):
        parts += [*((" · ",) if parts else ()), f"{name} ", Foreign(value)]
    return markdown_paragraph(tuple(parts))


def _foot(preview: Preview) -> Iterator[str]:
    """What it was made from, a line each; the commit of the head comes last."""
    yield f"<sub>{code(preview.digest)}</sub>"
    if parts := snapshot_parts(preview):
        told: list[str] = ["snapshot"]
        for part in parts:
            told += [" ", Foreign(part)]
        yield from (f"<sub>{line}</sub>" for line in markdown_paragraph(tuple(told), width=MARKDOWN_WIDTH - len("<sub></sub>")))
    yield f"<sub>today {code(shortened(plain(side_words(preview.base)), _SIDE))}</sub>"
    yield f"<sub>after {code(shortened(plain(side_words(preview.head)), _SIDE))}</sub>"


def _snapshot_alarms(preview: Preview) -> Iterator[str]:
    """What a reviewer has to know of the snapshot, as a block that hosts show in colour."""
    for warning in snapshot_warnings(preview):
        yield "\n".join(["> [!WARNING]", *markdown_paragraph(warning, "> ", "> ")])


def _alerts(preview: Preview) -> Iterator[str]:
    """Consequences by grade, one block each."""
    for told in told_consequences(preview):
        lines = [line for sentence in told.lines for line in markdown_paragraph(sentence, "> - ", ">   ")]
        yield "\n".join([f"> [!{_ALERTS[told.grade]}]", *lines])


def _figures(preview: Preview) -> Iterator[str]:
    """The one table of a preview."""
    rows = [
        (figure.name, *(map(code, figure.cells()) if figure.currency is not None else figure.cells()))
        for figure in change_figures(preview)
    ]
    yield "\n".join(table(("", ">today", ">after", ">change"), rows))
    cost = preview.plan.cost
    if cost.unpriced_groups:
        yield f"{count(len(cost.unpriced_groups), 'group')} without a price not counted."


class _Body:
    """What stands below the figures, and how much of it is shown."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview
        self._sections = preview_sections(preview, Fold())
        self._most = {section.heading: len(section.differences) for section in self._sections}
        self._notes = _notes(preview)
        self._parts: dict[tuple[str, int], str] = {}

    def shrink(self) -> bool:
        """Show half of the longest section; notes go before the last lines. False where nothing is left to cut."""
        long = [section for section in self._sections if self._most[section.heading] > _LEAST]
        if not long and self._notes:
            self._notes = []
            return True
        short = long or [section for section in self._sections if self._most[section.heading]]
        if not short:
            return False
        heading = max(short, key=lambda section: length(self._told(section))).heading
        self._most[heading] //= 2
        return True

    def blocks(self) -> Iterator[str]:
        """Groups open, then notes, then folds: actions, pods, nodes, problems, and the policy last."""
        by_heading = {section.heading: section for section in self._sections}
        if (groups := by_heading.pop(GROUPS, None)) is not None:
            yield self._told(groups)
        if (sizes := by_heading.pop(HEADING, None)) is not None:
            yield self._told(sizes)
        if self._preview.replay is not None:
            yield "\n".join(replay_markdown_section(self._preview.replay))
        policy = by_heading.pop(POLICY, None)
        yield self._actions(by_heading.pop(ACTIONS, None))
        yield from map(self._told, by_heading.values())
        yield from ("\n".join(note) for note in self._notes)
        yield "The policy does not differ." if policy is None else self._told(policy)

    def _told(self, section: Section) -> str:
        key = section.heading, self._most[section.heading]
        if key not in self._parts:
            body = self._lines(section)
            title = f"{section.heading} ({section.number})"
            told = [f"### {title}", "", *body] if section.heading in (GROUPS, HEADING) else folded(title, body)
            self._parts[key] = "\n".join(told)
        return self._parts[key]

    def _actions(self, section: Section | None) -> str:
        """What is done at once, with the summary of both plans."""
        lines = [
            line for name, summary in summary_words(self._preview) for line in paragraph(summary, _BLOCK_WIDTH, 0, f"{name}: ")
        ]
        body = [*fenced(lines, "text"), *(["", *self._lines(section)] if section is not None else [])]
        return "\n".join(folded(f"{ACTIONS} ({0 if section is None else section.number})", body))

    def _lines(self, section: Section) -> list[str]:
        shown = self._most[section.heading]
        left = len(section.differences) - shown
        lines = cut(section.differences, shown, section.noun) if left else section.differences
        body = fenced([line for difference in lines for line in diff_lines(difference)], "diff")
        return [*body, "", "`-o json` has everything."] if left else body


def diff_lines(difference: Difference) -> list[str]:
    """Lines of a `diff` block of at most a hundred columns, each with the colour of the whole in column 0."""
    mark = _COLUMN_0[difference.meaning]
    first, *later = paragraph(shortened(plain(difference.sentence), _SENTENCE_CHARACTERS), _BLOCK_WIDTH - 2, 0, f"{mark} ")
    return [first, *(f"{mark}   {line.lstrip()}" for line in later)]


def _notes(preview: Preview) -> list[list[str]]:
    notes = []
    if warnings := warnings_words(preview):
        lines = [line for warning in warnings for line in paragraph(warning, _BLOCK_WIDTH, 0)]
        notes.append(folded(f"Warnings about the policy ({len(warnings)})", problem_lines("\n".join(lines))))
    if untouched := untouched_words(preview):
        lines = [shortened(plain(name), _BLOCK_WIDTH) for name in preview.untouched]
        notes.append(folded(untouched, problem_lines("\n".join(lines))))
    return notes


def refused_markdown(problems: tuple[Problem, ...], base: PreviewSide, head: PreviewSide) -> str:
    """What is wrong with a head that cannot be used, for a pull request."""
    why = refusal(problems)
    body = problem_lines(render_text(problems))
    foot = f"<sub>today {code(side_words(base))} · after {code(side_words(head))}</sub>"
    return "\n".join([f"## {why.title}", "", why.told, "", *body, "", foot]) + "\n"


def problem_lines(text: str) -> list[str]:
    """Lines of others in a fence: at most a hundred, long ones shortened."""
    lines = [shortened(plain(line), _LINE_CHARACTERS) for line in text.splitlines()]
    left = len(lines) - _MOST_LINES
    return fenced([*lines[:_MOST_LINES], *([f"and {left} lines more"] if left > 0 else [])], "text")
