"""How Auto Scaling groups and the objects around them are read from the output of AWS commands."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import Key, KindObjects, Objects, PlatformObjects, Rows
from reconciler.platforms.aws.facts import group, wire, wire_beside, wire_launch
from reconciler.platforms.aws.facts.instance_types import described_type
from reconciler.platforms.aws.facts.notices import NOTICE_TAINTS, notices
from reconciler.platforms.aws.facts.reservations import ReservedCapacity
from reconciler.platforms.aws.facts.shown import shown, words_of_group
from reconciler.platforms.aws.facts.view import AwsView, region_of
from reconciler.platforms.aws.facts.zonal_shifts import zone_names
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, MANAGED_RESOURCE, RESERVATION


def rows(objects: Objects) -> Rows:
    """Groups and their instances."""
    items = objects.of(AUTO_SCALING_GROUP).values()
    view = _view(objects)
    reserved = ReservedCapacity(items, view)
    return Rows(
        targets=[group.facts(item, view, reserved) for item in items],
        machines=[row for item in items for row in group.machines(item, view)],
    )


def _view(objects: Objects) -> AwsView:
    view = AwsView(
        templates=tuple(objects.of("LaunchTemplateVersion").values()),
        configurations={item.launch_configuration_name: item for item in objects.of("LaunchConfiguration").values()},
        described={item.instance_type: described_type(item) for item in objects.of("InstanceType").values()},
        policies=_of_group(objects.of("ScalingPolicy").values()),
        schedules=_of_group(objects.of("ScheduledAction").values()),
        activities=_of_group(objects.of("ScalingActivity").values()),
        refreshes=_of_group(objects.of("InstanceRefresh").values()),
        managed={
            resource.name: item
            for item in objects.of("ManagedNodeGroup").values()
            for resource in (item.resources.auto_scaling_groups if item.resources else None) or ()
        },
        noticed=notices({node.name: objects.shapes[node.shape].taints for node in objects.nodes}, objects.nodes),
        reservations=tuple(objects.of(RESERVATION).values()),
        managed_resources={item.arn: item for item in objects.of(MANAGED_RESOURCE).values()},
        captured=objects.captured - {AUTO_SCALING_GROUP},
    )
    if not view.managed_resources:
        return view
    return msgspec.structs.replace(view, zone_names=zone_names(objects.of(AUTO_SCALING_GROUP).values(), view))


def _of_group(items: Iterable[Any]) -> dict[str, tuple[Any, ...]]:
    by_group: dict[str, list[Any]] = {}
    for item in items:
        by_group.setdefault(item.auto_scaling_group_name, []).append(item)
    return {name: tuple(own) for name, own in by_group.items()}


def _group_key(item: wire.AutoScalingGroup) -> Key:
    target = group.reference(item)
    return target.region, target.name


def _beside(read: type[msgspec.Struct], key: Callable[[Any], Key]) -> KindObjects:
    return KindObjects(type=read, key=key, shown=partial(shown, read))


OBJECTS = PlatformObjects(
    kinds={
        AUTO_SCALING_GROUP: KindObjects(
            type=wire.AutoScalingGroup, key=_group_key, shown=partial(shown, wire.AutoScalingGroup), words_of=words_of_group
        ),
        "LaunchTemplateVersion": _beside(
            wire_launch.LaunchTemplateVersion, lambda item: (item.launch_template_id, str(item.version_number))
        ),
        "LaunchConfiguration": _beside(wire_launch.LaunchConfiguration, lambda item: ("", item.launch_configuration_name)),
        "InstanceType": _beside(wire_launch.InstanceType, lambda item: ("", item.instance_type)),
        "ScalingPolicy": _beside(
            wire_beside.ScalingPolicy, lambda item: (f"{item.policy_arn}/{item.auto_scaling_group_name}", item.policy_name)
        ),
        "ScheduledAction": _beside(
            wire_beside.ScheduledAction,
            lambda item: (f"{item.scheduled_action_arn}/{item.auto_scaling_group_name}", item.scheduled_action_name),
        ),
        "ScalingActivity": _beside(wire_beside.ScalingActivity, lambda item: ("", item.activity_id)),
        "InstanceRefresh": _beside(wire_beside.InstanceRefresh, lambda item: ("", item.instance_refresh_id)),
        RESERVATION: _beside(
            wire_launch.CapacityReservation,
            lambda item: (region_of(item.capacity_reservation_arn), item.capacity_reservation_id),
        ),
        MANAGED_RESOURCE: _beside(wire_launch.ManagedResource, lambda item: ("", item.arn)),
        "ManagedNodeGroup": _beside(
            wire_beside.ManagedNodeGroup, lambda item: (item.nodegroup_arn or item.cluster_name, item.nodegroup_name)
        ),
    },
    rows=rows,
    words=NOTICE_TAINTS,
)
