"""Replacements in progress: which of those in the memory began, and still may become what they lead to."""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory, Replacement
from reconciler.decisions.situation.group_situation import GroupSituation
from reconciler.plan.plan import NodeState


class Takeover(msgspec.Struct, frozen=True, kw_only=True):
    """A replacement under way: `sources` are its nodes that are still there, `takers` new ones that are ready (World
    indices)."""

    replacement: Replacement
    sources: tuple[int, ...]
    takers: tuple[int, ...]


def takeovers(
    world: World,
    memory: Memory,
    groups: Mapping[str, tuple[EffectiveGroup, GroupSituation]],
    states: tuple[NodeState, ...],
    now_seconds: int,
) -> tuple[Takeover, ...]:
    """The replacements in progress, by the groups that are not held (by target). A replacement is dropped if it never began (its
    write was refused or not made) or has ended. It is also dropped if its new node did not join in time. A failed machine backs
    its group off as usual."""
    return tuple(_takeovers(world, memory, groups, states, now_seconds)) if memory.replacements else ()


def _takeovers(
    world: World,
    memory: Memory,
    groups: Mapping[str, tuple[EffectiveGroup, GroupSituation]],
    states: tuple[NodeState, ...],
    now_seconds: int,
) -> Iterator[Takeover]:
    names = {node.name: index for index, node in enumerate(world.nodes)}
    for replacement in memory.replacements:
        sources = tuple(sorted(names[name] for name in replacement.nodes if name in names))
        if replacement.target not in groups or not sources:
            continue
        group, situation = groups[replacement.target]
        came = [
            index
            for index in situation.nodes
            if world.nodes[index].created_seconds >= replacement.started_seconds and index not in sources
        ]
        takers = tuple(index for index in came if states[index] is NodeState.IN_USE)
        began = bool(came) or situation.current >= replacement.to
        waited = now_seconds - replacement.started_seconds
        times = group.scale_up
        late = waited > times.max_node_provision_time_seconds + (times.max_node_startup_time_seconds if came else 0)
        if began and (takers or not late):
            yield Takeover(replacement=replacement, sources=sources, takers=takers)
