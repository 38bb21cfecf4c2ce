"""The calls of the service that change something, and what it refuses in AWS's words."""

from typing import Any

from tests.aws.service.behaviour import leaving, record, settle, stamp, stock_refusal, terminate
from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import Account, Group, Instance

Parameters = dict[str, Any]


def _group(account: Account, region: str, parameters: Parameters) -> Group:
    name = parameters["AutoScalingGroupName"]
    group = account.groups.get((region, name))
    if group is None:
        raise ServiceError("ValidationError", "AutoScalingGroup name not found - null")
    _writable(group)
    return group


def _writable(group: Group) -> None:
    if group.operator:
        raise ServiceError(
            "ValidationError", f"The Auto Scaling group is managed by {group.operator} and cannot be changed by others"
        )
    if group.blocked_by_activity:
        message = f"Scaling activity {group.blocked_by_activity} is in progress and blocks this action"
        raise ServiceError("ScalingActivityInProgress", message)


def set_desired(account: Account, region: str, parameters: Parameters) -> Parameters:
    """An absolute value, whatever it was before."""
    group, wanted = _group(account, region, parameters), parameters["DesiredCapacity"]
    if wanted > group.max_size:
        raise ServiceError(
            "ValidationError",
            f"New SetDesiredCapacity value {wanted} is above max value {group.max_size} for the AutoScalingGroup.",
        )
    if wanted < group.min_size:
        raise ServiceError(
            "ValidationError",
            f"New SetDesiredCapacity value {wanted} is below min value {group.min_size} for the AutoScalingGroup.",
        )
    if wanted < group.desired:
        group.acts_at = account.now + account.timing.acts
    if wanted != group.desired:
        change = f"changing the desired capacity from {group.desired} to {wanted}"
        group.changed_by = (
            f"At {stamp(account):%Y-%m-%dT%H:%M:%SZ} a user request explicitly set group desired capacity {change}.  "
        )
    group.desired = wanted
    group.retry_at = 0
    settle(account)
    return {}


def _instance(account: Account, region: str, instance_id: str) -> tuple[Group, Instance]:
    for group in account.groups.values():
        if group.region == region and instance_id in group.instances:
            return group, group.instances[instance_id]
    raise ServiceError("ValidationError", f"Instance Id not found - No managed instance found for instance ID: {instance_id}")


def terminate_instance(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Exactly this one; with the decrement in the same step."""
    group, instance = _instance(account, region, parameters["InstanceId"])
    _writable(group)
    if instance.state.startswith("Warmed"):
        raise ServiceError("ValidationError", f"Instance {instance.instance_id} is in the warm pool and cannot be terminated so")
    decrement = parameters["ShouldDecrementDesiredCapacity"]
    if decrement and instance.counts and group.desired - 1 < group.min_size:
        raise ServiceError(
            "ValidationError",
            f"Currently, desiredSize equals minSize ({group.min_size}). Terminating instance without replacement will violate "
            f"group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.",
        )
    counted = instance.counts
    was_leaving = leaving(instance)
    activity = (
        record(account, group, f"Terminating EC2 instance: {instance.instance_id}", "a user request", "InProgress", instance.zone)
        if was_leaving
        else terminate(account, group, instance, "an instance was taken out of service in response to a user request")
    )
    if decrement and counted:
        group.desired -= 1
    settle(account)
    return {"Activity": activity}


def set_protection(account: Account, region: str, parameters: Parameters) -> Parameters:
    """At most 50 at once."""
    group, ids = _group(account, region, parameters), parameters["InstanceIds"]
    if len(ids) > 50:
        raise ServiceError("LimitExceeded", "The number of instances exceeds the limit of 50 per request")
    for name in ids:
        if name not in group.instances or group.instances[name].state != "InService":
            raise ServiceError("ValidationError", f"The instance {name} is not in InService or EnteringStandby or Standby.")
    for name in ids:
        group.instances[name].protected = parameters["ProtectedFromScaleIn"]
    settle(account)
    return {}


def write_tags(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Without any precondition: the last one wins."""
    for tag in parameters["Tags"]:
        group = account.groups.get((region, tag["ResourceId"]))
        if group is None:
            raise ServiceError("ValidationError", f"No such group - {tag['ResourceId']}")
        _writable(group)
        if tag["Key"] not in group.tags and len(group.tags) >= 50:
            raise ServiceError("LimitExceeded", "A resource may have at most 50 tags")
        group.tags[tag["Key"]] = tag.get("Value", "")
    return {}


def delete_tags(account: Account, region: str, parameters: Parameters) -> Parameters:
    """One that is not there is no fault."""
    for tag in parameters["Tags"]:
        group = account.groups.get((region, tag["ResourceId"]))
        if group is None:
            raise ServiceError("ValidationError", f"No such group - {tag['ResourceId']}")
        _writable(group)
        group.tags.pop(tag["Key"], None)
    return {}


def launch_instances(account: Account, region: str, parameters: Parameters) -> Parameters:
    """At once, or refused at once; desired capacity grows by what came, so that nothing is owed."""
    token = parameters["ClientToken"]
    if token in account.tokens:
        before, answer = account.tokens[token]
        if before != parameters:
            raise ServiceError("IdempotentParameterMismatch", "The same token came with other parameters")
        return answer
    group, wanted = _group(account, region, parameters), parameters["RequestedCapacity"]
    if "Launch" in group.suspended:
        raise ServiceError("ValidationError", "The Launch process of the Auto Scaling group is suspended")
    if "LaunchConfigurationName" in group.extra:
        raise ServiceError("ValidationError", "LaunchInstances works with launch templates only")
    zones = parameters.get("AvailabilityZones") or (group.zones if len(group.zones) == 1 else [])
    if not zones:
        raise ServiceError("ValidationError", "AvailabilityZones must be given for a group of several Availability Zones")
    if group.desired + wanted > group.max_size:
        raise ServiceError("ValidationError", f"The request would exceed the max size {group.max_size} of the AutoScalingGroup.")
    came: list[str] = []
    errors: list[Parameters] = []
    place = {"InstanceType": group.instance_type, "MarketType": "on-demand", "AvailabilityZone": zones[0]}
    for _ in range(min(wanted, 100)):
        code, text = stock_refusal(account, group, zones[0])
        if code:
            errors = [{**place, "ErrorCode": code, "ErrorMessage": text}]
            break
        came.append(account.launched(group, zones[0]).instance_id)
    group.desired += len(came)
    answer = {
        "AutoScalingGroupName": group.name,
        "ClientToken": token,
        "Instances": [{**place, "InstanceIds": came}] if came else [],
        "Errors": errors,
    }
    account.tokens[token] = (parameters, answer)
    settle(account)
    return answer
