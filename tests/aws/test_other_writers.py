"""Who else sizes an Auto Scaling group, and what AWS does to its nodes by itself."""

from typing import Any

import pytest

from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState
from tests.aws.documents import REGION, Object, arn, facts, group

TERMS = Terms(now_seconds=1_800_000_000, first_seen_seconds=0)
POLICY = {
    "AutoScalingGroupName": "workers",
    "PolicyName": "cpu",
    "PolicyARN": arn("workers"),
    "PolicyType": "TargetTrackingScaling",
}
SCHEDULE = {
    "AutoScalingGroupName": "workers",
    "ScheduledActionName": "night",
    "ScheduledActionARN": arn("workers"),
    "Recurrence": "0 20 * * *",
}
REFRESH = {"InstanceRefreshId": "r-1", "AutoScalingGroupName": "workers"}
MANAGED = {
    "nodegroupName": "ng",
    "resources": {"autoScalingGroups": [{"name": "workers"}]},
    "labels": {},
}


def weighted(weight: str) -> Object:
    override = {"InstanceType": "m5.large", "WeightedCapacity": weight}
    return {"MixedInstancesPolicy": {"LaunchTemplate": {"Overrides": [override]}}}


@pytest.mark.parametrize(
    ("rest", "documents", "by", "words"),
    [
        ({"Operator": {"Principal": "eks.amazonaws.com"}}, {}, "eks.amazonaws.com", "refuses writes by others"),
        ({"DesiredCapacityType": "vcpu"}, {}, "its unit", "does not count nodes"),
        (weighted("4"), {}, "its unit", "weighted capacity (4)"),
        ({}, {"ScalingPolicies": [POLICY]}, "scaling policy cpu", "TargetTrackingScaling"),
        (
            {},
            {"ScalingPolicies": [{**POLICY, "PredictiveScalingConfiguration": {"Mode": "ForecastAndScale"}}]},
            "scaling policy cpu",
            "sets the desired capacity",
        ),
        (
            {},
            {"ScheduledUpdateGroupActions": [{**SCHEDULE, "DesiredCapacity": 2}]},
            "scheduled action night",
            "sets desired capacity 2 at 0 20 * * *",
        ),
        ({}, {"InstanceRefreshes": [{**REFRESH, "Status": "InProgress"}]}, "instance refresh", "r-1 is InProgress"),
        ({}, {"nodegroup": {**MANAGED, "status": "UPDATING"}}, "managed node group ng", "is UPDATING"),
        (
            {"WarmPoolConfiguration": {"InstanceReusePolicy": {"ReuseOnScaleIn": True}}},
            {},
            "warm pool",
            "ReuseOnScaleIn",
        ),
    ],
)
def test_s34_held(rest: Object, documents: dict[str, Any], by: str, words: str) -> None:
    """S34: whoever else decides the desired capacity holds the group, with the evidence."""
    found = judge(facts(group(**rest), **documents), TERMS).ownership
    assert (found.state, found.by) == (OwnerState.HELD, by)
    assert words in "; ".join(found.evidence)


@pytest.mark.parametrize(
    ("rest", "documents"),
    [
        ({"DesiredCapacityType": "units"}, {}),
        (weighted("1"), {}),
        ({}, {"ScalingPolicies": [{**POLICY, "Enabled": False}]}),
        ({}, {"ScalingPolicies": [{**POLICY, "PredictiveScalingConfiguration": {"Mode": "ForecastOnly"}}]}),
        ({}, {"ScalingPolicies": [{**POLICY, "AutoScalingGroupName": "another"}]}),
        ({}, {"ScalingPolicies": [{**POLICY, "PolicyARN": arn("workers", "us-east-1")}]}),
        ({}, {"ScheduledUpdateGroupActions": [{**SCHEDULE, "MinSize": 2}]}),
        ({}, {"InstanceRefreshes": [{**REFRESH, "Status": "Successful"}]}),
        ({}, {"nodegroup": {**MANAGED, "status": "DEGRADED"}}),
        ({"WarmPoolConfiguration": {"PoolState": "Stopped"}}, {}),
    ],
)
def test_not_held(rest: Object, documents: dict[str, Any]) -> None:
    """What is switched off, over, of another group or region, or only looks like it, holds nothing."""
    assert judge(facts(group(**rest), **documents), TERMS).ownership.state is OwnerState.OURS


