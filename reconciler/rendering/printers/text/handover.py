"""How the size of a target changes hands, as lines for people."""

from reconciler.decisions.platform_handovers import Handover
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.plain import plain

_WIDTH, _INDENT = 100, 4


def handover_text(target: str, handover: Handover) -> str:
    """A step a paragraph, with what was found; what there is to write stands below the steps that are not done."""
    lines = [plain(target), ""]
    for number, step in enumerate(handover.steps):
        mark = "done" if step.done else "next" if number == handover.next else "then"
        lines += paragraph(f"{mark}  {number + 1}. {plain(step.title)}", _WIDTH, 0)
        lines += paragraph(f"found: {plain(step.evidence)}", _WIDTH, _INDENT + 2)
        if not step.done:
            lines += [f"{' ' * (_INDENT + 4)}{plain(line)}" for line in step.lines]
    done = sum(step.done for step in handover.steps)
    lines += ["", *(part for note in handover.notes for part in paragraph(plain(note), _WIDTH, 0))]
    left = "" if done == len(handover.steps) else f", the next one is {handover.next + 1}: ask again after it"
    lines.append(f"{done} of {len(handover.steps)} steps done{left}.")
    return "\n".join(lines) + "\n"
