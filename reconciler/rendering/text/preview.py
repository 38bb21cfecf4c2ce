"""A preview as text: the change in one line, cautions, figures, groups, then the details, and the policy last."""

from collections.abc import Iterator

from reconciler.plan.preview import Preview
from reconciler.rendering.change_figures import change_figures
from reconciler.rendering.consequences import Grade
from reconciler.rendering.differences import ACTIONS, GROUPS, POLICY, preview_sections
from reconciler.rendering.fold import EVERYTHING, Fold
from reconciler.rendering.foreign_text import plain_sentence
from reconciler.rendering.headline import headline, told_consequences
from reconciler.rendering.marked_lines import Meaning, Section
from reconciler.rendering.plain import listed, plain
from reconciler.rendering.preview_words import (
    NOT_COMPARED,
    head_words,
    side_words,
    snapshot_warnings,
    snapshot_words,
    summary_words,
    untouched_words,
    warnings_words,
)
from reconciler.rendering.problems.text import render_text
from reconciler.rendering.text.layout import Column, Row, Style, Tone, paragraph, table
from reconciler.rendering.text.plan import WIDTH, plan_text
from reconciler.rendering.text.simulation import replay_section
from reconciler.rendering.wording import count

_NAMES_SHOWN = 6
_TONES = {Meaning.DANGER: Tone.DANGER, Meaning.HELD: Tone.HELD, Meaning.NEUTRAL: None}
_GRADES = {Grade.CAUTION: Tone.DANGER, Grade.WARNING: Tone.HELD, Grade.NOTE: None}


def preview_text(preview: Preview, *, colour: bool = False, wide: bool = False, width: int = WIDTH) -> str:
    """For a terminal of `width` columns, all names and no breaks if `wide`; ends with the digest and a newline."""
    return "\n\n".join(
        "\n".join(block) for block in _Text(preview, 0 if wide else width, Style(colour=colour), colour=colour).all()
    )


class _Text:
    """The blocks of lines."""

    def __init__(self, preview: Preview, width: int, style: Style, *, colour: bool) -> None:
        self._preview = preview
        self._width = width
        self._style = style
        self._colour = colour
        self._fold = Fold() if width else EVERYTHING

    def all(self) -> Iterator[list[str]]:
        """In the order of reading."""
        if warnings := snapshot_warnings(self._preview):
            yield [line for told in warnings for line in self._painted(plain_sentence(told), Tone.HELD, "! ")]
        yield [*self._painted(plain_sentence(headline(self._preview)), Tone.HEADING), *self._words()]
        if self._preview.comparison is None:
            yield from self._alone()
            return
        for told in told_consequences(self._preview, everything=not self._width):
            heading = self._style.paint(f"{told.grade.capitalize()}: {len(told.lines)}", Tone.HEADING)
            lines = [line for one in told.lines for line in self._painted(plain_sentence(one), _GRADES[told.grade], "! ", 2)]
            yield [heading, *lines]
        yield [*self._figures()]
        yield from self._sections()
        foot = [line for words in self._sides() for line in paragraph(words, self._width, 0)]
        yield [*foot, f"{self._preview.digest}\n"]

    def _painted(self, text: str, tone: Tone | None, bullet: str = "", indent: int = 0) -> list[str]:
        return [self._style.paint(line, tone) for line in paragraph(text, self._width, indent, bullet)]

    def _words(self) -> list[str]:
        words = [f"{name} {value}" for name, value in head_words(self._preview)]
        return [*paragraph(" · ".join(words[:-1]), self._width, 0), *paragraph(words[-1], self._width, 0)]

    def _sides(self) -> Iterator[str]:
        if snapshot := snapshot_words(self._preview):
            yield f"snapshot {snapshot}"
        yield f"today {side_words(self._preview.base)}"
        yield f"after {side_words(self._preview.head)}"

    def _alone(self) -> Iterator[list[str]]:
        told = f"{NOT_COMPARED}: {self._preview.no_base} This is the plan of {self._preview.head.source} alone."
        yield [line for words in self._sides() for line in paragraph(words, self._width, 0)]
        yield paragraph(told, self._width, 0)
        if self._preview.base_problems:
            yield [render_text(self._preview.base_problems, color=self._colour).rstrip("\n")]
        yield from self._notes()
        yield [plan_text(self._preview.plan, colour=self._colour, wide=not self._width, width=self._width)]

    def _figures(self) -> Iterator[str]:
        columns = [Column(heading=""), *(Column(heading=name, right=True) for name in ("today", "after", "change"))]
        rows = [Row("", (figure.name, *figure.cells())) for figure in change_figures(self._preview)]
        yield from table(columns, rows, self._width, self._style)
        if unpriced := self._preview.plan.cost.unpriced_groups:
            yield f"{count(len(unpriced), 'group')} without a price not counted."

    def _sections(self) -> Iterator[list[str]]:
        """Groups, then what the replay says, then the rest; the policy comes behind the notes."""
        by_heading = {section.heading: section for section in preview_sections(self._preview, self._fold)}
        if (groups := by_heading.pop(GROUPS, None)) is not None:
            yield self._told(groups)
        if self._preview.replay is not None:
            yield replay_section(self._preview.replay, self._width, self._style)
        policy, actions = by_heading.pop(POLICY, None), by_heading.pop(ACTIONS, None)
        heading = [self._style.paint(f"{ACTIONS}: {0 if actions is None else actions.number}", Tone.HEADING)]
        summaries = [line for name, told in summary_words(self._preview) for line in paragraph(told, self._width, 2, f"{name}: ")]
        yield [*heading, *summaries, *([] if actions is None else self._told(actions)[1:])]
        yield from map(self._told, by_heading.values())
        yield from self._notes()
        yield ["The policy does not differ."] if policy is None else self._told(policy)

    def _told(self, section: Section) -> list[str]:
        lines = [self._style.paint(f"{section.heading}: {section.number}", Tone.HEADING)]
        for difference in section.differences:
            lines += self._painted(difference.sentence, _TONES[difference.meaning], f"{difference.mark} ", 2)
        return lines

    def _notes(self) -> Iterator[list[str]]:
        if warnings := warnings_words(self._preview):
            heading = self._style.paint(f"Warnings about the policy: {len(warnings)}", Tone.HEADING)
            yield [heading, *(line for warning in warnings for line in paragraph(warning, self._width, 2, "! "))]
        if untouched := untouched_words(self._preview):
            names = listed(tuple(plain(name) for name in self._preview.untouched), 0 if not self._width else _NAMES_SHOWN)
            yield paragraph(f"{untouched}: {names}", self._width, 0)
