"""Raising a desired capacity, and instances that are launched at once where a group allows it."""

import hashlib
from collections import Counter
from typing import Any

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.platforms.aws.facts import group
from reconciler.platforms.aws.facts import wire as beside
from reconciler.platforms.aws.facts.activities import FailureKind, failure_kind
from reconciler.platforms.aws.facts.view import AwsView
from reconciler.platforms.aws.facts.wire import AutoScalingGroup, Instance
from reconciler.platforms.aws.writing.beside_groups import BesideGroups
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EKS, Aws, AwsError, failed
from reconciler.providers.contract import WriteCode, WriteResult

# One group as it is at this moment: what every write is judged on.

NOT_COUNTED = ("Terminating", "Terminated", "Detaching", "Detached", "EnteringStandby", "Standby", "Warmed")
IN_SERVICE = "InService"
_CLUSTER_TAG, _NODE_GROUP_TAG = "eks:cluster-name", "eks:nodegroup-name"


class Reading(msgspec.Struct, frozen=True):
    """A group with its facts, and the service's clock when it was read."""

    item: AutoScalingGroup
    facts: TargetFacts
    date_seconds: int

    @property
    def counted(self) -> tuple[Instance, ...]:
        """The instances that its desired capacity speaks of, pending ones among them."""
        return tuple(one for one in self.item.instances or () if not one.lifecycle_state.startswith(NOT_COUNTED))

    def instance(self, name: str) -> Instance | None:
        """One of its instances, wherever it is on its way; None when the group has it no more."""
        return next((one for one in self.item.instances or () if one.instance_id == name), None)


def read(aws: Aws, target: TargetRef, around: BesideGroups | None = None) -> Reading | None:
    """The group and everything that could hold it, asked just now; None when it is not there. `around` knows of groups that are
    written at once. Raises `AwsError` (also where only a part could not be read: who else writes is part of what is judged) and
    `msgspec.ValidationError`."""
    answer = aws.call(AUTO_SCALING, "DescribeAutoScalingGroups", AutoScalingGroupNames=[target.name])
    found = answer.body.get("AutoScalingGroups")
    if not found:
        return None
    item = converted(found[0], AutoScalingGroup)
    name = {"AutoScalingGroupName": target.name}
    others = (around or BesideGroups()).of(aws, target.name)
    refreshes = aws.call(AUTO_SCALING, "DescribeInstanceRefreshes", **name, MaxRecords=1).body.get("InstanceRefreshes") or ()
    view = AwsView(
        policies={target.name: tuple(converted(one, beside.ScalingPolicy) for one in others.policies)},
        schedules={target.name: tuple(converted(one, beside.ScheduledAction) for one in others.schedules)},
        refreshes={target.name: tuple(converted(one, beside.InstanceRefresh) for one in refreshes)},
        managed=_managed(aws, item),
    )
    return Reading(item, group.facts(item, view), answer.date_seconds)


def seen_again(aws: Aws, before: Reading) -> Reading | None:
    """The group alone, once more: where its instances are by now, judged by the facts of the reading before; None when it is
    gone. Raises as `read`."""
    name = before.facts.ref.name
    answer = aws.call(AUTO_SCALING, "DescribeAutoScalingGroups", AutoScalingGroupNames=[name])
    found = answer.body.get("AutoScalingGroups")
    if not found:
        return None
    return Reading(converted(found[0], AutoScalingGroup), before.facts, answer.date_seconds)


def _managed(aws: Aws, item: AutoScalingGroup) -> dict[str, beside.ManagedNodeGroup]:
    asked = node_group(aws, {tag.key: tag.value for tag in item.tags or ()})
    return {item.auto_scaling_group_name: converted(asked, beside.ManagedNodeGroup)} if asked is not None else {}


def node_group(aws: Aws, tags: dict[str, str]) -> dict[str, Any] | None:
    """What EKS says of its own node group behind these tags; None where there is none. Raises `AwsError`."""
    cluster, name = tags.get(_CLUSTER_TAG), tags.get(_NODE_GROUP_TAG)
    if not cluster or not name:
        return None
    try:
        found: dict[str, Any] | None = aws.call(EKS, "DescribeNodegroup", clusterName=cluster, nodegroupName=name).body.get(
            "nodegroup"
        )
    except AwsError as error:
        if error.code == "ResourceNotFoundException":
            # Tags outlive the node group that set them.
            return None
        raise
    return found


