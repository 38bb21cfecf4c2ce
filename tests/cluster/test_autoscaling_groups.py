"""Auto Scaling groups as targets."""

import json
from typing import Any

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import Machine, TargetFacts, TargetOption, TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from tests.cluster.objects import Object, node

ARN = "arn:aws:autoscaling:eu-central-1:123456789012:autoScalingGroup:u-u-i-d:autoScalingGroupName/workers"
TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"
REF = TargetRef(kind=AUTO_SCALING_GROUP, region="eu-central-1", name="workers")


def world(*nodes: Object, tags: dict[str, str] | None = None, **rest: Any) -> World:
    group = {
        "AutoScalingGroupName": "workers",
        "AutoScalingGroupARN": ARN,
        "MinSize": 1,
        "MaxSize": 9,
        "DesiredCapacity": 3,
        "AvailabilityZones": ["eu-central-1a"],
        "Instances": [],
        "Tags": [{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in (tags or {}).items()],
        **rest,
    }
    files = {"asg.json": json.dumps({"AutoScalingGroups": [group]}).encode()}
    for item in nodes:
        files[f"{item['metadata']['name']}.json"] = json.dumps(item).encode()
    return read_snapshot(files)


def facts(tags: dict[str, str] | None = None, **rest: Any) -> TargetFacts:
    return world(tags=tags, **rest).targets[0]


def test_size_and_identity() -> None:
    """Region from the ARN, bounds and desired capacity from the group, tags as labels."""
    found = facts({"team": "a"})
    assert found.ref == REF
    assert (found.min_size, found.max_size, found.replicas, found.labels) == (1, 9, 3, (("team", "a"),))
    assert found.owner.managed_fields_present


def test_template_from_tags() -> None:
    """Labels, taints and resources by tag, the only zone and the only instance type of the group."""
    tags = {
        f"{TEMPLATE}label/pool": "general",
        f"{TEMPLATE}label/kubernetes.io/arch": "arm64",
        f"{TEMPLATE}taint/dedicated": "x:NoSchedule",
        f"{TEMPLATE}resources/cpu": "4",
        f"{TEMPLATE}resources/memory": "16Gi",
        f"{TEMPLATE}resources/example.com/device": "2",
    }
    instances = [{"InstanceId": f"i-{number}", "InstanceType": "m7g.xlarge", "LifecycleState": "InService"} for number in (1, 2)]
    found = facts(tags, Instances=instances).template
    assert found.capacity == Resources(cpu_milli=4000, memory_bytes=16 << 30, pods=110, extended=(("example.com/device", 2),))
    assert found.taints == (Taint("dedicated", "x", "NoSchedule"),)
    assert found.labels == (
        ("kubernetes.io/arch", "arm64"),
        ("node.kubernetes.io/instance-type", "m7g.xlarge"),
        ("pool", "general"),
        ("topology.kubernetes.io/region", "eu-central-1"),
        ("topology.kubernetes.io/zone", "eu-central-1a"),
    )
    assert (found.architecture, found.zone) == ("arm64", "eu-central-1a")


def test_several_zones() -> None:
    """Nobody knows in which of several zones the next instance comes up."""
    assert facts(AvailabilityZones=["a", "b"]).template.zone == ""


def test_no_capacity_tags() -> None:
    """Without resource tags the capacity is simply not known here."""
    found = facts()
    assert (found.template.capacity, found.template.origins, found.problems) == (None, (), ())


def test_option_tags() -> None:
    """The per-group options by tag."""
    key = f"{TEMPLATE}autoscaling-options/scaledownunneededtime"
    assert facts({key: "5m"}).options == (TargetOption(key="scaleDown.unneededTime", value=300, origin=key),)


def test_option_tag_that_is_a_switch() -> None:
    """Whether DaemonSet pods count is one of the five options that the Cluster Autoscaler reads from tags of AWS."""
    key = f"{TEMPLATE}autoscaling-options/ignoredaemonsetsutilization"
    assert facts({key: "true"}).options == (TargetOption(key="scaleDown.daemonSetUtilization", value=1, origin=key),)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (f"{TEMPLATE}resources/cpu", "four"),
        (f"{TEMPLATE}taint/x", "y"),
        ("k8s.io/cluster-autoscaler/node-templates/label/x", "y"),
    ],
)
def test_bad_tag(key: str, value: str) -> None:
    """A tag that cannot be read, or is misspelt, is told."""
    assert len(facts({key: value}).problems) == 1


def test_tags_below_a_prefix_that_is_misspelt() -> None:
    """One sentence for all of them; other tags, and those below a prefix that is right, are none."""
    wrong = ("k8s.io/cluster-autoscaler/node-templates/label/", "k8s-io/cluster-autoscaler/node-template/label/")
    tags = {f"{prefix}example.org/{name}": "x" for prefix in (*wrong, f"{TEMPLATE}label/") for name in ("pool", "kind")}
    found = facts({**tags, "k8s.io/cluster-autoscaler/prod": "owned", "a/b/c/d/e": "", "Name": "x"}).problems
    assert list(found) == [f"{prefix} is not read: did you mean {TEMPLATE}label/?" for prefix in sorted(wrong)]


@pytest.mark.parametrize(
    ("rest", "paused", "deleting"),
    [
        ({"SuspendedProcesses": [{"ProcessName": "Launch", "SuspensionReason": "x"}]}, "suspended processes: Launch", False),
        ({"SuspendedProcesses": [{"ProcessName": "AZRebalance"}]}, "", False),
        ({"Status": "Delete in progress"}, "", True),
    ],
)
def test_state(rest: Object, paused: str, *, deleting: bool) -> None:
    """A group that cannot launch or terminate is paused; one with a status is on its way out."""
    found = facts(**rest).owner
    assert (found.paused, found.deleting) == (paused, deleting)


def test_hold_by_tag() -> None:
    """A hold stands in a tag."""
    assert facts({"reconciler.dev/hold": "migration"}).owner.hold == "migration"


def test_instances() -> None:
    """An instance is a row; its node is the one whose provider id ends in the instance's id."""
    instances = [
        {"InstanceId": "i-1", "AvailabilityZone": "eu-central-1a", "LifecycleState": "InService"},
        {"InstanceId": "i-2", "AvailabilityZone": "eu-central-1a", "LifecycleState": "Terminating:Wait"},
    ]
    found = world(node("n1", spec={"providerID": "aws:///eu-central-1a/i-1"}), Instances=instances).machines
    assert found == (
        Machine(
            namespace="eu-central-1",
            name="i-1",
            target=REF,
            node="n1",
            provider_id="aws:///eu-central-1a/i-1",
            phase="InService",
            zone="eu-central-1a",
            outdated=False,
        ),
        Machine(
            namespace="eu-central-1",
            name="i-2",
            target=REF,
            provider_id="aws:///eu-central-1a/i-2",
            deleting=True,
            phase="Terminating:Wait",
            zone="eu-central-1a",
            outdated=False,
        ),
    )
