"""Zones that groups are shifted away from.

SOURCE: the user guide of Amazon EC2 Auto Scaling, "Auto Scaling group zonal shift". A group that is registered launches all new
instances in its other zones while a shift is active. In the ARC documentation, `appliedWeights` is 0 for a zone that a resource
is shifted away from. The cause is a person, AWS itself (autoshift) or a practice run. A shift of an EKS cluster moves its pods
away. An Auto Scaling group that is not registered still launches in the zone.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reconciler.cluster.target import Caution, ZoneShift
from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.platforms.aws.facts.view import AwsView, region_of
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_launch import ManagedResource
from reconciler.platforms.aws.kinds import MANAGED_RESOURCE

_CLUSTER = ":cluster/"


def registered(item: AutoScalingGroup) -> bool:
    """Whether zonal shift is enabled for the group."""
    policy = item.availability_zone_impairment_policy
    return policy is not None and bool(policy.zonal_shift_enabled)


def zone_names(items: Iterable[AutoScalingGroup], view: AwsView) -> dict[tuple[str, str], str]:
    """Names of zones by region and id (`use1-az1`), as far as instances, groups with one zone and reservations show them. An
    account has its own names for ids."""
    names: dict[tuple[str, str], str] = {}
    for item in items:
        region = region_of(item.auto_scaling_group_arn)
        zones, ids = item.availability_zones or (), item.availability_zone_ids or ()
        if len(zones) == len(ids) == 1:
            names[region, ids[0]] = zones[0]
        for one in item.instances or ():
            if one.availability_zone_id:
                names[region, one.availability_zone_id] = one.availability_zone
    for reservation in view.reservations:
        if reservation.availability_zone_id:
            region = region_of(reservation.capacity_reservation_arn)
            names[region, reservation.availability_zone_id] = reservation.availability_zone
    return names


def zone_shifts(item: AutoScalingGroup, clusters: Iterable[str], view: AwsView) -> tuple[ZoneShift, ...]:
    """Its zones that it, or a cluster that it belongs to, is shifted away from."""
    shifts: dict[str, ZoneShift] = {}
    for name in clusters:
        shifts |= _shifted(item, _cluster(item, name, view), view, ZoneShift(zone="", moved=f"EKS cluster {name}", closes=True))
    own = view.managed_resources.get(item.auto_scaling_group_arn) if registered(item) else None
    avoided = _shifted(item, own, view, ZoneShift(zone="", moved="the group"))
    if not set(item.availability_zones or ()) - avoided.keys():
        avoided = {zone: msgspec.structs.replace(one, closes=True) for zone, one in avoided.items()}
    return tuple(sorted((shifts | avoided).values()))


def shift_cautions(item: AutoScalingGroup, view: AwsView) -> Iterator[Caution]:
    """Shifts that cannot be read, or whose zone is unknown."""
    if not registered(item):
        return
    if MANAGED_RESOURCE not in view.captured:
        yield Caution(
            code="ZonalShiftsUnread",
            message="zonal shift is enabled for it, and zonal shifts were not captured: it is unknown where AWS launches",
            advice="allow arc-zonal-shift:ListManagedResources",
        )
    own = view.managed_resources.get(item.auto_scaling_group_arn)
    for key in sorted(_away(own)):
        if _zone(item, key, view) is None:
            yield Caution(
                code="ShiftedZoneUnknown",
                message=f"it is shifted away from {key}, and no instance shows which zone of the account that is",
                advice="see `aws ec2 describe-availability-zones`",
            )


def _cluster(item: AutoScalingGroup, name: str, view: AwsView) -> ManagedResource | None:
    region = region_of(item.auto_scaling_group_arn)
    arns = (arn for arn in view.managed_resources if arn.endswith(f"{_CLUSTER}{name}") and region_of(arn) == region)
    return next((view.managed_resources[arn] for arn in arns), None)


def _shifted(item: AutoScalingGroup, resource: ManagedResource | None, view: AwsView, what: ZoneShift) -> dict[str, ZoneShift]:
    zones = {key: _zone(item, key, view) for key in _away(resource)}
    return {
        zone: msgspec.structs.replace(what, zone=zone, until_seconds=_until(resource, key)) for key, zone in zones.items() if zone
    }


def _away(resource: ManagedResource | None) -> list[str]:
    weights: Mapping[str, float] = (resource.applied_weights if resource is not None else None) or {}
    return [zone for zone, weight in weights.items() if weight == 0]


def _zone(item: AutoScalingGroup, key: str, view: AwsView) -> str | None:
    """The name of a zone of the group; empty for a zone that the group is not in; None if that is unknown."""
    zones, region = item.availability_zones or (), region_of(item.auto_scaling_group_arn)
    name = key if key in zones else view.zone_names.get((region, key))
    if name is None:
        return "" if item.availability_zone_ids and key not in item.availability_zone_ids else None
    return name if name in zones else ""


def _until(resource: ManagedResource | None, key: str) -> int:
    """When the shift ends by itself; 0 if it has no end, as an autoshift."""
    shifts = (resource.zonal_shifts if resource is not None else None) or ()
    return max((unix_seconds_or_zero(one.expiry_time) for one in shifts if one.away_from == key), default=0)
