"""The Describe calls of the service."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.aws.service.behaviour import stamp
from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import ACCOUNT, Account, Group
from tests.aws.service.warm import described

Parameters = dict[str, Any]


def _page(items: list[Any], parameters: Parameters, default: int, most: int) -> tuple[list[Any], str | None]:
    size = parameters.get("MaxRecords", default)
    if not 1 <= size <= most:
        shown = (
            f"1 validation error detected: Value '{size}' at 'maxRecords' failed to satisfy constraint: Member must have value"
        )
        raise ServiceError("ValidationError", f"{shown} less than or equal to {most}")
    try:
        start = int(parameters.get("NextToken", "0"))
    except ValueError:
        raise ServiceError("InvalidNextToken", "The token '' is invalid.") from None
    return items[start : start + size], str(start + size) if start + size < len(items) else None


def describe_groups(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Named, filtered by tag, or all."""
    names = parameters.get("AutoScalingGroupNames")
    groups = sorted((one for one in account.groups.values() if one.region == region), key=lambda one: one.name)
    if names:
        groups = [one for one in groups if one.name in names]
    for item in parameters.get("Filters", ()):
        groups = [one for one in groups if _passes(one, item["Name"], item["Values"])]
    shown, token = _page(groups, parameters, 50, 100)
    with_instances = parameters.get("IncludeInstances", True)
    answer: Parameters = {"AutoScalingGroups": [description(one, instances=with_instances) for one in shown]}
    return answer | ({"NextToken": token} if token else {})


def _passes(group: Group, name: str, values: list[str]) -> bool:
    if name == "tag-key":
        return any(key in values for key in group.tags)
    if name == "tag-value":
        return any(value in values for value in group.tags.values())
    return group.tags.get(name.removeprefix("tag:")) in values


def description(group: Group, *, instances: bool = True) -> Parameters:
    """One group as AWS describes it."""
    specification = {"LaunchTemplateId": group.launch_template, "LaunchTemplateName": group.name, "Version": group.follows}
    return {
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "MinSize": group.min_size,
        "MaxSize": group.max_size,
        "DesiredCapacity": group.desired,
        "DefaultCooldown": 300,
        "AvailabilityZones": list(group.zones),
        "AvailabilityZoneIds": [zone_id(zone) for zone in group.zones],
        "HealthCheckType": "EC2",
        "LaunchTemplate": specification,
        "Instances": [
            {
                "InstanceId": one.instance_id,
                "InstanceType": one.instance_type,
                "AvailabilityZone": one.zone,
                "AvailabilityZoneId": zone_id(one.zone),
                "LifecycleState": one.state,
                "HealthStatus": one.health,
                "ProtectedFromScaleIn": one.protected,
                "LaunchTemplate": specification | {"Version": str(one.version)},
            }
            for one in group.instances.values()
        ]
        if instances
        else [],
        "Tags": [
            {
                "Key": key,
                "Value": value,
                "PropagateAtLaunch": True,
                "ResourceId": group.name,
                "ResourceType": "auto-scaling-group",
            }
            for key, value in sorted(group.tags.items())
        ],
        "SuspendedProcesses": [{"ProcessName": name, "SuspensionReason": "User suspended"} for name in sorted(group.suspended)],
        "NewInstancesProtectedFromScaleIn": group.protects_new,
        **({"Operator": {"Principal": group.operator}} if group.operator else {}),
        **described(group),
        **copy.deepcopy(group.extra),
    }


def describe_instances(account: Account, region: str, parameters: Parameters) -> Parameters:
    """The named instances that are in a group; others are left out. SOURCE: the API takes 50 ids at most."""
    wanted = parameters.get("InstanceIds")
    if wanted and len(wanted) > 50:
        raise ServiceError("ValidationError", "The number of instance ids that may be passed in is limited to 50")
    found = [
        {"InstanceId": one.instance_id, "AutoScalingGroupName": group.name, "AvailabilityZone": one.zone,
         "LifecycleState": one.state, "HealthStatus": one.health.upper(), "ProtectedFromScaleIn": one.protected}
        for group in account.groups.values()
        if group.region == region
        for one in group.instances.values()
        if wanted is None or one.instance_id in wanted
    ]  # fmt: skip
    return {"AutoScalingInstances": found}


def zone_id(zone: str) -> str:
    """The id of a zone in this account: `euc1-az3` for `eu-central-1a`. Names and ids have no common order."""
    area, place, number = zone[:-1].split("-")
    return f"{area}{place[0]}{number}-az{(ord(zone[-1]) - ord('a') + 2) % 3 + 1}"


def describe_reservations(account: Account, region: str, parameters: Parameters) -> Parameters:
    """All of the region, page by page."""
    found = [
        {
            "CapacityReservationId": one.name,
            "CapacityReservationArn": f"arn:aws:ec2:{region}:{ACCOUNT}:capacity-reservation/{one.name}",
            "InstanceType": one.instance_type,
            "InstancePlatform": "Linux/UNIX",
            "AvailabilityZone": one.zone,
            "AvailabilityZoneId": zone_id(one.zone),
            "Tenancy": "default",
            "TotalInstanceCount": one.total,
            "AvailableInstanceCount": account.free(one),
            "State": one.state,
            "InstanceMatchCriteria": one.criteria,
            "ReservationType": one.kind,
            "EndDateType": "unlimited" if one.ends_at is None else "limited",
            **({} if one.ends_at is None else {"EndDate": datetime.fromtimestamp(one.ends_at, UTC)}),
            **one.extra,
        }
        for one in sorted(account.reservations.values(), key=lambda one: one.name)
        if one.region == region
    ]
    size, start = parameters.get("MaxResults", 1000), int(parameters.get("NextToken", "0"))
    if not 1 <= size <= 1000:
        raise ServiceError("InvalidParameterValue", f"Value ( {size} ) for parameter maxResults is invalid.")
    answer: Parameters = {"CapacityReservations": found[start : start + size]}
    return answer | ({"NextToken": str(start + size)} if start + size < len(found) else {})


