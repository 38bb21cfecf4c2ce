"""Named limits over nodes: how much is in use, how many more nodes of a group are allowed, and which limit stops it.

All nodes count by capacity, unmanaged ones and the control plane included, as in OpenShift's resource limits. Example: with at
most 64 cores, 30 in use and machines of 8 cores, 4 more nodes are allowed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import SharedRoom
from reconciler.cluster.workloads.capacity_quota import CapacityQuota
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.reasons.sizes import LimitReached, LimitUnknown, PriceUnknown, RoomTaken, SpendingLimitReached
from reconciler.policy.documents import Limit, PolicySet, QuotaReading
from reconciler.policy.values.label_selector import Selector, selector_matches
from reconciler.values.money import PRICE_HOURS

NODES = "nodes"
DEVICES = "devices-"
"""How the name of a resource begins that counts the devices of a driver; the driver's name follows."""
Refusal = LimitReached | SpendingLimitReached | PriceUnknown | LimitUnknown | RoomTaken
"""Why no more nodes of a group are allowed."""

UNKNOWN_SHAPE = NodeShape()
"""In place of what a new node is, where nobody can tell: it counts as a node, at its price. It has no label and no capacity."""

PLATFORM_ROOM = -1
"""In place of the index of a limit: what the platform of a target can still give."""


QUOTA = "CapacityQuota"


class UnknownLimit(Limit, frozen=True, kw_only=True):
    """A limit of the cluster that cannot be told, and why. No node may be added, because it might count any."""

    why: str


def with_quotas(world: World, policy: PolicySet) -> PolicySet:
    """The policy with the CapacityQuotas of the cluster among its limits, where it says that they are."""
    rules = policy.policy
    if rules.limits_from.capacity_quotas is QuotaReading.IGNORE:
        return policy
    if QUOTA in world.captured:
        quotas: tuple[Limit, ...] = tuple(_of_quota(quota) for quota in world.quotas)
    else:
        quotas = (UnknownLimit(name=QUOTA, why="the CapacityQuotas of the cluster were not captured"),)
    return msgspec.structs.replace(policy, policy=msgspec.structs.replace(rules, limits=(*rules.limits, *quotas)))


def _of_quota(quota: CapacityQuota) -> Limit:
    name, requirements = f"{QUOTA} {quota.name}", quota.selector.requirements
    if quota.problem:
        return UnknownLimit(name=name, why=quota.problem)
    return Limit(name=name, nodes=Selector(match_expressions=requirements) if requirements else None, max=quota.max)


def counted_shapes(
    limits: Sequence[Limit], world: World, group_of: Sequence[int], groups: Sequence[EffectiveGroup]
) -> Callable[[int], NodeShape]:
    """What each node, by its index, counts as: its shape, with its devices if some limit counts these.

    A node whose driver is late, or hides devices in use, counts with those of its group's template. `group_of` are positions of
    `groups`, or -1.
    """

    def plain(index: int) -> NodeShape:
        return world.node_shapes[world.nodes[index].shape]

    if not any(name.startswith(DEVICES) for limit in limits for name, _ in (*limit.max, *limit.min)):
        return plain
    evidence = DeviceEvidence.of(world)

    @cache
    def with_devices(index: int) -> NodeShape:
        name = world.nodes[index].name
        template = groups[group_of[index]].template if group_of[index] >= 0 else None
        devices = evidence.of_node.get(name, ())
        if template is not None and (name in evidence.hiding or evidence.lacks(name, template.devices)):
            coming = {item.driver for item in template.devices}
            devices = (*template.devices, *(item for item in devices if item.driver not in coming))
        return msgspec.structs.replace(plain(index), devices=devices)

    return with_devices


