"""What `doctor` finds about Auto Scaling groups: the client, the credentials, every right to read, the groups."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region, Wanted, wanted
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EC2, EKS, ZONAL_SHIFT, Aws, AwsError
from reconciler.policy.documents import PolicySet
from reconciler.providers.live_platforms import Check, State

# The rights to read that a process needs, one by one: how each is tried, and what fails without it.

_NOBODY = "reconciler-doctor-asks-for-a-right"
"""The name of a group that does not exist: AWS decides whether a call is allowed before it looks for the group."""
_REFUSES = "the loop refuses every write: it cannot tell who else sizes a group"


class ReadAsked(msgspec.Struct, frozen=True, kw_only=True):
    """One right. `without` states what follows if it is missing. `stops_writes`: nothing is sized then. `of_group`: AWS answers
    for one named group alone. `of_node_group`: only managed node groups of EKS need it."""

    service: str
    action: str
    without: str
    stops_writes: bool = True
    of_group: bool = False
    of_node_group: bool = False
    resource: str = "*"

    @property
    def right(self) -> str:
        """The name of the right in IAM."""
        return f"{self.service}:{self.action}"

    def parameters(self, groups: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any] | None:
        """Parameters of the smallest call; None if there is nothing to ask for."""
        if self.of_node_group:
            tags = ({tag["Key"]: tag.get("Value", "") for tag in item.get("Tags") or ()} for item in groups)
            tagged = next((one for one in tags if one.get("eks:cluster-name") and one.get("eks:nodegroup-name")), None)
            return (
                None
                if tagged is None
                else {"clusterName": tagged["eks:cluster-name"], "nodegroupName": tagged["eks:nodegroup-name"]}
            )
        if self.service == ZONAL_SHIFT:
            return {"maxResults": 5}
        if self.service == EC2 and self.action != "DescribeLaunchTemplateVersions":
            return {"MaxResults": 5}
        if self.service == EC2:
            return {"MaxResults": 5, "Versions": ["$Default"]}
        named = next((item["AutoScalingGroupName"] for item in groups), next(iter(names), _NOBODY))
        return {"MaxRecords": 1, **({"AutoScalingGroupName": named} if self.of_group else {})}


READS_ASKED = (
    ReadAsked(service=AUTO_SCALING, action="DescribeAutoScalingGroups", without="the loop reads no group and sizes none"),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeAutoScalingInstances",
        without="failed requests are not withdrawn while there are Nodes that belong to no group of the policy",
        stops_writes=False,
    ),
    ReadAsked(service=AUTO_SCALING, action="DescribeInstanceRefreshes", without=_REFUSES, of_group=True),
    ReadAsked(service=AUTO_SCALING, action="DescribePolicies", without=_REFUSES),
    ReadAsked(service=AUTO_SCALING, action="DescribeScheduledActions", without=_REFUSES),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeScalingActivities",
        without="the loop cannot read groups with missing instances, and sizes nothing meanwhile",
    ),
    ReadAsked(
        service=AUTO_SCALING,
        action="DescribeLaunchConfigurations",
        without="the capacity of a new node is unknown for groups with a launch configuration",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeInstanceTypes",
        without="machine types that are not in the built-in table are unknown",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeLaunchTemplateVersions",
        without="the capacity of a new node is unknown for groups without nodes",
        stops_writes=False,
    ),
    ReadAsked(
        service=EC2,
        action="DescribeCapacityReservations",
        without="it is unknown how much reserved capacity is free, and nodes are not drained before a Capacity Block ends",
        stops_writes=False,
    ),
    ReadAsked(
        service=ZONAL_SHIFT,
        action="ListManagedResources",
        without="zonal shifts are unknown, and groups may grow in a zone that is shifted away",
        stops_writes=False,
    ),
    ReadAsked(
        service=EKS,
        action="DescribeNodegroup",
        without="the loop refuses writes to managed node groups: it cannot tell whether EKS changes them",
        of_node_group=True,
        resource="arn:aws:eks:*:*:nodegroup/*/*/*",
    ),
)
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
