"""By when a pod that waits gets a node, if one of the groups that would run it has capacity."""

from collections.abc import Collection

from reconciler.decisions.situation.turns import Turns, turns_of
from reconciler.rendering.printers.lines import paragraph
from reconciler.rendering.printers.text.explanation.case import Case
from reconciler.rendering.words.wording import count
from reconciler.values.duration import duration_text


def turns(case: Case, would_run: Collection[str]) -> Turns | None:
    """The turns of the groups that would run it and may grow; None without any."""
    free = [
        group
        for group in case.groups
        if group.name in would_run and not (line := case.group_line(group.name)).held and line.current < line.max
    ]
    return turns_of(free, case.memory) if free else None


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
