"""A preview as text."""

from collections.abc import Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.preview import Preview
from reconciler.policy.comparison import PolicyChange
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
from reconciler.rendering.fold import EVERYTHING, Fold
from reconciler.rendering.plain import listed, plain
from reconciler.rendering.problems.text import render_text
from reconciler.rendering.text.layout import Style, Tone, paragraph
from reconciler.rendering.text.plan import WIDTH, plan_text
from reconciler.rendering.text.simulation import replay_section
from reconciler.rendering.wording import GROWS, HELD, SHRINKS

# Two policies and their two plans side by side, as text.

_TONES = {GROWS: Tone.GROWS, SHRINKS: Tone.SHRINKS, HELD: Tone.HELD}


def comparison_text(
    changes: Sequence[PolicyChange],
    comparison: PlanComparison,
    *,
    further: Sequence[Section] = (),
    notes: Sequence[Sequence[str]] = (),
    colour: bool = False,
    width: int = WIDTH,
) -> str:
    """What differs, for a terminal of `width` columns (0: no breaks); ends with both summary lines and a newline.

    `further` sections come behind the cost, `notes` (blocks of finished lines) before the summaries.
    """
    style = Style(colour=colour)
    fold = Fold() if width else EVERYTHING
    blocks: list[Sequence[str]] = []
    for section in with_further(difference_sections(changes, comparison, fold), further):
        lines = [style.paint(f"{section.heading}: {len(section.differences)}", Tone.HEADING)]
        for difference in section.differences:
            told = paragraph(difference.sentence, width, 2, f"{difference.mark} ")
            lines += [style.paint(line, _TONES[difference.mark]) for line in told]
        blocks.append(lines)
    if not changes:
        blocks.insert(0, ["The policy does not differ."])
    if comparison.empty and not further:
        blocks.append(["The decision does not differ."])
    blocks += notes
    before = paragraph(f"before: {comparison.summary_before}", width, 0)
    blocks.append([*before, *paragraph(f"after:  {comparison.summary_after}", width, 0)])
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


_NAMES_SHOWN = 6


def preview_text(preview: Preview, *, colour: bool = False, wide: bool = False, width: int = WIDTH) -> str:
    """For a terminal of `width` columns, all names and no breaks if `wide`; ends with the digest and a newline."""
    width = 0 if wide else width
    head = _head(preview, width)
    if preview.comparison is None:
        told = paragraph(f"{NOT_COMPARED}: {preview.no_base} This is the plan of {preview.head.source} alone.", width, 0)
        blocks = [head, "\n".join(told)]
        if preview.base_problems:
            blocks.append(render_text(preview.base_problems, color=colour).rstrip("\n"))
        blocks += ["\n".join(block) for block in _notes(preview, width, colour=colour)]
        return "\n\n".join([*blocks, plan_text(preview.plan, colour=colour, wide=wide, width=width)])
    style = Style(colour=colour)
    first = [style.paint(line, Tone.HEADING) for told in consequences(preview) for line in paragraph(told, width, 0, "! ")]
    head = "\n\n".join([head, *(["\n".join(first)] if first else [])])
    notes = _notes(preview, width, colour=colour)
    further = further_sections(preview, Fold() if width else EVERYTHING)
    body = comparison_text(preview.changes, preview.comparison, further=further, notes=notes, colour=colour, width=width)
    return f"{head}\n\n{body}{preview.digest}\n"


def _head(preview: Preview, width: int) -> str:
    words = [f"{name} {value}" for name, value in head_words(preview)]
    lines = [*paragraph(" · ".join(words[:-1]), width, 0), *paragraph(words[-1], width, 0)]
    lines += paragraph(f"base {side_words(preview.base)}", width, 0)
    lines += paragraph(f"head {side_words(preview.head)}", width, 0)
    if snapshot := snapshot_words(preview):
        lines += paragraph(f"snapshot {snapshot}", width, 0)
    for warning in snapshot_warnings(preview):
        lines += ["", *paragraph(warning, width, 0, "! ")]
    return "\n".join(lines)


def _notes(preview: Preview, width: int, *, colour: bool) -> list[list[str]]:
    style = Style(colour=colour)
    blocks = []
    if warnings := warnings_words(preview):
        heading = style.paint(f"Warnings about the policy: {len(warnings)}", Tone.HEADING)
        blocks.append([heading, *(line for warning in warnings for line in paragraph(warning, width, 2, "! "))])
    if untouched := untouched_words(preview):
        names = listed(tuple(plain(name) for name in preview.untouched), 0 if not width else _NAMES_SHOWN)
        blocks.append(paragraph(f"{untouched}: {names}", width, 0))
    if preview.replay is not None:
        blocks.append(replay_section(preview.replay, width, style))
    return blocks
