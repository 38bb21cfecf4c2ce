"""A document on a terminal."""

from reconciler.rendering.documents.blocks import Document, plain_sentence
from reconciler.rendering.printers.block_lines import BlockLines
from reconciler.rendering.printers.lines import Tone


def document_text(document: Document, *, width: int, colour: bool = False) -> str:
    """For a terminal of `width` columns, 0: without breaks and with all names. Ends with a newline; the digest comes last."""
    printer = BlockLines(width, colour=colour)
    parts = [*map(printer.lines, document.alarms)]
    if document.lead:
        parts.append([*printer.sentence(plain_sentence(document.lead), Tone.HEADING), *printer.facts(document.facts)])
    parts += map(printer.lines, document.blocks)
    parts[-1] += [document.digest] if document.digest else []
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"
