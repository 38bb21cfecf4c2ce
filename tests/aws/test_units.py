"""Groups whose desired capacity is in units: what it means in nodes, worked out by hand.

Source: Amazon EC2 Auto Scaling, instance weights and DesiredCapacityType; kubernetes/autoscaler#4851.
"""

import json
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts
from reconciler.platforms.aws.writing.asking import misses
from reconciler.policy.documents import TargetSpec
from tests.aws.documents import SIZERS, TEMPLATE, Object, facts, group
from tests.builders import node_group, policy
from tests.cluster.objects import container, files_of, node, pod
from tests.decisions.deciding import plan_of

WEIGHTS = {"m5.xlarge": "1", "m5.2xlarge": "2", "m5.4xlarge": "4"}


def _instances(*types: str, state: str = "InService", weighted: bool = True) -> list[Object]:
    return [
        {
            "InstanceId": f"i-{number}", "InstanceType": name, "AvailabilityZone": "eu-central-1a", "LifecycleState": state,
            **({"WeightedCapacity": WEIGHTS[name]} if weighted else {}),
        }
        for number, name in enumerate(types)
    ]  # fmt: skip


def _group(desired: int, *types: str, **rest: Any) -> Object:
    overrides = [{"InstanceType": name, "WeightedCapacity": weight} for name, weight in WEIGHTS.items()]
    mixed = {"LaunchTemplate": {"Overrides": overrides}, "InstancesDistribution": {"OnDemandPercentageAboveBaseCapacity": 0}}
    return group(**{"DesiredCapacity": desired, "Instances": _instances(*types), "MixedInstancesPolicy": mixed, **rest})


