"""Our last write to a target: what is remembered of it, what a later read says of it, and what it says of a read.

A platform whose objects have no generation tells nobody which write a read has seen. There the order of time decides: a read
that began before our write had ended, or within the platform's lag after it, may show what was there before.
SOURCE: measured with responses after 0.3 s and reads 15 s old: growth alone looked like a second writer.
"""

from enum import Enum, auto

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.memory import LastWrite, Memory, Outcome
from reconciler.decisions.platform_rules import rules_of

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
    """The world with the larger sizes that we wrote, where a read may be older: the same nodes would be asked for again. A size
    that we lowered stays as it was read, beside the machines that were read with it."""
    found = tuple(_raised(facts, memory.last_writes.get(str(facts.ref)), now_seconds) for facts in world.targets)
    return world if found == world.targets else msgspec.structs.replace(world, targets=found)


def _raised(facts: TargetFacts, write: LastWrite | None, now_seconds: int) -> TargetFacts:
    if write is None or write.generation or write.lowest is None or facts.replicas is None or not _lag(facts):
        return facts
    hidden = write.lowest <= facts.replicas < write.replicas and seen(write, facts, now_seconds) is Seen.UNSEEN
    return msgspec.structs.replace(facts, replicas=write.replicas) if hidden else facts


def _lag(facts: TargetFacts) -> int:
    rules = rules_of(facts.ref.kind)
    return rules.read_lag_seconds if rules is not None else 0


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
