"""What `doctor` finds about Auto Scaling groups: the client, the credentials, every right to read, the groups."""

import json
from collections.abc import Iterator
from typing import Any

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region
from reconciler.platforms.aws.writing.calls import Aws, AwsError
from reconciler.platforms.aws.writing.reads import READS_ASKED, ReadAsked
from reconciler.platforms.aws.writing.wanted import Wanted, wanted
from reconciler.policy.documents import PolicySet
from reconciler.providers.check import Check, State

_CODE, _RIGHT = "AWS", "AWSRight"
_ENABLED, _CLUSTER = "k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/"
_REFUSED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
"""AWS knows who asks, and does not let it. Whatever else it says of a call, it has let it through."""


def checks(accounts: Accounts, policy: PolicySet | None) -> Iterator[Check]:
    """One call of each kind that the loop reads with, then one round of its reads, for every account and region of the policy;
    nothing is written.

    AWS has no dry run for Auto Scaling: whether a write is allowed is told by the first one, or by the generated IAM policy.
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
        # Nobody answers, or not to us: every right would be told the same of.
        return
    groups = region.items()["AutoScalingGroup"]
    yield from _rights(aws, where, one, groups)
    if broken is None:
        yield from _groups(region, one, where)


def _rights(aws: Aws, where: str, one: Wanted, groups: list[dict[str, Any]]) -> Iterator[Check]:
    """One line a right."""
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
            if error.denied or error.throttled or error.code == "Unreachable":
                yield Check(code=_RIGHT, state=State.WARN, message=f"{where}: {read.right} was not told: {error}")
                continue
        yield Check(code=_RIGHT, state=State.PASS, message=f"{where}: {read.right} is allowed")


def _missing(where: str, read: ReadAsked, error: AwsError) -> Check:
    statement = json.dumps({"Effect": "Allow", "Action": read.right, "Resource": read.resource})
    return Check(
        code=_RIGHT,
        state=State.FAIL if read.stops_writes else State.WARN,
        message=f"{where}: {read.right} is denied, so that {read.without}: {error.message}",
        advice=f"add to the Statement of its IAM policy: {statement} (examples/eks has all of it)",
    )


def _groups(region: Region, one: Wanted, where: str) -> Iterator[Check]:
    groups = region.items()["AutoScalingGroup"]
    if groups or one.names:
        yield Check(code=_CODE, state=State.PASS, message=f"{where}: {len(groups)} Auto Scaling groups are read")
    else:
        yield Check(
            code=_CODE,
            state=State.WARN,
            message=f"{where}: no Auto Scaling group has the tags of spec.discovery, so that nothing is sized there",
            advice="see the region, the account that the credentials are of, and the tags (`aws autoscaling describe-tags`)",
        )
    for name in sorted(set(one.names) - {item["AutoScalingGroupName"] for item in groups}):
        yield Check(
            code=_CODE,
            state=State.FAIL,
            message=f"{where}: there is no Auto Scaling group {name}",
            advice="see spec.target.aws of its NodeGroup: name, region and account (roleARN)",
        )
    for item in groups:
        keys, name = {tag["Key"] for tag in item.get("Tags") or ()}, item["AutoScalingGroupName"]
        if (_ENABLED in keys) != any(key.startswith(_CLUSTER) and key.count("/") == 2 and key != _ENABLED for key in keys):
            yield Check(
                code=_CODE,
                state=State.WARN,
                message=f"{where}: {name} carries one of the two discovery tags of the Cluster Autoscaler",
                advice=f"{_ENABLED} and {_CLUSTER}<cluster name> belong together",
            )


def _advice(error: AwsError) -> str:
    if error.code == "NoClient":
        return "install the extra `aws`"
    if error.code == "NoCredentials":
        return "give the process credentials: Pod Identity, IRSA, a profile or the environment"
    if error.throttled:
        return "others of the account ask as well: see CloudTrail, and try again in a minute"
    if error.denied:
        return "renew the credentials, or see whose they are: `aws sts get-caller-identity`"
    return "see the region, the network and the state of AWS"
