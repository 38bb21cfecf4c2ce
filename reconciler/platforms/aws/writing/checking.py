"""What `doctor` finds about Auto Scaling groups: the client, the credentials, every right to read, the groups."""

import json
from collections.abc import Iterator
from typing import Any

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region
from reconciler.platforms.aws.writing.calls import Aws, AwsError
from reconciler.platforms.aws.writing.read_rights import READS_ASKED, ReadAsked
from reconciler.platforms.aws.writing.wanted_groups import Wanted, wanted
from reconciler.policy.documents import PolicySet
from reconciler.providers.findings import Check, State

_CODE, _RIGHT = "AWS", "AWSRight"
_ENABLED, _CLUSTER = "k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/"
_REFUSED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
"""AWS knows the caller and denies the call. With any other answer, AWS has allowed it."""


def checks(accounts: Accounts, policy: PolicySet | None) -> Iterator[Check]:
    """One call of each kind that the loop reads with, then one round of its reads, for every account and region of the policy.
    Nothing is written.

    AWS has no dry run for Auto Scaling. Only the first write, or the generated IAM policy, shows whether writes are allowed.
    """
    for one in wanted(policy):
        yield from _region(accounts, one)


def _region(accounts: Accounts, one: Wanted) -> Iterator[Check]:
    aws = accounts.of(one.region, one.role)
    where = f"{one.region} as {one.role}" if one.role else one.region
    region, broken = Region(aws, one), None
    try:
        region.ask(0)
    except AwsError as error:
        broken = error
        if error.code not in _REFUSED:
            yield Check(code=_CODE, state=State.FAIL, message=f"{where}: {error}", advice=_advice(error))
    if broken is not None and broken.code not in _REFUSED and not broken.throttled:
        # Without an answer or a login, every right would fail for the same reason.
        return
    groups = region.items()["AutoScalingGroup"]
    yield from _rights(aws, where, one, groups)
    if broken is None:
        yield from _groups(region, one, where)


def _rights(aws: Aws, where: str, one: Wanted, groups: list[dict[str, Any]]) -> Iterator[Check]:
    """One check per right."""
    for read in READS_ASKED:
        parameters = read.parameters(groups, one.names)
        if parameters is None:
            continue
        try:
            aws.call(read.service, read.action, **parameters)
        except AwsError as error:
            if error.code in _REFUSED:
                yield _missing(where, read, error)
                continue
            if error.denied or error.unauthenticated or error.throttled or error.code == "Unreachable":
                yield Check(
                    code=_RIGHT, state=State.WARN, message=f"{where}: cannot tell whether {read.right} is allowed: {error}"
                )
                continue
        yield Check(code=_RIGHT, state=State.PASS, message=f"{where}: {read.right} is allowed")


def _missing(where: str, read: ReadAsked, error: AwsError) -> Check:
    statement = json.dumps({"Effect": "Allow", "Action": read.right, "Resource": read.resource})
    return Check(
        code=_RIGHT,
        state=State.FAIL if read.stops_writes else State.WARN,
        message=f"{where}: {read.right} is denied, so {read.without}: {error.message}",
        advice=f"add to the Statement of its IAM policy: {statement} (examples/eks has all of it)",
    )


def _groups(region: Region, one: Wanted, where: str) -> Iterator[Check]:
    groups = region.items()["AutoScalingGroup"]
    if groups or one.names:
        yield Check(code=_CODE, state=State.PASS, message=f"{where}: Auto Scaling groups read: {len(groups)}")
    else:
        yield Check(
            code=_CODE,
            state=State.WARN,
            message=f"{where}: no Auto Scaling group has the tags of spec.discovery, so nothing is sized there",
            advice="check the region, the account of the credentials, and the tags (`aws autoscaling describe-tags`)",
        )
    for name in sorted(set(one.names) - {item["AutoScalingGroupName"] for item in groups}):
        yield Check(
            code=_CODE,
            state=State.FAIL,
            message=f"{where}: cannot find Auto Scaling group {name}",
            advice="check spec.target.aws of its NodeGroup: name, region and account (roleARN)",
        )
    for item in groups:
        keys, name = {tag["Key"] for tag in item.get("Tags") or ()}, item["AutoScalingGroupName"]
        if (_ENABLED in keys) != any(key.startswith(_CLUSTER) and key.count("/") == 2 and key != _ENABLED for key in keys):
            yield Check(
                code=_CODE,
                state=State.WARN,
                message=f"{where}: {name} has only one of the two discovery tags of the Cluster Autoscaler",
                advice=f"set both {_ENABLED} and {_CLUSTER}<cluster name>",
            )


def _advice(error: AwsError) -> str:
    if error.code == "NoClient":
        return "install the extra `aws`"
    if error.code == "NoCredentials":
        return "give the process credentials: Pod Identity, IRSA, a profile or the environment"
    if error.throttled:
        return "other callers in the account use the same quota: see CloudTrail, and try again in a minute"
    if error.denied or error.unauthenticated:
        return "renew the credentials, or check whose they are: `aws sts get-caller-identity`"
    return "check the region, the network and the state of AWS"
