"""Reserved capacity of Auto Scaling groups: which reservations a group uses, how much of them is free, and when AWS ends a block.

SOURCE: the user guide of Amazon EC2 on Capacity Reservations and Capacity Blocks, and that of Amazon EC2 Auto Scaling on their
use. An instance that names a reservation runs there or not at all. With `capacity-reservations-first`, it runs there as long as
there is room. By default, an instance takes an open reservation of its type, zone, platform and tenancy. When an On-Demand
Capacity Reservation ends, its instances keep running. Instances of a Capacity Block are terminated, from 30 minutes before its
end on. The instances of an UltraServer must be gone 60 minutes before it.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reconciler.cluster.target import Caution, Ending, SharedRoom
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.platforms.aws.facts.choices import choices
from reconciler.platforms.aws.facts.units import NOT_COUNTED, units_of
from reconciler.platforms.aws.facts.view import AwsView, region_of
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_launch import CapacityReservation, LaunchTemplateData
from reconciler.platforms.aws.kinds import RESERVATION
from reconciler.values.clauses import clauses
from reconciler.values.instant import instant_text

ACTIVE, OPEN = "active", "open"
_DEFAULT, _BLOCK = "default", "capacity-block"
_ONLY, _FIRST, _NONE = "capacity-reservations-only", "capacity-reservations-first", "none"
# SOURCE: the instance types of Capacity Blocks that are not UltraServers. AWS begins to end any other type an hour before.
_HALF_AN_HOUR_BEFORE = ("p4d.", "p4de.", "p5.", "p5e.", "p5en.", "p6-b200.", "p6-b300.", "trn1.", "trn2.")
_LINUX = "Linux/UNIX"
_MOST_SETS = 64
"""Of reservations that groups share in part. AWS refuses what more sets would."""


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """Which reservations one group uses. `ids` are those that count, `named` those that it names. `unusable` are sentences about
    those that do not count. `only`: the group launches nowhere else. `block`: its instances are in Capacity Blocks. `unread` is
    why its reservations are unknown (empty: they are known). `running` are its instances, and `owed` are those still to come."""

    region: str
    ids: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    only: bool = False
    block: bool = False
    unread: str = ""
    running: int = 0
    owed: int = 0


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the group and its launch templates ask for. `free_choice`: an instance takes any open reservation that matches, and
    `everywhere` if Auto Scaling looks for one in all zones of the group."""

    ids: tuple[str, ...] = ()
    resource_groups: tuple[str, ...] = ()
    only: bool = False
    free_choice: bool = False
    everywhere: bool = False
    unknown: str = ""


