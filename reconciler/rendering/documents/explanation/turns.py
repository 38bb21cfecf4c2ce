"""By when a pod that waits gets a node, if one of the groups that would run it has capacity."""

from collections.abc import Collection

from reconciler.decisions.situation.turns import Turns, turns_of
from reconciler.rendering.documents.explanation.case import Case


def turns(case: Case, would_run: Collection[str]) -> Turns | None:
    """The turns of the groups that would run it and may grow; None without any."""
    free = [
        group
        for group in case.groups
        if group.name in would_run and not (line := case.group_line(group.name)).held and line.current < line.max
    ]
    return turns_of(free, case.memory) if free else None
