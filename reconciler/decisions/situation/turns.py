"""Turns: a group that failed while pods wait comes after those that have not been tried for these pods.

Back-off alone does not reach the last group. While a third group is tried for 15 minutes, the back-off of the first one ends. So
each group is tried once for pods that wait, tier by tier. After that, the group that failed longest ago has the next turn, of
whatever tier. Pods that came after a failure start with the first tier again.
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.lead_times import overdue_after_seconds
from reconciler.decisions.situation.waiting_pods import WaitingPods, waiting_since


def note_turns(memory: Memory, world: World, waiting: WaitingPods, groups: Sequence[EffectiveGroup], now_seconds: int) -> Memory:
    """The memory with the last failure of each group. A failure is kept while a pod is pending that waited already, and for as
    long as the back-off counts it."""
    # A clock ahead of ours may have written what is to come.
    known = {name: min(seconds, now_seconds) for name, seconds in memory.last_failures.items()}
    for name, state in memory.backoffs.items():
        known[name] = max(state.failed_seconds, known.get(name, 0))
    if not known:
        return memory
    first = min(waiting_since(world, waiting).values(), default=None)
    names = {group.name for group in groups}
    kept = {
        name: seconds
        for name, seconds in sorted(known.items())
        if name in names and (name in memory.backoffs or (first is not None and seconds >= first))
    }
    return msgspec.structs.replace(memory, last_failures=kept)


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """How long it takes until each of several groups had its turn: each is waited for as long as `patience_seconds` says, by
    name. One that failed before has its turn at the end of its back-off, `backoff_seconds` at most."""

    patience_seconds: Mapping[str, int]
    backoff_seconds: int
    iteration_seconds: int = 60

    @property
    def within_seconds(self) -> int:
        """A group that has capacity gets a new node by then. An iteration may end as late as its interval after each turn."""
        turns = sum(self.patience_seconds.values()) + len(self.patience_seconds) * self.iteration_seconds
        return turns + self.backoff_seconds


def turns_of(groups: Sequence[EffectiveGroup], memory: Memory) -> Turns:
    """The turns of groups that could run the same pod."""
    return Turns(
        patience_seconds={
            group.name: overdue_after_seconds(
                memory.lead_times.get(str(group.target)), group.scale_up.max_node_provision_time_seconds
            )
            for group in groups
        },
        backoff_seconds=max((group.scale_up.backoff.max_seconds for group in groups), default=0),
    )
