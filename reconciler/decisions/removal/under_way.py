"""Removals that are about to be written, so that one which was begun is remembered though its writer ended right after."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.approval_ceiling import departed
from reconciler.decisions.situation.group_situation import LEAVING_TAINTS


def intending(memory: Memory, removals: Iterable[tuple[str, str]]) -> Memory:
    """What to store before the write that begins these removals: pairs of target and node. What it brings is remembered by
    `settle` in a memory without them."""
    intended: dict[str, tuple[str, ...]] = {}
    for target, node in sorted(removals):
        intended[target] = (*intended.get(target, ()), node)
    return msgspec.structs.replace(memory, intended=intended)


def recovered(memory: Memory, world: World, now_seconds: int) -> Memory:
    """The memory of a process that ended between such a write and its outcome. A node that is gone or leaving counts as removed,
    as with `settle`. A node in its previous state was not touched."""
    if not memory.intended:
        return memory
    leaving = _leaving(world)
    there = {node.name for node in world.nodes}
    updated_memory = msgspec.structs.replace(memory, intended={})
    for target, nodes in memory.intended.items():
        begun = [name for name in nodes if name not in memory.leaving and (name in leaving or name not in there)]
        if begun:
            updated_memory = msgspec.structs.replace(
                updated_memory,
                last_removed_seconds=now_seconds,
                leaving={**updated_memory.leaving, **dict.fromkeys(begun, now_seconds)},
                departures=departed(updated_memory.departures, target, len(begun), now_seconds),
            )
    return updated_memory


def _leaving(world: World) -> frozenset[str]:
    """Names of nodes that somebody is taking away, by their own marks or by those of their machines."""
    marked = (machine.node for machine in world.machines if machine.deleting or machine.delete_marked)
    own = (
        node.name
        for node in world.nodes
        if node.deleting or any(taint.key in LEAVING_TAINTS for taint in world.node_shapes[node.shape].taints)
    )
    return frozenset((*marked, *own))
