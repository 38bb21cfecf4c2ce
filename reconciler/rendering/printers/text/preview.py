"""A preview on a terminal."""

import msgspec

from reconciler.plan.preview import Preview
from reconciler.rendering.documents.preview.document import preview_document
from reconciler.rendering.printers.text.document import document_text
from reconciler.rendering.printers.text.plan import WIDTH, plan_text
from reconciler.rendering.words.fold import EVERYTHING, Fold


def preview_text(preview: Preview, *, colour: bool = False, wide: bool = False, width: int = WIDTH) -> str:
    """For a terminal of `width` columns, all names and no breaks if `wide`; ends with the digest and a newline."""
    document = preview_document(preview, EVERYTHING if wide else Fold())
    shown = 0 if wide else width
    if preview.comparison is not None:
        return document_text(document, width=shown, colour=colour)
    # The plan ends with its own digest.
    before = document_text(msgspec.structs.replace(document, digest=""), width=shown, colour=colour)
    return f"{before}\n{plan_text(preview.plan, colour=colour, wide=wide, width=width)}"