class LimitLedger:
    """What counts against every limit, kept up to date while a plan adds and removes nodes."""

    def __init__(self, limits: tuple[Limit, ...], currency: str = "") -> None:
        self._limits = limits
        self._currency = currency
        # The shape is kept beside the answer so that its id cannot be given to another object.
        self._known: dict[tuple[str, int], tuple[NodeShape, list[int]]] = {}
        self._unmanaged: list[dict[str, int]] = [{name: 0 for name, _ in (*limit.max, *limit.min)} for limit in limits]
        self._used: list[dict[str, int]] = [{name: 0 for name, _ in (*limit.max, *limit.min)} for limit in limits]
        self._new: Counter[str] | None = None
        """Nodes by the platform's room that they take, since `begin`."""

    def begin(self) -> None:
        """What is there, or on its way, has been counted: what is counted from now on takes the room that platforms have left."""
        self._new = Counter()

    def count(self, group: EffectiveGroup | None, shape: NodeShape, nodes: int = 1) -> None:
        """Add `nodes` nodes of a shape (negative: take away); `group` None for a node that nobody manages."""
        for index in self._over(group, shape):
            used = self._used[index]
            for name in used:
                used[name] += nodes * amount_of(group, shape, name)
                if group is None:
                    self._unmanaged[index][name] += nodes * amount_of(group, shape, name)
        if self._new is not None:
            for name in _counted_rooms(group):
                self._new[name] += nodes

    def room(self, group: EffectiveGroup, shape: NodeShape, most: int) -> tuple[int, Refusal | None]:
        """How many nodes (at most `most`) may be added, and the limit, or the platform's room, that refuses the next one."""
        refusal: Refusal | None = None
        for index in self._over(group, shape):
            limit = self._limits[index]
            if isinstance(limit, UnknownLimit) and most > 0:
                most, refusal = 0, LimitUnknown(group=group.name, limit=limit.name, why=limit.why)
            for name, highest in limit.max:
                if name in PRICE_HOURS and group.price_micros is None and most > 0:
                    most, refusal = 0, PriceUnknown(group=group.name, limit=limit.name)
                one = amount_of(group, shape, name)
                if one <= 0:
                    continue
                used = self._used[index][name]
                allowed = max(0, (highest - used) // one)
                if allowed < most:
                    most = allowed
                    refusal = self._reached(group, index, name, highest, used + allowed * one, one)
        for room in _rooms(group):
            allowed = max(0, room.left - self._taken(room))
            if allowed < most:
                most = allowed
                refusal = RoomTaken(group=group.name, room=room.name, why=room.counted, new=self._taken(room))
        return most, refusal

    def reserved(self, group: EffectiveGroup) -> int:
        """How many new nodes of the group still take free reserved capacity."""
        rooms = group.facts.reserved if group.facts is not None else ()
        return min((max(0, room.left - self._taken(room)) for room in rooms), default=0)

    def _reached(
        self, group: EffectiveGroup, index: int, name: str, highest: int, used: int, one: int
    ) -> LimitReached | SpendingLimitReached:
        limit = self._limits[index].name
        if name in PRICE_HOURS:
            return SpendingLimitReached(
                group=group.name,
                limit=limit,
                resource=name,
                currency=self._currency,
                used_micros=used,
                node_micros=one,
                max_micros=highest,
            )
        return LimitReached(
            group=group.name,
            limit=limit,
            resource=name,
            used=used,
            unmanaged=self._unmanaged[index][name],
            node=one,
            max=highest,
        )

    def left(self, group: EffectiveGroup, shape: NodeShape) -> dict[tuple[int, str], tuple[int, int]]:
        """By limit (its index) and resource: what the limit leaves now, and what one more node of the group takes of it. Rooms of
        platforms follow, by name, with index `PLATFORM_ROOM`."""
        limits = {
            (index, name): (highest - self._used[index][name], one)
            for index in self._over(group, shape)
            for name, highest in self._limits[index].max
            if (one := amount_of(group, shape, name)) > 0
        }
        return limits | {(PLATFORM_ROOM, room.name): (room.left - self._taken(room), 1) for room in _rooms(group)}

    def spent(self) -> Iterator[tuple[str, str, int, int]]:
        """Each spending limit: its name, the amount that it bounds (`pricePerHour`), what is spent of it, and what may be.

        Both are in millionths of the currency. Nodes without a known price cost nothing here.
        """
        for limit, used in zip(self._limits, self._used, strict=True):
            yield from ((limit.name, name, used[name], highest) for name, highest in limit.max if name in PRICE_HOURS)

    def below_min(self, group: EffectiveGroup, shape: NodeShape) -> tuple[Limit, str] | None:
        """The limit (with the resource) whose minimum the removal of one such node would pass, or None."""
        for index in self._over(group, shape):
            for name, lowest in self._limits[index].min:
                one = amount_of(group, shape, name)
                if one > 0 and self._used[index][name] - one < lowest:
                    return self._limits[index], name
        return None

    def _taken(self, room: SharedRoom) -> int:
        return self._new[room.name] if self._new is not None else 0

    def _over(self, group: EffectiveGroup | None, shape: NodeShape) -> list[int]:
        """The limits that count such a node. Remembered by group and shape object, since one plan asks a node at a time."""
        if not self._limits:
            return []
        key = (group.name if group is not None else "", id(shape))
        known = self._known.get(key)
        if known is None:
            known = (shape, self._matching(group, shape))
            self._known[key] = known
        return known[1]

    def _matching(self, group: EffectiveGroup | None, shape: NodeShape) -> list[int]:
        return [
            index
            for index, limit in enumerate(self._limits)
            if (limit.groups is None or (group is not None and selector_matches(limit.groups, dict(group.labels))))
            and (limit.nodes is None or selector_matches(limit.nodes, dict(shape.labels)))
        ]


def _rooms(group: EffectiveGroup | None) -> tuple[SharedRoom, ...]:
    return group.facts.rooms if group is not None and group.facts is not None else ()


def _counted_rooms(group: EffectiveGroup | None) -> set[str]:
    if group is None or group.facts is None:
        return set()
    return {room.name for room in (*group.facts.rooms, *group.facts.reserved)}


def amount_of(group: EffectiveGroup | None, shape: NodeShape, name: str) -> int:
    """What one node adds to a limited sum: 1 node, its price in millionths, its capacity, or how many devices of a driver it has.
    Without a known price it costs 0."""
    if name in PRICE_HOURS:
        price = group.price_micros if group is not None else None
        return (price or 0) * PRICE_HOURS[name]
    if name.startswith(DEVICES):
        driver = name.removeprefix(DEVICES)
        return sum(len(item.devices) for item in shape.devices if item.driver == driver)
    return 1 if name == NODES else shape.capacity.get(name)