class ReservedCapacity:
    """The reservations of all groups of a view: groups may share some."""

    def __init__(self, items: Iterable[AutoScalingGroup], view: AwsView) -> None:
        self._reservations = view.reservations
        uses = {_key(item): _use(item, view) for item in items}
        self._uses = {key: use for key, use in uses.items() if use is not None}

    def limiting(self, item: AutoScalingGroup) -> tuple[SharedRoom, ...]:
        """What bounds the growth of a group that launches only into reservations; empty for others, and if nothing is known."""
        use = self._uses.get(_key(item))
        return self._rooms(use) if use is not None and use.only and not use.unread else ()

    def free(self, item: AutoScalingGroup) -> tuple[SharedRoom, ...]:
        """What is free in the reservations that the next instances of the group take."""
        use = self._uses.get(_key(item))
        return self._rooms(use) if use is not None and use.ids else ()

    def endings(self, item: AutoScalingGroup) -> tuple[Ending, ...]:
        """When AWS begins to end instances of the group, by zone. Of two blocks in one zone, nobody can tell whose instance is
        whose."""
        use = self._uses.get(_key(item))
        blocks = self._blocks(use).items() if use is not None else ()
        return tuple(_ending(found[0]) for _, found in sorted(blocks) if len(found) == 1 and found[0].end_date)

    def cautions(self, item: AutoScalingGroup) -> Iterator[Caution]:
        """What of its reservations does not count, or is unknown."""
        use = self._uses.get(_key(item))
        if use is None:
            return
        if use.unread:
            yield Caution(
                code="ReservationsUnread",
                message=f"{use.unread}: it is unknown how much is free and when it ends",
                advice="allow ec2:DescribeCapacityReservations, and name reservations by their ids",
            )
        for sentence in use.unusable:
            yield Caution(
                code="ReservationUnusable",
                message=f"a reservation is ignored: {sentence}",
                advice="see `aws ec2 describe-capacity-reservations`",
            )
        for zone, blocks in sorted(self._blocks(use).items()):
            if len(blocks) > 1:
                names = ", ".join(one.capacity_reservation_id for one in blocks)
                yield Caution(
                    code="CapacityBlocksMixed",
                    message=f"it uses several Capacity Blocks in {zone} ({names}): which nodes end with which block is unknown, "
                    "so no node is drained before its block ends",
                    advice="use one group per Capacity Block",
                )

    def _blocks(self, use: Use) -> Mapping[str, list[CapacityReservation]]:
        by_zone: dict[str, list[CapacityReservation]] = {}
        for one in self._reservations if use.block else ():
            if one.capacity_reservation_id in use.ids:
                by_zone.setdefault(one.availability_zone, []).append(one)
        return by_zone

    def _rooms(self, use: Use) -> tuple[SharedRoom, ...]:
        """The room in its own reservations, and in these with those of groups that use some of them, and so on.

        Groups that use only reservations of one such set find places for all of their instances if no set is too small (Hall's
        theorem).
        """
        others = [one for one in self._uses.values() if one.region == use.region]
        sets = {use.ids: None}
        for ids in (waiting := [use.ids]):
            for wider in (ids | one.ids for one in others if not one.ids.isdisjoint(ids)):
                if wider not in sets and len(sets) < _MOST_SETS:
                    sets[wider] = None
                    waiting.append(wider)
        return tuple(self._room(use, ids, others) for ids in sorted(sets, key=lambda ids: (len(ids), sorted(ids))))

    def _room(self, use: Use, ids: frozenset[str], others: list[Use]) -> SharedRoom:
        """AWS's own count may be older than the instances of groups that launch nowhere else."""
        mine = [one for one in self._reservations if one.capacity_reservation_id in ids]
        total = sum(one.total_instance_count for one in mine)
        taken = total - sum(one.available_instance_count for one in mine)
        used = max(taken, sum(one.running for one in others if one.only and one.ids and one.ids <= ids))
        owed = sum(one.owed for one in others if not one.ids.isdisjoint(ids))
        parts = [f"{used} of {total} instances are in use"]
        if owed:
            parts.append(f"{owed} more {'is' if owed == 1 else 'are'} requested")
        ends = [unix_seconds_or_zero(one.end_date) for one in mine if one.end_date]
        if ends:
            parts.append(f"until {instant_text(min(ends))}")
        names = sorted(ids or use.named)
        name = f"reservation{'' if len(names) == 1 else 's'} {', '.join(names)}" if names else "reserved capacity"
        why = (", ".join(parts),) if ids else () if use.unusable else ("no reservation matches the group",)
        return SharedRoom(name=name, left=max(0, total - used - owed), why=clauses((*why, *use.unusable)))


NOTHING_RESERVED = ReservedCapacity((), AwsView())


def names_reservations(item: AutoScalingGroup, templates: Iterable[LaunchTemplateData]) -> bool:
    """Whether the group says anything about reservations, beyond the default that open ones are taken."""
    wanted = _wanted(item, tuple(templates))
    return bool(wanted.ids or wanted.resource_groups or wanted.only or wanted.everywhere or wanted.unknown)


def _use(item: AutoScalingGroup, view: AwsView) -> Use | None:
    templates = view.template_data(item)
    wanted, region = _wanted(item, templates), region_of(item.auto_scaling_group_arn)
    managed = view.managed.get(item.auto_scaling_group_name)
    block = any(_market(data) == _BLOCK for data in templates) or (
        managed is not None and managed.capacity_type == "CAPACITY_BLOCK"
    )
    if wanted.unknown:
        return Use(region=region, unread=f"its preference {wanted.unknown} is unknown")
    if wanted.resource_groups:
        return Use(
            region=region, only=wanted.only, block=block, unread="it names reservations by a resource group, which is not read"
        )
    known = {
        one.capacity_reservation_id: one for one in view.reservations if region_of(one.capacity_reservation_arn) in ("", region)
    }
    named = bool(wanted.ids or wanted.only or wanted.everywhere)
    if RESERVATION not in view.captured or (wanted.ids and not known):
        unread = "its capacity reservations were not captured"
        return Use(region=region, named=wanted.ids, only=wanted.only, block=block, unread=unread) if named else None
    faults: dict[str, str] = {}
    if wanted.ids:
        faults = {one: _fault(item, known.get(one), view, block=block) for one in wanted.ids}
    elif wanted.free_choice:
        found = (one for one in known.values() if _matches(item, one, view, everywhere=wanted.everywhere))
        faults = {one.capacity_reservation_id: _fault(item, one, view, block=block) for one in found}
        faults = {name: fault for name, fault in faults.items() if not fault}
    if not faults and not wanted.only:
        return None
    there = sum(1 for one in item.instances or () if not one.lifecycle_state.startswith(NOT_COUNTED))
    units = units_of(item, choices(item, view), view)
    desired = item.desired_capacity if units is None else units.nodes(item.desired_capacity)
    return Use(
        region=region,
        ids=frozenset(name for name, fault in faults.items() if not fault),
        named=wanted.ids,
        unusable=tuple(f"{name}: {fault}" for name, fault in sorted(faults.items()) if fault),
        only=wanted.only,
        block=block,
        running=there,
        owed=max(0, desired - there),
    )


