"""Clocks that are wrong. A machine is given up, and a node removed, only where ages can be trusted.

Three things guard that. The difference to the API server's clock is known. What is waited for has an age by our own first sight
as well, which one clock measured twice. Nothing that is remembered can be in the future.
"""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory
from reconciler.values.duration import duration_text

MOST_SECONDS_APART = 60
"""Synchronized clocks differ by less than a second, and the shortest timer that removes a machine is of minutes."""
_BETWEEN_LOOKS_SECONDS = 300
"""A loop decides at least so often, so a machine that it did not see before may be so old."""


def clocks_apart(world: World) -> str:
    """Why no age can be trusted; empty: nothing says so."""
    ahead = world.clock_ahead_seconds
    if abs(ahead) <= MOST_SECONDS_APART:
        return ""
    side = "ahead of" if ahead > 0 else "behind"
    return (
        f"the clock of this process is {duration_text(abs(ahead))} {side} the API server's, so ages are unreliable. "
        "No node is removed and no machine is given up. Set the clock"
    )


def first_sight(memory: Memory, group: EffectiveGroup, machine: Machine, now_seconds: int) -> int:
    """When a machine that is seen for the first time began to wait, by our clock. A machine of a target that nobody has looked at
    yet may be as old as it says. So may one that was made since the last look."""
    made = machine.created_seconds
    looked_at = str(group.target) in memory.sizes
    return made if made and (not looked_at or 0 <= now_seconds - made <= _BETWEEN_LOOKS_SECONDS) else now_seconds


def by_now(memory: Memory, now_seconds: int) -> Memory:
    """The memory without what happened after now: a clock that was ahead has written it. Its timers count from now."""

    def cut(since: Mapping[str, int]) -> Mapping[str, int]:
        late = any(at > now_seconds for at in since.values())
        return {name: min(at, now_seconds) for name, at in since.items()} if late else since

    return msgspec.structs.replace(
        memory,
        unneeded_since=cut(memory.unneeded_since),
        leaving=cut(memory.leaving),
        foreign_since=cut(memory.foreign_since),
        waiting_since=cut(memory.waiting_since),
        replaceable_since=cut(memory.replaceable_since),
        sizes={
            name: one if one.since_seconds <= now_seconds else msgspec.structs.replace(one, since_seconds=now_seconds)
            for name, one in memory.sizes.items()
        },
        last_added_seconds=min(memory.last_added_seconds, now_seconds),
        last_removed_seconds=min(memory.last_removed_seconds, now_seconds),
        last_failed_seconds=min(memory.last_failed_seconds, now_seconds),
    )
