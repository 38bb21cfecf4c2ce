"""What scaling activities report about failed launches, by class of cause.

SOURCE: message texts of Amazon EC2 Auto Scaling, from its documentation and users' reports. A StatusMessage is cut after 255
characters, so this module matches beginnings and fragments. The codes for missing stock are those of karpenter-provider-aws.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from reconciler.cluster.target import LaunchFailure, SizeChange
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.aws.facts.wire import AutoScalingGroup
from reconciler.platforms.aws.facts.wire_beside import ScalingActivity


class FailureKind(StrEnum):
    """Stock: AWS has none of this kind now. Quota: the account may have no more. Configuration: no launch of this group will
    succeed until a person fixes it."""

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


# SOURCE: causes in Amazon EC2 Auto Scaling's user guide: "At 2014-12-11T22:38:15Z a user request explicitly set group desired
# capacity changing the desired capacity from 1 to 2." A cause has at most 1023 characters.
_CHANGE = re.compile(r"At (\S{1,40}Z) ([^.]{1,200}?)changing the desired capacity from (\d{1,9}) to (\d{1,9})")


def failure_kind(code: str, message: str) -> FailureKind:
    """The class of one failure. An unknown failure counts as a configuration fault, because a person must look at it."""
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


def launch_failure(item: AutoScalingGroup, desired: int, activities: Iterable[ScalingActivity]) -> LaunchFailure | None:
    """Why instances that are missing of `desired` will not come for now. None while AWS still tries, or if nothing is missing.

    If a launch fails in one zone, AWS tries the other zones, unless the group is `balanced-only`. The failure is final once the
    newest launch in every zone of the group has failed. It is not final while a launch runs, after a later launch succeeded, or
    if all instances are there.
    """
    living = [i for i in item.instances or () if not i.lifecycle_state.startswith(("Terminat", "Warmed", "Detach", "Standby"))]
    if desired <= len(living):
        return None
    only = item.availability_zone_distribution is not None and (
        item.availability_zone_distribution.capacity_distribution_strategy == _BALANCED_ONLY
    )
    zones = set(item.availability_zones or ())
    failed: dict[str, ScalingActivity] = {}
    # A launch for the warm pool tells nothing about launches for the group itself.
    launches = [
        (started, one)
        for one in activities
        if one.description.startswith(_LAUNCH)
        and not one.description.startswith(_INTO_POOL)
        and (started := _seconds(one.start_time))
    ]
    # Newest first. Within one second, failures come last: the success is the later news.
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


def last_change(activities: Iterable[ScalingActivity]) -> SizeChange | None:
    """The newest change of a desired capacity in the causes of activities. `a user request` is any call of the API."""
    found = (match for activity in activities for match in _CHANGE.finditer(activity.cause))
    changes = (
        SizeChange(at_seconds=_seconds(match[1]), before=int(match[3]), to=int(match[4]), by=match[2].strip(" ,"))
        for match in found
    )
    return max(changes, default=None)


def failure_text(activity: ScalingActivity) -> str:
    """The full text from AWS: the description repeats the message after its own words."""
    return activity.status_message or _STATUS_REASON.split(activity.description, maxsplit=1)[-1]


def _seconds(text: str) -> int:
    try:
        return unix_seconds(text)
    except UnreadableError:
        return 0
