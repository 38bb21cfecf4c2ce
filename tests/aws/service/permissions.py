"""IAM as far as the policies of this product need it: actions, resources and conditions on tags."""

import fnmatch
from collections.abc import Mapping
from typing import Any

from tests.aws.service.protocol import ServiceError
from tests.aws.service.state import ACCOUNT, Account, Group

Statement = dict[str, Any]
_RESOURCE_TAG = ("aws:ResourceTag/", "autoscaling:ResourceTag/")


_DEPENDENT = {"autoscaling:LaunchInstances": ("ec2:CreateFleet", "ec2:DescribeLaunchTemplateVersions")}
"""What a caller must be allowed beside the action itself. SOURCE: Amazon EC2 Auto Scaling, synchronous provisioning."""


def check(account: Account, service: str, action: str, key_id: str, group: Group | None, request: Mapping[str, Any]) -> None:
    """Raise AccessDenied unless statements of the caller allow the call, and what it depends on. A key without policy may do
    everything."""
    statements = account.policies.get(key_id)
    if statements is None:
        return
    _check(statements, service, f"{service}:{action}", key_id, group, request)
    for name in _DEPENDENT.get(f"{service}:{action}", ()):
        _check(statements, service, name, key_id, None, request)


def _check(
    statements: list[Statement], service: str, name: str, key_id: str, group: Group | None, request: Mapping[str, Any]
) -> None:
    resource = group.arn if group is not None else "*"
    if not any(_allows(item, name, resource, group, request) for item in statements):
        user = f"arn:aws:sts::{ACCOUNT}:assumed-role/reconciler/{key_id}"
        told = f"User: {user} is not authorized to perform: {name} on resource: {resource}"
        code = "UnauthorizedOperation" if service == "ec2" else "AccessDenied"
        raise ServiceError(code, f"{told} because no identity-based policy allows the {name} action", 403)


def _allows(item: Statement, name: str, resource: str, group: Group | None, request: Mapping[str, Any]) -> bool:
    return (
        item["Effect"] == "Allow"
        and any(fnmatch.fnmatchcase(name, pattern) for pattern in _listed(item["Action"]))
        and any(pattern == "*" or fnmatch.fnmatchcase(resource, pattern) for pattern in _listed(item["Resource"]))
        and all(
            _holds(operator, key, _listed(values), group, request)
            for operator, keys in item.get("Condition", {}).items()
            for key, values in keys.items()
        )
    )


def _holds(operator: str, key: str, values: list[str], group: Group | None, request: Mapping[str, Any]) -> bool:
    prefix = next((one for one in _RESOURCE_TAG if key.startswith(one)), "")
    if operator == "StringEquals" and prefix:
        return group is not None and group.tags.get(key.removeprefix(prefix)) in values
    if operator == "ForAllValues:StringEquals" and key == "aws:TagKeys":
        return all(tag["Key"] in values for tag in request.get("Tags", ()))
    raise AssertionError(f"this service knows no condition {operator} on {key}")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
