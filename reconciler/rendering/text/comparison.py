"""Two policies and their two plans side by side, as text."""

from collections.abc import Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.policy.comparison import PolicyChange
from reconciler.rendering.differences import Section, difference_sections, with_further
from reconciler.rendering.fold import EVERYTHING, Fold
from reconciler.rendering.text.paragraph import paragraph
from reconciler.rendering.text.plan import WIDTH
from reconciler.rendering.text.style import Style, Tone
from reconciler.rendering.wording import GROWS, HELD, SHRINKS

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