def _by_amount(kind: str, desired: int, *types: str, known: bool = True) -> TargetFacts:
    """Without weights: each instance counts for its vCPUs or MiB."""
    overrides = [{"InstanceType": name} for name in ("m5.xlarge", "m5.2xlarge")] if known else [{"InstanceType": "x9.huge"}]
    return facts(
        group(
            DesiredCapacityType=kind, DesiredCapacity=desired, Instances=_instances(*types, weighted=False) if known else [],
            MixedInstancesPolicy={"LaunchTemplate": {"Overrides": overrides}},
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("desired", "types", "nodes"),
    [
        (4, ("m5.2xlarge", "m5.xlarge", "m5.xlarge"), 3),
        (0, (), 0),
        (1, (), 1),
        (4, (), 1),
        (5, (), 2),
        (8, ("m5.2xlarge", "m5.xlarge"), 4),
        (7, ("m5.2xlarge", "m5.xlarge"), 3),
        # The last instance may pass the units that were asked for, and stays.
        (3, ("m5.4xlarge",), 1),
        (5, ("m5.4xlarge", "m5.4xlarge"), 2),
        (4, ("m5.4xlarge", "m5.4xlarge"), 1),
    ],
)
def test_units_are_the_nodes_that_are_there_and_the_fewest_that_must_come_or_go(
    desired: int, types: tuple[str, ...], nodes: int
) -> None:
    """An instance that comes may count for 4 units, so that 4 more units are one node for certain, and 5 are two."""
    assert facts(_group(desired, *types)).replicas == nodes


def test_no_pod_waits_for_units_that_are_there() -> None:
    """4 units are the 3 instances that are there. So the pod gets a node of the other group, and not one that never comes."""
    mix = {**_group(4, "m5.2xlarge", "m5.xlarge", "m5.xlarge"), "AutoScalingGroupName": "mix"}
    nodes = [
        node(f"n-{number}", spec={"providerID": f"aws:///eu-central-1a/i-{number}"}, meta={"uid": f"u{number}"})
        for number in range(3)
    ]
    full = [
        pod(f"full-{number}", nodeName=f"n-{number}", containers=[container("4")], status={"phase": "Running"})
        for number in range(3)
    ]
    sized = {"resources/cpu": "4", "resources/memory": "16Gi"}
    spare = group("od", tags={TEMPLATE + key: text for key, text in sized.items()})
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    waiting = pod("wait", containers=[container("4")], status={"phase": "Pending", "conditions": [unschedulable]})
    found = read_snapshot(
        {
            **{f"{key}.json": json.dumps({key: []}).encode() for key in SIZERS},
            "asg.json": json.dumps({"AutoScalingGroups": [mix, spare]}).encode(),
            **files_of(*nodes, *full, waiting),
        }
    )
    groups = (node_group(name, target=TargetSpec(provider="aws", region="eu-central-1", name=name)) for name in ("mix", "od"))
    plan = plan_of(found, policy(*groups))
    assert {line.name: (line.current, line.desired) for line in plan.groups} == {"mix": (3, 3), "od": (0, 1)}


def test_an_instance_that_ends_counts_no_more() -> None:
    """Of 4 units 2 are left, and at least one node must come."""
    item = _group(4, "m5.2xlarge")
    item["Instances"] += [{**one, "InstanceId": "i-9"} for one in _instances("m5.2xlarge", state="Terminating")]
    assert facts(item).replicas == 2


def test_bounds_and_the_on_demand_base_are_units_as_well() -> None:
    """5 units are at least 2 nodes of weight 4, and 9 at most 9 of weight 1; a base of 5 units is 2 nodes at least."""
    item = _group(5, MinSize=5, MaxSize=9)
    item["MixedInstancesPolicy"]["InstancesDistribution"]["OnDemandBaseCapacity"] = 5
    found = facts(item)
    assert (found.min_size, found.max_size, found.on_demand_base) == (2, 9, 2)


def test_nothing_is_missing_where_the_units_are_there() -> None:
    """The last launch failed in the only zone, before the instance of weight 4 came."""
    failed = {
        "ActivityId": "a", "AutoScalingGroupName": "workers", "StatusCode": "Failed", "StartTime": "2026-11-25T11:00:00Z",
        "Description": "Launching a new EC2 instance.  Status Reason: We currently do not have sufficient capacity",
        "StatusMessage": "We currently do not have sufficient m5.4xlarge capacity",
        "Details": '{"Availability Zone":"eu-central-1a"}',
    }  # fmt: skip
    assert facts(_group(4, "m5.4xlarge"), Activities=[failed]).launch_failure is None
    assert facts(_group(8, "m5.4xlarge"), Activities=[failed]).launch_failure is not None


@pytest.mark.parametrize(("kind", "desired"), [("vcpu", 16), ("memory-mib", 65536)])
def test_vcpus_and_memory_are_those_of_the_types(kind: str, desired: int) -> None:
    """m5.xlarge has 4 vCPUs and 16 GiB, m5.2xlarge twice as much: 16 vCPUs are one of each, and one more node."""
    assert _by_amount(kind, desired, "m5.2xlarge", "m5.xlarge").replicas == 3
    assert _by_amount(kind, desired).replicas == 2


def test_what_nobody_can_count_is_not_under_way() -> None:
    """64 vCPUs of an unknown type: no node is expected, and AWS's bounds say nothing about nodes."""
    found = _by_amount("vcpu", 64, known=False)
    assert (found.replicas, found.min_size, found.max_size) == (0, 0, None)


def test_a_group_is_asked_about_often_only_while_units_are_missing() -> None:
    """4 units of one instance are all of 4, and one too few of 5."""
    assert not misses(_group(4, "m5.4xlarge"))
    assert misses(_group(5, "m5.4xlarge"))


def test_a_group_in_units_is_not_written() -> None:
    """The evidence has the number that AWS shows."""
    (writer,) = facts(_group(4, "m5.4xlarge")).writers
    assert writer.evidence == (
        "weighted capacity (1, 2, 4): desired capacity 4 does not count nodes, so the loop does not write it. "
        "It does if all weights are 1 and DesiredCapacityType is units"
    )


def test_instances_that_count_for_one_each_are_counted_as_ever() -> None:
    """Weights of 1 change nothing, nor does an instance in excess."""
    mixed = {"LaunchTemplate": {"Overrides": [{"InstanceType": "m5.xlarge", "WeightedCapacity": "1"}]}}
    found = facts(group(DesiredCapacity=1, Instances=_instances("m5.xlarge", "m5.xlarge"), MixedInstancesPolicy=mixed))
    assert (found.replicas, found.writers) == (1, ())
