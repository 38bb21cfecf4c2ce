"""Replacements in progress: which of those in the memory began, and still may become what they lead to."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory, Replacement
from reconciler.decisions.situation.group_situation import GroupSituation
from reconciler.plan.plan import NodeState


class Takeover(msgspec.Struct, frozen=True, kw_only=True):
    """A replacement under way: `sources` are its nodes that are still there, `takers` new ones that are ready (World indices).
    `parts` are its entries in the memory, one for each target that still grows or has grown. `awaited` counts the new nodes that
    are still to come, by target."""

    parts: tuple[Replacement, ...]
    sources: tuple[int, ...]
    takers: tuple[int, ...]
    awaited: Mapping[str, int]

    @property
    def replacement(self) -> Replacement:
        """The first of its parts: what all of them share."""
        return self.parts[0]


def takeovers(
    world: World,
    memory: Memory,
    groups: Mapping[str, tuple[EffectiveGroup, GroupSituation]],
    states: tuple[NodeState, ...],
    now_seconds: int,
) -> tuple[Takeover, ...]:
    """The replacements in progress, by the groups that are not held (by target). A part is dropped if it never began (its write
    was refused or not made) or if none of its new nodes joined in time. A replacement without parts, or without old nodes, has
    ended. A failed machine backs its group off as usual."""
    names = {node.name: index for index, node in enumerate(world.nodes)} if memory.replacements else {}
    together: dict[tuple[tuple[str, ...], int], list[Replacement]] = {}
    for replacement in memory.replacements:
        together.setdefault((replacement.nodes, replacement.started_seconds), []).append(replacement)
    found = []
    for (nodes, _), parts in together.items():
        sources = tuple(sorted(names[name] for name in nodes if name in names))
        judged = [
            (part, came)
            for part in parts
            if part.target in groups and (came := _came(part, world, *groups[part.target], states, now_seconds))
        ]
        if sources and judged:
            takers = sorted(index for _, came in judged for index in came.takers)
            awaited = {part.target: came.awaited for part, came in judged if came.awaited}
            found.append(
                Takeover(parts=tuple(part for part, _ in judged), sources=sources, takers=tuple(takers), awaited=awaited)
            )
    return tuple(found)


def began(part: Replacement, world: World, situation: GroupSituation) -> bool:
    """Whether the target of one part has grown for it. Otherwise its write was refused or not made."""
    return situation.current >= part.to or bool(_new_nodes(part, world, situation))


def _new_nodes(part: Replacement, world: World, situation: GroupSituation) -> list[int]:
    return [
        index
        for index in situation.nodes
        if world.nodes[index].created_seconds >= part.started_seconds and world.nodes[index].name not in part.nodes
    ]


class _Came(msgspec.Struct, frozen=True):
    takers: tuple[int, ...]
    awaited: int


def _came(
    part: Replacement,
    world: World,
    group: EffectiveGroup,
    situation: GroupSituation,
    states: tuple[NodeState, ...],
    now_seconds: int,
) -> _Came | None:
    """What has come of one part; None if nothing has, or will."""
    came = _new_nodes(part, world, situation)
    takers = tuple(index for index in came if states[index] is NodeState.IN_USE)
    times = group.scale_up
    longest = times.max_node_provision_time_seconds + (times.max_node_startup_time_seconds if came else 0)
    late = now_seconds - part.started_seconds > longest
    if not began(part, world, situation) or (late and not takers):
        return None
    return _Came(takers, 0 if late else max(0, part.new - len(takers)))
