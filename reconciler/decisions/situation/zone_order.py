"""In which zones the next nodes of a group will come, where the platform chooses them: what is certain, and what is possible.

SOURCE: Amazon EC2 Auto Scaling launches in the zone with the fewest instances of the group. Which of several with equally few
it takes, it does not say.
"""

from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL, NodeShape
from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.evidence import contradicted_zones
from reconciler.decisions.situation.group_situation import GroupSituation

_NOTHING = Memory()
NEVER = 1 << 40
"""The `last` of a node of which nobody knows the zone."""


class Landing(msgspec.Struct, frozen=True):
    """One future node, and the `zones` where it may be created, if the nodes before it are in their assumed zones. `shape` is the
    node in the first of these zones, `others` are the nodes in the rest. `last` is the number of the node after which each of
    these zones has one. `again`: an earlier one already tries whether nodes come there, after they did not. `unproven`: the same,
    where none ever has."""

    zones: tuple[str, ...]
    shape: NodeShape
    others: tuple[NodeShape, ...] = ()
    last: int = -1
    again: bool = False
    unproven: bool = False

    def tries_again(self, *, some_zones: bool) -> bool:
        """Whether it would be in vain if the earlier one is: a node of another zone helps a pod that only `some_zones` run."""
        return self.again or (self.unproven and some_zones)


class ZoneOrder:
    """The future nodes of one group, in order. `on_the_way` are the zones of those that the platform has already created, which
    come first. `counts` are all instances by zone, these included; None if their zones are unknown. `doubtful` are zones in which
    nodes did not come before, and `proven` those in which some have. The others are tried by one node."""

    def __init__(
        self,
        group: EffectiveGroup,
        counts: Counter[str] | None,
        on_the_way: Sequence[str],
        doubtful: Collection[str] = (),
        proven: Collection[str] = (),
    ) -> None:
        self._doubtful, self._proven = doubtful, proven
        self._tried = set(on_the_way)
        self._shapes = dict(group.in_zones)
        self._counts = None if counts is None else Counter({zone: counts[zone] for zone in self._shapes})
        self._landings = [Landing((zone,), self._shapes[zone]) if zone in self._shapes else self._any() for zone in on_the_way]

    def landing(self, number: int) -> Landing:
        """Of the node with this number, from 0."""
        while len(self._landings) <= number:
            self._landings.append(self._next())
        return self._landings[number]

    def _any(self) -> Landing:
        zones = tuple(self._shapes)
        return Landing(zones, self._shapes[zones[0]], tuple(self._shapes[zone] for zone in zones[1:]), NEVER)

    def _next(self) -> Landing:
        if self._counts is None:
            return self._any()
        fewest = min(self._counts[zone] for zone in self._shapes)
        zones = tuple(zone for zone in self._shapes if self._counts[zone] == fewest)
        self._counts[zones[0]] += 1
        last = len(self._landings) + len(zones) - 1
        tried = zones[0] in self._tried
        self._tried.add(zones[0])
        others = tuple(self._shapes[zone] for zone in zones[1:])
        again, unproven = tried and zones[0] in self._doubtful, tried and zones[0] not in self._proven
        return Landing(zones, self._shapes[zones[0]], others, last, again, unproven)


def zone_order(
    world: World,
    group: EffectiveGroup,
    situation: GroupSituation,
    members: Membership,
    machines: Sequence[Machine],
    memory: Memory = _NOTHING,
) -> ZoneOrder | None:
    """The order of a group whose zones the platform fills; None for any other."""
    if not group.in_zones:
        return None
    there = [(index, members.machine_of.get(index), _zone_label(world, index)) for index in situation.nodes]
    failed = {name for name, _ in situation.failed}
    waiting = [machine for machine in machines if not machine.node and not machine.deleting]
    zones = [(machine.zone if machine is not None else "") or label for _, machine, label in there if not _gone(machine)]
    zones += [machine.zone for machine in waiting]
    starting = frozenset(situation.starting)
    on_the_way = [label for index, _, label in there if index in starting]
    on_the_way += [machine.zone for machine in waiting if machine.name not in failed]
    counts, doubtful = Counter(zones) if all(zones) else None, contradicted_zones(memory, str(group.target))
    proven = memory.zones.get(str(group.target), ())
    return ZoneOrder(group, counts, on_the_way[: situation.upcoming + len(starting)], doubtful, proven)


def note_zones(memory: Memory, world: World, groups: Sequence[EffectiveGroup], members: Membership) -> Memory:
    """The memory with the zones in which nodes of each group have come, until nodes that were for one of them came elsewhere."""
    zones: dict[str, tuple[str, ...]] = {}
    for position, group in enumerate(groups):
        if group.in_zones:
            target = str(group.target)
            shown = {_zone_label(world, index) for index in members.members[position]} - {""}
            before = frozenset(memory.zones.get(target, ())) - contradicted_zones(memory, target)
            zones[target] = tuple(sorted(shown | before))
    return msgspec.structs.replace(memory, zones=dict(sorted(zones.items())))


def _gone(machine: Machine | None) -> bool:
    return machine is not None and machine.deleting


def _zone_label(world: World, index: int) -> str:
    return world.node_shapes[world.nodes[index].shape].label(ZONE_LABEL) or ""