def managed_resources(account: Account, region: str, parameters: Mapping[str, str]) -> Parameters:
    """Every registered group, shifted or not, as JSON. SOURCE: ListManagedResources of the ARC zonal shift API."""
    found = [
        {
            "arn": one.arn,
            "name": one.name,
            "availabilityZones": [zone_id(zone) for zone in one.zones],
            "appliedWeights": {zone_id(zone): 0.0 if zone in one.shifted_from else 1.0 for zone in one.zones},
            "zonalShifts": [
                {
                    "appliedStatus": "APPLIED", "zonalShiftId": "z", "resourceIdentifier": one.arn, "awayFrom": zone_id(zone),
                    "expiryTime": account.now + 3600, "startTime": account.now, "comment": "a fault", "shiftType": "ZONAL_SHIFT",
                }
                for zone in sorted(one.shifted_from)
            ],
            "autoshifts": [],
        }
        for one in sorted(account.groups.values(), key=lambda one: one.name)
        if one.region == region and one.extra.get("AvailabilityZoneImpairmentPolicy", {}).get("ZonalShiftEnabled")
    ]  # fmt: skip
    size, start = int(parameters.get("maxResults", "100")), int(parameters.get("nextToken", "0"))
    answer: Parameters = {"items": found[start : start + size]}
    return answer | ({"nextToken": str(start + size)} if start + size < len(found) else {})


def describe_activities(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Newest first."""
    name = parameters.get("AutoScalingGroupName")
    found = [
        one
        for one in account.activities
        if name in (None, one["AutoScalingGroupName"]) and f":{region}:" in one["AutoScalingGroupARN"]
    ]
    for item in parameters.get("Filters", ()):
        if item["Name"] == "StartTimeLowerBound":
            bound = item["Values"][0]
            found = [one for one in found if one["StartTime"].strftime("%Y-%m-%dT%H:%M:%SZ") >= bound]
    shown, token = _page(found, parameters, 100, 100)
    return {"Activities": shown} | ({"NextToken": token} if token else {})


def describe_policies(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Of one group, or of all."""
    return _of_groups(account, region, parameters, "ScalingPolicies", "policies", "PolicyARN")


def describe_schedules(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Of one group, or of all."""
    return _of_groups(account, region, parameters, "ScheduledUpdateGroupActions", "schedules", "ScheduledActionARN")


def _of_groups(account: Account, region: str, parameters: Parameters, key: str, attribute: str, arn: str) -> Parameters:
    name = parameters.get("AutoScalingGroupName")
    found = [
        {"AutoScalingGroupName": group.name, arn: group.arn, **item}
        for group in account.groups.values()
        if group.region == region and name in (None, group.name)
        for item in getattr(group, attribute)
    ]
    shown, token = _page(found, parameters, 50, 100)
    return {key: shown} | ({"NextToken": token} if token else {})


def describe_refreshes(account: Account, region: str, parameters: Parameters) -> Parameters:
    """Of one group: the name is required."""
    group = account.groups.get((region, parameters["AutoScalingGroupName"]))
    if group is None:
        raise ServiceError("ValidationError", "AutoScalingGroup name not found - null")
    return {"InstanceRefreshes": [{"AutoScalingGroupName": group.name, **one} for one in group.refreshes]}


def describe_templates(account: Account, region: str, parameters: Parameters) -> Parameters:
    """One template's versions, or the default and latest one of all templates."""
    wanted = parameters.get("LaunchTemplateId")
    groups = [one for one in account.groups.values() if one.region == region and wanted in (None, one.launch_template)]
    if wanted and not groups:
        raise ServiceError(
            "InvalidLaunchTemplateId.NotFound", f"The specified launch template, with template ID {wanted}, does not exist."
        )
    versions = [
        {
            "LaunchTemplateId": one.launch_template,
            "LaunchTemplateName": one.name,
            "VersionNumber": one.version,
            "DefaultVersion": True,
            "CreateTime": stamp(account),
            "LaunchTemplateData": {"InstanceType": one.instance_type, **one.template},
        }
        for one in sorted(groups, key=lambda one: one.name)
    ]
    size = parameters.get("MaxResults", 200)
    start = int(parameters.get("NextToken", "0"))
    answer: Parameters = {"LaunchTemplateVersions": versions[start : start + size]}
    return answer | ({"NextToken": str(start + size)} if start + size < len(versions) else {})


def describe_configurations(account: Account, region: str, parameters: Parameters) -> Parameters:
    """The older kind of template, by the group that names it."""
    wanted = parameters.get("LaunchConfigurationNames", ())
    return {
        "LaunchConfigurations": [
            {
                "LaunchConfigurationName": name, "ImageId": "ami-1", "InstanceType": one.instance_type,
                "CreatedTime": stamp(account),
            }
            for one in account.groups.values()
            if one.region == region and (name := one.extra.get("LaunchConfigurationName")) in wanted
        ]
    }  # fmt: skip


def describe_types(account: Account, region: str, parameters: Parameters) -> Parameters:
    """At most 100 by name; one that is not there refuses the call."""
    names = parameters["InstanceTypes"]
    if len(names) > 100:
        raise ServiceError("InvalidParameterValue", "The maximum number of instance types is 100")
    unknown = [name for name in names if name not in account.types]
    if unknown:
        raise ServiceError("InvalidInstanceType", f"The following supplied instance types do not exist: [{', '.join(unknown)}]")
    return {"InstanceTypes": [{"InstanceType": name, **account.types[name]} for name in sorted(names)]}
