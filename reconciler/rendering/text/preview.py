"""A preview as text."""

from reconciler.plan.preview import Preview
from reconciler.rendering.consequences import consequences
from reconciler.rendering.fold import EVERYTHING, Fold
from reconciler.rendering.plain import listed, plain
from reconciler.rendering.preview_words import (
    NOT_COMPARED,
    further_sections,
    head_words,
    side_words,
    snapshot_warnings,
    snapshot_words,
    untouched_words,
    warnings_words,
)
from reconciler.rendering.problems.text import render_text
from reconciler.rendering.text.comparison import comparison_text
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.text.plan import WIDTH, plan_text
from reconciler.rendering.text.simulation import replay_section
from reconciler.rendering.text.style import Style, Tone

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
