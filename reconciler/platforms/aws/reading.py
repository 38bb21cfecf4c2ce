"""What there is to read of Auto Scaling groups, from the output of AWS commands."""

from reconciler.cluster.platform_reading import Envelope, PlatformReading, WireKind
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP, MANAGED_RESOURCE, RESERVATION

_LISTS = {
    "LaunchTemplateVersion": "LaunchTemplateVersions",
    "LaunchConfiguration": "LaunchConfigurations",
    "InstanceType": "InstanceTypes",
    "ScalingPolicy": "ScalingPolicies",
    "ScheduledAction": "ScheduledUpdateGroupActions",
    "ScalingActivity": "Activities",
    "InstanceRefresh": "InstanceRefreshes",
    RESERVATION: "CapacityReservations",
    MANAGED_RESOURCE: "ManagedResources",
    "ManagedNodeGroup": "nodegroup",
}
"""The keys of the lists of what belongs to groups."""

READING = PlatformReading(
    name="aws",
    kinds=(
        WireKind(
            kind=AUTO_SCALING_GROUP,
            target=True,
            envelope=Envelope(list_key="AutoScalingGroups", item_name="AutoScalingGroupName"),
        ),
        *(WireKind(kind=kind, envelope=Envelope(list_key=list_key)) for kind, list_key in _LISTS.items()),
    ),
)
