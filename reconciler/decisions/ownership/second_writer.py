"""Our last write to a target: what is remembered of it, and how it relates to later reads.

If a platform's objects have no generation, a read does not show which write it includes. For those platforms, time decides. A
read that began before our write ended, or within the platform's lag after it, may show the previous state. SOURCE: measured with
responses after 0.3 s and reads 15 s old: growth alone looked like a second writer.
"""

from collections.abc import Collection, Sequence
from enum import Enum, auto

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import ConflictState, LastWrite, Memory, Outcome
from reconciler.decisions.ownership.owner import OUR_MANAGER, UndoneWrite
from reconciler.decisions.platform_rules import PlatformRules, rules_of
from reconciler.decisions.situation.group_situation import GroupSituation
from reconciler.values.instant import instant_text

_RECENT_SECONDS = 300
"""Longer than the lag of any platform: an earlier write of ours may still be read until then."""


class Seen(Enum):
    """What a read says of our last write: it stands, somebody has undone it, or the read may be older."""

    STANDS = auto()
    UNDONE = auto()
    UNSEEN = auto()


def seen(write: LastWrite, facts: TargetFacts, now_seconds: int) -> Seen:
    """What the facts say of it; `now_seconds` is when they were read, where they do not say that."""
    if facts.replicas is None or facts.replicas == write.replicas:
        return Seen.STANDS
    if write.generation:
        return Seen.UNDONE if facts.generation > write.generation else Seen.UNSEEN
    read = facts.read_seconds or now_seconds
    if read > write.written_seconds + _lag(facts):
        return Seen.UNDONE
    # A value that was never there while we wrote is somebody's, however soon it is read.
    ours = write.lowest is None or write.highest is None or write.lowest <= facts.replicas <= write.highest
    return Seen.UNSEEN if ours or read <= write.written_seconds else Seen.UNDONE


def with_last_writes(world: World, memory: Memory, now_seconds: int) -> World:
    """The world, with the larger sizes that we wrote wherever a read may be older than the write. Otherwise the same nodes would
    be requested again. A size that we lowered stays as it was read, together with the machines of that read."""
    targets = tuple(_raised(facts, memory.last_writes.get(str(facts.ref)), now_seconds) for facts in world.targets)
    return world if targets == world.targets else msgspec.structs.replace(world, targets=targets)


def _raised(facts: TargetFacts, write: LastWrite | None, now_seconds: int) -> TargetFacts:
    if write is None or write.generation or write.lowest is None or facts.replicas is None or not _lag(facts):
        return facts
    hidden = write.lowest <= facts.replicas < write.replicas and seen(write, facts, now_seconds) is Seen.UNSEEN
    return msgspec.structs.replace(facts, replicas=write.replicas) if hidden else facts


def _lag(facts: TargetFacts) -> int:
    rules = rules_of(facts.ref.kind)
    return rules.read_lag_seconds if rules is not None else 0


def readable_from_seconds(memory: Memory, facts: TargetFacts) -> int:
    """From when on every read of the target shows what followed our last write to it."""
    write = memory.last_writes.get(str(facts.ref))
    return write.written_seconds + _lag(facts) if write is not None else 0


def last_write(memory: Memory, outcome: Outcome) -> LastWrite:
    """What to remember of a write that was done. Between `lowest` and `highest` lies what reads may still show: what was there
    before it, and before those of ours that are not long ago."""
    known = memory.last_writes.get(outcome.target)
    values = [] if outcome.before is None else [outcome.before, outcome.to]
    if known is not None and outcome.at_seconds - known.written_seconds < _RECENT_SECONDS:
        values += [value for value in (known.replicas, known.lowest, known.highest) if value is not None] if values else []
    return LastWrite(
        replicas=outcome.to,
        generation=outcome.generation,
        written_seconds=outcome.at_seconds,
        lowest=min(values, default=None),
        highest=max(values, default=None),
    )


def without_last_writes(memory: Memory, targets: frozenset[str]) -> Memory:
    """The memory that knows no write of ours to these targets: they are being written, and nobody can tell how far it came."""
    kept = {target: write for target, write in memory.last_writes.items() if target not in targets}
    return msgspec.structs.replace(memory, last_writes=kept) if len(kept) < len(memory.last_writes) else memory


UNDONE_TIMES = 3
REPORTED_FROM = 2
"""One write that is undone may be somebody's last word before ours is heard; the second one is a conflict, and is said."""
_AUTOSCALER = "cluster-autoscaler"