@pytest.mark.parametrize(
    ("rest", "tags", "documents", "code"),
    [
        ({"AvailabilityZones": [f"{REGION}a", f"{REGION}b"]}, {}, {}, "ZoneRebalance"),
        ({"CapacityRebalance": True}, {}, {}, "SpotRebalance"),
        ({"MaxInstanceLifetime": 604800}, {}, {}, "InstanceLifetime"),
        ({}, {"aws:cloudformation:stack-name": "s"}, {}, "KeptByStack"),
        ({}, {"ManagedBy": "Terraform"}, {}, "KeptByTerraform"),
        ({}, {}, {"ScheduledUpdateGroupActions": [{**SCHEDULE, "MaxSize": 2}], "ScalingPolicies": []}, "ScheduledBounds"),
        (
            {},
            {},
            {
                "nodegroup": {**MANAGED, "health": {"issues": [{"code": "Ec2LaunchTemplateNotFound", "message": "m"}]}},
                "ScalingPolicies": [],
                "ScheduledUpdateGroupActions": [],
            },
            "ManagedNodeGroupHealth",
        ),
    ],
)
def test_cautions(rest: Object, tags: dict[str, str], documents: dict[str, Any], code: str) -> None:
    """Incident 11: what ends or changes nodes without us is told, with what to do."""
    found = facts(group(tags=tags, **rest), **documents).cautions
    assert [item.code for item in found] == [code]
    assert found[0].advice


def test_zone_rebalance_that_is_suspended() -> None:
    """The advice was taken."""
    zones = [f"{REGION}a", f"{REGION}b"]
    suspended = [{"ProcessName": "AZRebalance"}]
    assert facts(group(AvailabilityZones=zones, SuspendedProcesses=suspended)).cautions == ()


def test_a_launch_that_is_suspended_holds() -> None:
    """Desired is accepted and nothing comes: nobody is to buy there."""
    found = judge(facts(group(SuspendedProcesses=[{"ProcessName": "Launch"}])), TERMS).ownership
    assert (found.state, found.evidence) == (OwnerState.HELD, ("suspended processes: Launch",))


def test_s41_warm_pool_instances_are_nobodys() -> None:
    """Instances of a warm pool join early and are no capacity of the group (kubernetes/autoscaler#4005)."""
    from tests.aws.documents import world

    instances = [
        {"InstanceId": "i-1", "AvailabilityZone": f"{REGION}a", "LifecycleState": "InService"},
        {"InstanceId": "i-2", "AvailabilityZone": f"{REGION}a", "LifecycleState": "Warmed:Running"},
    ]
    found = world(group(DesiredCapacity=1, Instances=instances))
    assert [machine.name for machine in found.machines] == ["i-1"]


@pytest.mark.parametrize(
    ("desired", "mark", "told"),
    [(7, "4.1800000000", True), (4, "4.1800000000", False), (3, "4.1800000000", False), (7, "", False), (7, "x.1", False)],
)
def test_a_value_above_our_last_write_is_somebodys(desired: int, mark: str, *, told: bool) -> None:
    """The tag says what we wrote last: a higher value is foreign, a lower one may be our own removals."""
    tags = {"reconciler.dev/desired": mark} if mark else {}
    found = [one.message for one in facts(group(DesiredCapacity=desired, tags=tags)).cautions if one.code == "RaisedByOthers"]
    assert bool(found) is told
    assert all("is 7, and the last write that we signed was 4" in message for message in found)
