"""Launches that fail: what AWS says, the class of it, and when it is final."""

from typing import Any

import pytest

from reconciler.cluster.target import LaunchFailure
from reconciler.platforms.aws.facts.activities import classified
from tests.aws.documents import REGION, Object, facts, group

A, B = f"{REGION}a", f"{REGION}b"
STOCK = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient m5.large capacity "
    "in the Availability Zone you requested (eu-central-1a). Our system will be working on provisioning additional capa"
)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (STOCK, "Stock"),
        ("Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request conf", "Stock"),
        ("There is no Spot capacity available that matches your request. Launching EC2 instance failed.", "Stock"),
        (
            "We currently do not have sufficient p3.2xlarge capacity in the Availability Zone you requested (us-east",
            "Stock",
        ),
        ("Your requested instance type (m6g.large) is not supported in your requested Availability Zone (us-east-1e).", "Stock"),
        ("There are not enough free addresses in subnet 'subnet-1' to satisfy the requested number of instances.", "Stock"),
        ("Could not launch Spot Instances. MaxSpotInstanceCountExceeded - Max spot instance count exceeded. Launch", "Quota"),
        (
            "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your cur",
            "Quota",
        ),
        ("You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket", "Quota"),
        ("You have requested more instances (11) than your current instance limit of 10 allows", "Quota"),
        ("The image id '[ami-0]' does not exist. Launching EC2 instance failed.", "Configuration"),
        ("Client.InternalError: Client error on launch", "Configuration"),
        (
            "Could not launch On-Demand Instances. InvalidParameterCombination - The specified instance type is not eligible",
            "Configuration",
        ),
    ],
)
def test_class(message: str, kind: str) -> None:
    """Three classes; what nobody knows needs a person."""
    assert classified(message) == kind


def activity(number: int, *, zone: str = A, status: str = "Failed", **rest: Any) -> Object:
    return {
        "ActivityId": f"act-{number}",
        "AutoScalingGroupName": "workers",
        "Description": "Launching a new EC2 instance.  Status Reason: " + STOCK,
        "StartTime": f"2026-11-22T07:00:{number:02}Z",
        "StatusCode": status,
        "StatusMessage": STOCK,
        "Details": f'{{"Subnet ID":"subnet-1","Availability Zone":"{zone}"}}',
        **rest,
    }


def failure(*activities: Object, desired: int = 1, zones: tuple[str, ...] = (A, B), **rest: Any) -> LaunchFailure | None:
    return facts(
        group(DesiredCapacity=desired, AvailabilityZones=list(zones), **rest), Activities=list(activities)
    ).launch_failure


def test_final_when_every_zone_has_failed() -> None:
    """A group that balances as it can tries its other zones first."""
    assert failure(activity(1, zone=A)) is None
    found = failure(activity(1, zone=A), activity(2, zone=B))
    assert found is not None
    assert (found.id, found.kind, found.message) == ("act-2", "Stock", STOCK)


def test_final_at_once_where_zones_are_kept() -> None:
    """A group that is `balanced-only` tries no other zone."""
    only = {"AvailabilityZoneDistribution": {"CapacityDistributionStrategy": "balanced-only"}}
    assert failure(activity(1), **only) is not None


@pytest.mark.parametrize("status", ["Successful", "InProgress", "PreInService", "MidLifecycleAction", "WaitingForInstanceWarmup"])
def test_a_later_launch_speaks_against_it(status: str) -> None:
    """Something is under way, or has come."""
    assert failure(activity(1), activity(2, status=status), zones=(A,)) is None
    assert failure(activity(2), activity(1, status=status), zones=(A,)) is not None


def test_nothing_is_missing() -> None:
    """An old failure of a group that has all its instances."""
    instances = [{"InstanceId": "i-1", "LifecycleState": "InService"}]
    assert failure(activity(1), zones=(A,), Instances=instances) is None
    leaving = [{"InstanceId": "i-1", "LifecycleState": "Terminating:Wait"}]
    assert failure(activity(1), zones=(A,), Instances=leaving) is not None


def test_other_activities() -> None:
    """A failed termination and what was cancelled say nothing of launches."""
    assert failure(activity(1, Description="Terminating EC2 instance: i-1"), zones=(A,)) is None
    assert failure(activity(1, status="Cancelled"), zones=(A,)) is None


def test_message_from_the_description() -> None:
    """An activity without StatusMessage says it in its description."""
    found = failure(activity(1, StatusMessage=None), zones=(A,))
    assert found is not None
    assert found.message == STOCK