def _wanted(item: AutoScalingGroup, templates: tuple[LaunchTemplateData, ...]) -> _Wanted:
    """The group's own preference, else that of its launch templates."""
    own = item.capacity_reservation_specification
    preference = (own.capacity_reservation_preference if own is not None else None) or _DEFAULT
    target = own.capacity_reservation_target if own is not None else None
    ids = tuple((target.capacity_reservation_ids if target is not None else None) or ())
    groups = tuple((target.capacity_reservation_resource_group_arns if target is not None else None) or ())
    if preference == _NONE:
        return _Wanted()
    if preference in (_ONLY, _FIRST):
        only = preference == _ONLY
        return _Wanted(ids=ids, resource_groups=groups, only=only, free_choice=not (ids or groups), everywhere=True)
    if preference != _DEFAULT:
        return _Wanted(unknown=preference)
    # A target of the group counts beside a market type in the launch template.
    asked = (
        [_Wanted(ids=ids, resource_groups=groups, only=True)] if ids or groups else [_template_wants(data) for data in templates]
    )
    return _Wanted(
        ids=tuple(dict.fromkeys(name for one in asked for name in one.ids)),
        resource_groups=tuple(dict.fromkeys(name for one in asked for name in one.resource_groups)),
        only=bool(asked) and all(one.only for one in asked),
        free_choice=bool(asked) and all(one.free_choice for one in asked),
        everywhere=False,
        unknown=next((one.unknown for one in asked if one.unknown), ""),
    )


def _template_wants(data: LaunchTemplateData) -> _Wanted:
    spec = data.capacity_reservation_specification
    target = spec.capacity_reservation_target if spec is not None else None
    if target is not None and target.capacity_reservation_id:
        return _Wanted(ids=(target.capacity_reservation_id,), only=True)
    if target is not None and target.capacity_reservation_resource_group_arn:
        return _Wanted(resource_groups=(target.capacity_reservation_resource_group_arn,), only=True)
    preference = (spec.capacity_reservation_preference if spec is not None else None) or OPEN
    if preference == OPEN:
        return _Wanted(free_choice=True)
    if preference == _ONLY:
        return _Wanted(only=True, free_choice=True)
    return _Wanted() if preference == _NONE else _Wanted(unknown=preference)


def _market(data: LaunchTemplateData) -> str:
    return data.instance_market_options.market_type if data.instance_market_options is not None else ""


def _fault(item: AutoScalingGroup, one: CapacityReservation | None, view: AwsView, *, block: bool) -> str:
    """Why the reservation does not count; empty if it does. What is not known to be usable does not count."""
    if one is None:
        return "it is not among the capacity reservations of the account"
    types = {known.name for known in choices(item, view).types}
    kind = one.reservation_type or _DEFAULT
    faults = (
        f"its state is {one.state or 'unknown'}" if one.state != ACTIVE else "",
        f"its type is {kind}" if kind != (_BLOCK if block else _DEFAULT) else "",
        "it is interruptible" if one.interruptible else "",
        f"its launch status is {one.launch_status}" if one.launch_status not in (None, "", "launchable") else "",
        f"it reserves {one.instance_type}" if types and one.instance_type not in types else "",
        f"it is in {one.availability_zone}" if one.availability_zone not in (item.availability_zones or ()) else "",
    )
    return next((fault for fault in faults if fault), "")


def _matches(item: AutoScalingGroup, one: CapacityReservation, view: AwsView, *, everywhere: bool) -> bool:
    """Whether new instances take this open reservation. By default, an instance takes one of the zone that it comes to. So it is
    certain only for a group with one zone and one type."""
    found = choices(item, view)
    certain = everywhere or (len(item.availability_zones or ()) == 1 and len(found.types) == 1)
    managed = view.managed.get(item.auto_scaling_group_name)
    windows = managed is not None and managed.ami_type.startswith("WINDOWS_")
    return (
        certain
        and not (found.spot or found.problems or windows)
        and (one.instance_match_criteria, one.tenancy or _DEFAULT, one.instance_platform) == (OPEN, _DEFAULT, _LINUX)
    )


def _ending(block: CapacityReservation) -> Ending:
    minutes = 30 if block.instance_type.startswith(_HALF_AN_HOUR_BEFORE) else 60
    end = unix_seconds_or_zero(block.end_date)
    return Ending(
        zone=block.availability_zone, what=f"Capacity Block {block.capacity_reservation_id}", at_seconds=end - 60 * minutes
    )


def _key(item: AutoScalingGroup) -> str:
    return item.auto_scaling_group_arn or item.auto_scaling_group_name
