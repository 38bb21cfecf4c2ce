"""A whole plan as text."""

from reconciler.plan.plan import Plan
from reconciler.rendering.documents.plan.document import plan_document
from reconciler.rendering.printers.block_lines import BlockLines
from reconciler.rendering.printers.lines import Tone
from reconciler.rendering.words.fold import EVERYTHING, Fold
from reconciler.rendering.words.plain import plain

WIDTH = 100


def plan_text(plan: Plan, *, colour: bool = False, wide: bool = False, width: int = WIDTH) -> str:
    """The plan for a terminal of `width` columns, all names and no breaks if `wide`; ends with the summary, the digest and a
    newline."""
    document = plan_document(plan, EVERYTHING if wide else Fold())
    printer = BlockLines(0 if wide else width, colour=colour)
    sections = (
        document.groups,
        document.actions,
        document.notes,
        document.pods,
        document.requests,
        document.buffers,
        document.nodes,
        document.held,
        document.cost,
        document.problems,
    )
    foot = [line for line in printer.sentence(document.rest) if line] + printer.sentence(document.summary, Tone.HEADING)
    foot += [printer.painted(plain(document.digest) + document.loops, Tone.FAINT)] if document.digest else []
    parts = (printer.facts(document.facts), *(printer.lines(section) for section in sections if section is not None), foot)
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"
