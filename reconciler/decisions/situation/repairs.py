"""Nodes that a condition says are broken: they are replaced once it has lasted for longer than the policy tolerates.

SOURCE: Karpenter's node repair. A condition has a status for a time, and not too many nodes are broken at once. Here, the bounds
are those of `health`, for all managed nodes and for those of each zone. In an outage, a new node would be broken as well.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.world import World
from reconciler.decisions.reasons.kept_nodes import RepairHeld
from reconciler.decisions.situation.group_situation import exceeds_unready_bounds
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Health


class Repair(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Why a node is replaced: its condition has this status since `since_seconds` (Unix time)."""

    since_seconds: int
    condition: str
    status: str


class Repairs(msgspec.Struct, frozen=True, kw_only=True):
    """By node of the World: what is repaired now, and what is not because too many are broken."""

    due: Mapping[int, Repair] = {}
    held: Mapping[int, RepairHeld] = {}


def repairs(world: World, states: Sequence[NodeState], health: Health, now_seconds: int) -> Repairs:
    """All repairs of managed nodes. Nodes that leave, start or are not ready yet for the first time are none of them."""
    if not health.repair:
        return Repairs()
    managed = [index for index, state in enumerate(states) if state is not NodeState.UNMANAGED]
    due: dict[int, Repair] = {}
    broken: list[int] = []
    for index in managed:
        found = [
            (one, rule.toleration_seconds)
            for one in world.nodes[index].conditions
            for rule in health.repair
            if (one.type, one.status) == (rule.condition, rule.status)
        ]
        if found or states[index] is NodeState.UNREADY:
            broken.append(index)
        late = [
            Repair(since_seconds=one.since_seconds, condition=one.type, status=one.status)
            for one, tolerated in found
            if now_seconds >= one.since_seconds + tolerated
        ]
        if late and states[index] not in (NodeState.LEAVING, NodeState.NOT_STARTED):
            due[index] = min(late)
    held = _outages(world, managed, broken, health)
    stopped = {index: why for index in due if (why := held.get("") or held.get(_zone(world, index))) is not None}
    return Repairs(due={index: one for index, one in due.items() if index not in stopped}, held=stopped)


def _outages(world: World, managed: Iterable[int], broken: Iterable[int], health: Health) -> Mapping[str, RepairHeld]:
    """Why nothing is repaired: by zone, and under an empty name anywhere."""
    every, bad = Counter(_zone(world, index) for index in managed), Counter(_zone(world, index) for index in broken)
    sums = {"": (bad.total(), every.total())} | {zone: (count, every[zone]) for zone, count in bad.items() if zone}
    return {
        zone: RepairHeld(zone=zone, broken=count, nodes=nodes)
        for zone, (count, nodes) in sums.items()
        if exceeds_unready_bounds(count, nodes, health.max_unready_percent, health.ok_unready_count)
    }


def _zone(world: World, index: int) -> str:
    return world.node_shapes[world.nodes[index].shape].label(ZONE_LABEL) or ""