def converted(body: dict[str, Any], kind: type[Any]) -> Any:  # noqa: ANN401 - one function for every kind of answer
    """An answer of the client as the same type that a file of it becomes. Raises `msgspec.ValidationError`."""
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)


LAUNCH_TAG, SYNCHRONOUS = "reconciler.dev/launch", "Synchronous"
_MOST_AT_ONCE = 100


def set_desired(aws: Aws, reading: Reading, desired: int) -> WriteResult:
    """One absolute write of a value that was judged just now. Raises `AwsError`."""
    name = reading.facts.ref.name
    aws.call(AUTO_SCALING, "SetDesiredCapacity", AutoScalingGroupName=name, DesiredCapacity=desired, HonorCooldown=False)
    return WriteResult()


def launches_at_once(reading: Reading) -> bool:
    """Whether the group asks for `LaunchInstances` by its tag, and AWS would take it.

    SOURCE: Amazon EC2 Auto Scaling, synchronous provisioning: launch templates only, and mixed policies only where all instances
    are on demand or all are spot.
    """
    item = reading.item
    if dict(reading.facts.labels).get(LAUNCH_TAG) != SYNCHRONOUS or item.launch_configuration_name:
        return False
    spread = item.mixed_instances_policy.instances_distribution if item.mixed_instances_policy else None
    if spread is None:
        return True
    share, base = spread.on_demand_percentage_above_base_capacity, spread.on_demand_base_capacity or 0
    return share in (None, 100) or (share == 0 and base == 0)


def launch(aws: Aws, reading: Reading, desired: int) -> WriteResult:
    """Instances in the emptiest zone, then in the others, as many as come at once: nothing is owed afterwards.

    The token is made of what was judged, so that the same call after a lost answer launches nothing twice. Less than asked for is
    no fault as long as some came; none says why in AWS's words. Raises `AwsError`.
    """
    target = reading.facts.ref
    wanted = min(desired - reading.item.desired_capacity, _MOST_AT_ONCE)
    counts = Counter(one.availability_zone for one in reading.counted)
    came = 0
    refused: tuple[str, str] = ("", "")
    for zone in sorted(reading.item.availability_zones or (), key=lambda name: (counts[name], name)):
        missing = wanted - came
        try:
            body = aws.call(
                AUTO_SCALING,
                "LaunchInstances",
                AutoScalingGroupName=target.name,
                RequestedCapacity=missing,
                AvailabilityZones=[zone],
                ClientToken=_token(reading, zone, missing),
                RetryStrategy="none",
            ).body
        except AwsError as error:
            if came:
                # What has come stands; the rest is the next decision's.
                break
            if error.code == "IdempotentCallInProgress":
                return WriteResult(code=WriteCode.UNKNOWN, message=f"{target}: {error.message}")
            return failed(error, str(target))
        came += sum(len(item.get("InstanceIds") or ()) for item in body.get("Instances") or ())
        errors = body.get("Errors")
        if came >= wanted or not errors:
            break
        refused = errors[0].get("ErrorCode") or "", errors[0].get("ErrorMessage") or ""
        if failure_kind(*refused) is not FailureKind.STOCK:
            break
    if came:
        left = reading.item.desired_capacity + came
        message = "" if came == wanted else f"{came} of {wanted} instances came: {refused[1] or refused[0]}"
        return WriteResult(message=message, replicas=None if left == desired else left)
    kind = failure_kind(*refused)
    return WriteResult(code=WriteCode.FAILED, message=f"{target}: {kind}: {refused[0]} - {refused[1]}")


def _token(reading: Reading, zone: str, count: int) -> str:
    known = ",".join(sorted(one.instance_id for one in reading.item.instances or ()))
    text = f"{reading.facts.uid}/{reading.item.desired_capacity}/{zone}/{count}/{known}"
    return hashlib.sha256(text.encode()).hexdigest()
