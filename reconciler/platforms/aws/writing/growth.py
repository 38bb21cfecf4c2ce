"""Raising a desired capacity, and launching instances synchronously if a group allows it."""

import hashlib
from collections import Counter

from reconciler.platforms.aws.facts.activities import FailureKind, failure_kind
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.platforms.aws.writing.fresh import Reading
from reconciler.platforms.aws.writing.write_answer import failed
from reconciler.providers.contract import WriteCode, WriteResult

LAUNCH_TAG, SYNCHRONOUS = "reconciler.dev/launch", "Synchronous"
_MOST_AT_ONCE = 100


def set_desired(aws: Aws, reading: Reading, desired: int) -> WriteResult:
    """One absolute write of a value that was just judged. Raises `AwsError`."""
    name = reading.facts.ref.name
    aws.call(AUTO_SCALING, "SetDesiredCapacity", AutoScalingGroupName=name, DesiredCapacity=desired, HonorCooldown=False)
    return WriteResult()


def launches_at_once(reading: Reading) -> bool:
    """Whether the group asks for `LaunchInstances` by its tag, and AWS would accept it.

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
    """Launch instances in the emptiest zone, then in the others, as many as come at once. Nothing stays requested afterwards.

    The token is derived from what was judged, so a repeated call after a lost answer launches nothing twice. Fewer instances than
    requested are a success; none is a failure, with AWS's reason. Raises `AwsError`.
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
                # What has come stays. The next decision asks for the rest.
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
