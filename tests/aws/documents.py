"""Worlds from what the commands of AWS print."""

import json
from collections.abc import Iterable
from typing import Any

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World

Object = dict[str, Any]
REGION = "eu-central-1"
TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"


def arn(name: str, region: str = REGION) -> str:
    return f"arn:aws:autoscaling:{region}:123456789012:autoScalingGroup:u:autoScalingGroupName/{name}"


def group(name: str = "workers", *, tags: dict[str, str] | None = None, region: str = REGION, **rest: Any) -> Object:
    return {
        "AutoScalingGroupName": name,
        "AutoScalingGroupARN": arn(name, region),
        "MinSize": 0,
        "MaxSize": 9,
        "DesiredCapacity": 0,
        "AvailabilityZones": [f"{region}a"],
        "Instances": [],
        "Tags": [{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in (tags or {}).items()],
        **rest,
    }


def template_version(data: Object, *, version: int = 1, default: bool = True, template: str = "lt-1") -> Object:
    return {
        "LaunchTemplateId": template,
        "LaunchTemplateName": f"name-of-{template}",
        "VersionNumber": version,
        "DefaultVersion": default,
        "LaunchTemplateData": data,
    }


SIZERS = ("ScalingPolicies", "ScheduledUpdateGroupActions", "InstanceRefreshes")
"""Keys of what may size a group: captured, and empty, where a test says nothing of it."""


def world(*groups: Object, **documents: Any) -> World:
    """`documents` by the key that AWS prints around them."""
    files = {"asg.json": json.dumps({"AutoScalingGroups": list(groups)}).encode()}
    for key, content in (dict.fromkeys(SIZERS, ()) | documents).items():
        files[f"{key}.json"] = json.dumps({key: content}).encode()
    return read_snapshot(files)


def without(item: Object, missing: Iterable[str]) -> TargetFacts:
    """The facts of a group beside which some lists were not captured."""
    files = {"asg.json": {"AutoScalingGroups": [item]}, **{key: {key: []} for key in SIZERS if key not in missing}}
    return read_snapshot({name: json.dumps(content).encode() for name, content in files.items()}).targets[0]


def read(intake: Intake) -> World:
    """The World of what a live view took in."""
    return assemble(intake, Manifest(captured_seconds=1_800_000_000))


def facts(*groups: Object, **documents: Any) -> TargetFacts:
    return world(*groups, **documents).targets[0]