def note_conflicts(
    memory: Memory,
    groups: Sequence[EffectiveGroup],
    situations: Sequence[GroupSituation],
    now_seconds: int,
    autoscalers: Sequence[str] = (),
    resumed: Collection[str] = (),
) -> Memory:
    """Count our writes that somebody has undone since the last decision, each once. While nodes of a group are leaving, our own
    removals change its replicas, so nothing is counted. The count falls while nothing more is undone. `autoscalers` are other
    autoscalers in the cluster. If no writer signed a change, one of them is taken to have made it. `resumed` are names of groups
    whose hold in the policy has just ended: a size that somebody set during it holds nothing any longer."""
    conflicts = dict(memory.conflicts)
    writes = dict(memory.last_writes)
    for group, situation in zip(groups, situations, strict=True):
        target = str(group.target)
        before = conflicts.get(target)
        held = before is not None and before.count >= UNDONE_TIMES
        if before is not None and not held and now_seconds - before.last_seconds >= group.scale_up.backoff.reset_seconds:
            del conflicts[target]
        write, facts = writes.get(target), group.facts
        if facts is None or facts.replicas is None or situation.leaving:
            continue
        if write is None:
            # Another autoscaler is not a person.
            if (
                not autoscalers
                and group.name not in resumed
                and (changed := _changed(memory, group, before, now_seconds)) is not None
            ):
                conflicts[target] = changed
            continue
        if seen(write, facts, now_seconds) is Seen.UNDONE:
            conflicts[target] = ConflictState(
                count=_left(before, group, now_seconds) + 1,
                last_seconds=now_seconds,
                writer=_writer(group, autoscalers),
                ours=write.replicas,
                theirs=facts.replicas,
                certain=(facts.read_seconds or now_seconds) > write.written_seconds + _lag(facts),
            )
            del writes[target]
    return msgspec.structs.replace(memory, conflicts=conflicts, last_writes=writes)


def _changed(memory: Memory, group: EffectiveGroup, before: ConflictState | None, now_seconds: int) -> ConflictState | None:
    """A change of a size that we have not written, where the platform does not record who made it. It undoes nothing of ours."""
    target, size = str(group.target), memory.sizes.get(str(group.target))
    if group.facts is None or not group.facts.unrecorded_owner or size is None:
        return None
    claim = memory.claims.get(target)
    # A process may have ended between its first write and the record of it.
    written = claim is None or claim.written or target in memory.pledges or target in memory.purchases
    lasts = before is not None and before.certain and now_seconds - before.last_seconds < group.human_hold_time_seconds
    if size.since_seconds != now_seconds or size.before is None or (written and not lasts):
        return None
    count, writer = before.count if before is not None else 0, _rules(group).unsigned_writer
    return ConflictState(
        count=count, last_seconds=now_seconds, writer=writer, ours=size.before, theirs=size.replicas, certain=True
    )


def _left(state: ConflictState | None, group: EffectiveGroup, now_seconds: int) -> int:
    """What is left of a count: one less for each third of the group's back-off reset that was quiet. A hold stays. While a change
    holds like a person's, there is nothing to undo."""
    if state is None or state.count >= UNDONE_TIMES:
        return state.count if state is not None else 0
    held = group.human_hold_time_seconds if group.facts is not None and group.facts.unrecorded_owner else 0
    quiet = max(0, now_seconds - state.last_seconds - held) // max(1, group.scale_up.backoff.reset_seconds // UNDONE_TIMES)
    return max(0, state.count - quiet)


def undone_write(memory: Memory, group: EffectiveGroup) -> UndoneWrite | None:
    """What became of our last write to the group's target; None: it stands, we wrote again, or a read may be older than it."""
    state = memory.conflicts.get(str(group.target))
    if state is None or str(group.target) in memory.last_writes:
        return None
    rules = _rules(group)
    unrecorded = group.facts is not None and bool(group.facts.unrecorded_owner)
    if unrecorded and not (state.certain and state.writer == rules.unsigned_writer):
        return None
    return UndoneWrite(
        ours=state.ours, theirs=state.theirs, seen_seconds=state.last_seconds,
        writer=rules.unsigned_writer, found_in=_recorded(group, state) + rules.writer_evidence,
    )  # fmt: skip


def _recorded(group: EffectiveGroup, state: ConflictState) -> str:
    """What the platform has recorded of the change; empty if it has recorded nothing of it."""
    change = group.facts.last_change if group.facts is not None else None
    if change is None or (change.before, change.to) != (state.ours, state.theirs):
        return ""
    if change.at_seconds < state.last_seconds - _RECENT_SECONDS:
        return ""
    return f"the platform recorded at {instant_text(change.at_seconds)}: {change.by}. "


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
    if owners:
        return f"another installation of the reconciler, by field manager {OUR_MANAGER},"
    unsigned = _rules(group).unsigned_writer
    return f"{' or '.join(autoscalers)}, which signs nothing," if autoscalers else unsigned


def conflict_sentence(memory: Memory, group: EffectiveGroup) -> str:
    """Why the group is held for a second writer; empty when it is not."""
    state = memory.conflicts.get(str(group.target))
    if state is None or state.count < UNDONE_TIMES:
        return ""
    return (
        f"{state.writer} undid our writes {state.count} times, the last from {state.ours} to {state.theirs}: "
        f"{_rules(group).writer_evidence}. Stop that writer, then hold and release the group to start again"
    )


def _rules(group: EffectiveGroup) -> PlatformRules:
    rules = rules_of(group.target.kind)
    if rules is None:
        raise LookupError(f"no platform has targets of kind {group.target.kind}")
    return rules
