"""By when a waiting pod gets a node, in words."""

from collections.abc import Collection

from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.turns import turns
from reconciler.rendering.printers.lines import paragraph
from reconciler.rendering.words.wording import count
from reconciler.values.duration import duration_text


def turns_lines(case: Case, would_run: Collection[str], width: int) -> list[str]:
    """The bound, and where it comes from."""
    found = turns(case, would_run)
    if found is None:
        return []
    shortest, longest = (duration_text(pick(found.patience_seconds.values())) for pick in (min, max))
    each = shortest if shortest == longest else f"{shortest} to {longest}"
    sentence = (
        f"if one of them has capacity, its node comes within {duration_text(found.within_seconds)}: "
        f"{count(len(found.patience_seconds), 'group')} may have one turn each ({each}), "
        f"and a back-off lasts {duration_text(found.backoff_seconds)} at most"
    )
    return paragraph(sentence, width, 0)
