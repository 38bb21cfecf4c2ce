"""What scaling activities say of launches that failed, by the class of the cause.

SOURCE: texts of Amazon EC2 Auto Scaling as its documentation and reports of users have them; a StatusMessage ends after 255
characters, so that only beginnings and fragments are looked for. Codes taken as a lack of stock: those of karpenter-provider-aws.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from reconciler.cluster.target import LaunchFailure
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.aws.facts.aws_beside import ScalingActivity
from reconciler.platforms.aws.facts.wire import AutoScalingGroup


class FailureKind(StrEnum):
    """Stock: nothing of this kind is to be had now. Quota: the account may have no more. Configuration: no launch of this group
    will succeed until a person mends it."""

    STOCK = "Stock"
    QUOTA = "Quota"
    CONFIGURATION = "Configuration"


STOCK_CODES = frozenset({
    "InsufficientInstanceCapacity", "UnfulfillableCapacity", "Unsupported", "InsufficientFreeAddressesInSubnet",
    "ReservationCapacityExceeded", "InsufficientCapacity", "InsufficientHostCapacity", "SpotMaxPriceTooLow",
    "InsufficientCapacityOnOutpost",
})  # fmt: skip
QUOTA_CODES = frozenset({
    "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InstanceLimitExceeded", "MaxFleetCountExceeded",
    "PendingVerification", "RequestLimitExceeded", "VolumeLimitExceeded",
})  # fmt: skip
_FRAGMENTS = (
    (re.compile(r"sufficient .{0,60}capacity", re.IGNORECASE), FailureKind.STOCK),
    (re.compile(r"no Spot capacity available", re.IGNORECASE), FailureKind.STOCK),
    (re.compile(r"not supported in your requested Availability Zone", re.IGNORECASE), FailureKind.STOCK),
    (re.compile(r"not enough free addresses in subnet", re.IGNORECASE), FailureKind.STOCK),
    (re.compile(r"reservation does not have sufficient|Capacity Block reservation", re.IGNORECASE), FailureKind.STOCK),
    (re.compile(r"more vCPU capacity than your current vCPU limit", re.IGNORECASE), FailureKind.QUOTA),
    (re.compile(r"more instances \(\d+\) than your current instance limit", re.IGNORECASE), FailureKind.QUOTA),
    (re.compile(r"Max spot instance count exceeded|maximum Fleet Requests", re.IGNORECASE), FailureKind.QUOTA),
)
_LEAD = re.compile(r"^(?:Could not launch (?:Spot|On-Demand) Instances\. *)?")
_CODE = re.compile(r"^([A-Z][A-Za-z.]+) [-–—] ")  # noqa: RUF001 - the dashes that AWS writes
_LAUNCH, _INTO_POOL = "Launching a new EC2 instance", "Launching a new EC2 instance into warm pool"
_STATUS_REASON = re.compile(r"Status Reason: *")
_BALANCED_ONLY = "balanced-only"
_ZONE = re.compile(r'"Availability Zone" *: *"([^"]+)"')


def failure_kind(code: str, message: str) -> FailureKind:
    """The class of one failure; what nobody knows is taken for a configuration that a person must look at."""
    if code in STOCK_CODES:
        return FailureKind.STOCK
    if code in QUOTA_CODES:
        return FailureKind.QUOTA
    return next((kind for pattern, kind in _FRAGMENTS if pattern.search(message)), FailureKind.CONFIGURATION)


def classified(message: str) -> FailureKind:
    """The class of a StatusMessage, by its code where it has one."""
    text = _LEAD.sub("", message)
    code = _CODE.match(text)
    return failure_kind(code.group(1) if code else "", text)


def launch_failure(item: AutoScalingGroup, activities: Iterable[ScalingActivity]) -> LaunchFailure | None:
    """Why the instances that are missing will not come for now; None while AWS still tries, or nothing is missing.

    A launch that fails in one zone is tried in the others, unless the group is `balanced-only`: it is final when the newest
    launch of every zone of the group has failed. A launch that is under way or has succeeded since speaks against it, and so do
    all instances being there.
    """
    living = [i for i in item.instances or () if not i.lifecycle_state.startswith(("Terminat", "Warmed", "Detach", "Standby"))]
    if item.desired_capacity <= len(living):
        return None
    only = item.availability_zone_distribution is not None and (
        item.availability_zone_distribution.capacity_distribution_strategy == _BALANCED_ONLY
    )
    zones = set(item.availability_zones or ())
    failed: dict[str, ScalingActivity] = {}
    # What is made for the warm pool says nothing of what the group itself asked for.
    launches = [
        (started, one)
        for one in activities
        if one.description.startswith(_LAUNCH)
        and not one.description.startswith(_INTO_POOL)
        and (started := _seconds(one.start_time))
    ]
    # Newest first; of one second the failed ones last, since what has succeeded is then the later word.
    for _, activity in sorted(launches, key=lambda pair: (-pair[0], pair[1].status_code == "Failed", pair[1].activity_id)):
        if activity.status_code == "Failed":
            zone = _ZONE.search(activity.details)
            failed.setdefault(zone.group(1) if zone else "", activity)
        elif activity.status_code != "Cancelled":
            break
    if not failed or not (only or "" in failed or zones <= failed.keys()):
        return None
    newest = max(failed.values(), key=lambda one: (_seconds(one.start_time), one.activity_id))
    message = failure_text(newest)
    return LaunchFailure(
        id=newest.activity_id, at_seconds=_seconds(newest.start_time), kind=str(classified(message)), message=message
    )


def failure_text(activity: ScalingActivity) -> str:
    """What AWS says in full length: the description repeats the message after its own words."""
    return activity.status_message or _STATUS_REASON.split(activity.description, maxsplit=1)[-1]


def _seconds(text: str) -> int:
    try:
        return unix_seconds(text)
    except UnreadableError:
        return 0
