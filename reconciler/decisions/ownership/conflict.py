"""A second writer: somebody sets replicas to another value after we wrote them, again and again.

Measured on Cluster API: a `/scale` write on a field that nobody owns leaves no managedFields entry at all, so a second
writer may be invisible there. Our own last write is therefore remembered and compared. The story that this ends: a
platform that restores its own desired count, and an autoscaler that raises it again for the pods that wait.
"""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import ConflictState, Memory
from reconciler.decisions.ownership.last_write import Seen, seen
from reconciler.decisions.ownership.owner import OUR_MANAGER, UndoneWrite
from reconciler.decisions.platform_rules import PlatformRules, rules_of
from reconciler.decisions.situation.group_situation import GroupSituation

UNDONE_TIMES = 3
SAID_FROM = 2
"""One write that is undone may be somebody's last word before ours is heard; the second one is a conflict, and is said."""
_AUTOSCALER = "cluster-autoscaler"


def note_conflicts(
    memory: Memory,
    groups: Sequence[EffectiveGroup],
    situations: Sequence[GroupSituation],
    now_seconds: int,
    autoscalers: Sequence[str] = (),
) -> Memory:
    """Count writes of ours that were undone since. While nodes of a group are leaving its replicas move by our own doing,
    so nothing is counted then; an undone write is counted once. A count falls while nothing more is undone.
    `autoscalers` are others that run in the cluster: one of them it was where nobody has signed."""
    conflicts = dict(memory.conflicts)
    writes = dict(memory.last_writes)
    for group, situation in zip(groups, situations, strict=True):
        target = str(group.target)
        before = conflicts.get(target)
        held = before is not None and before.count >= UNDONE_TIMES
        if before is not None and not held and now_seconds - before.last_seconds >= group.backoff_reset_seconds:
            del conflicts[target]
        write, facts = writes.get(target), group.facts
        if write is None or facts is None or facts.replicas is None or situation.leaving:
            continue
        if seen(write, facts, now_seconds) is Seen.UNDONE:
            conflicts[target] = ConflictState(
                count=_left(before, group, now_seconds) + 1,
                last_seconds=now_seconds,
                writer=_writer(group, autoscalers),
                ours=write.replicas,
                theirs=facts.replicas,
            )
            del writes[target]
    return msgspec.structs.replace(memory, conflicts=conflicts, last_writes=writes)


def _left(state: ConflictState | None, group: EffectiveGroup, now_seconds: int) -> int:
    """What is left of a count: one less for each third of the group's back-off reset that was quiet. A hold stays."""
    if state is None or state.count >= UNDONE_TIMES:
        return state.count if state is not None else 0
    quiet = (now_seconds - state.last_seconds) // max(1, group.backoff_reset_seconds // UNDONE_TIMES)
    return max(0, state.count - quiet)


def undone_write(memory: Memory, group: EffectiveGroup) -> UndoneWrite | None:
    """What became of our last write to the group's target; None: it stands, or we wrote again."""
    state = memory.conflicts.get(str(group.target))
    if state is None or str(group.target) in memory.last_writes:
        return None
    return UndoneWrite(ours=state.ours, theirs=state.theirs, seen_seconds=state.last_seconds)


def other_autoscalers(world: World) -> tuple[str, ...]:
    """Deployments that run another autoscaler, in whatever namespace."""
    return tuple(
        f"Deployment {item.namespace}/{item.name}"
        for item in world.controllers
        if item.kind == "Deployment" and _AUTOSCALER in item.name and item.replicas
    )


def _writer(group: EffectiveGroup, autoscalers: Sequence[str]) -> str:
    owners = group.facts.owner.owners if group.facts is not None else ()
    names = sorted({owner.manager for owner in owners if owner.manager != OUR_MANAGER})
    if names:
        return ", ".join(names)
    unsigned = _rules(group).unsigned_writer
    return f"{' or '.join(autoscalers)}, which signs nothing," if autoscalers else unsigned


def conflict_sentence(memory: Memory, group: EffectiveGroup) -> str:
    """Why the group is held for a second writer; empty when it is not."""
    state = memory.conflicts.get(str(group.target))
    if state is None or state.count < UNDONE_TIMES:
        return ""
    return (
        f"{state.writer} undid our writes {state.count} times, the last from {state.ours} to {state.theirs}; "
        f"{_rules(group).writer_told_by}. End it there, then hold and release the group to start afresh"
    )


def _rules(group: EffectiveGroup) -> PlatformRules:
    rules = rules_of(group.target.kind)
    if rules is None:
        raise LookupError(f"no platform has targets of kind {group.target.kind}")
    return rules
