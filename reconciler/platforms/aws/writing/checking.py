"""What `doctor` finds about Auto Scaling groups: the client, the credentials, the groups, the rights to read."""

from collections.abc import Iterator

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.wanted import Wanted, wanted
from reconciler.policy.documents import PolicySet
from reconciler.providers.check import Check, State

_CODE = "AWS"
_ENABLED, _CLUSTER = "k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/"


def checks(accounts: Accounts, policy: PolicySet | None) -> Iterator[Check]:
    """One round of the reads that the loop makes, for every account and region of the policy; nothing is written.

    AWS has no dry run for Auto Scaling: whether a write is allowed is told by the first one, or by the generated IAM policy.
    """
    for one in wanted(policy):
        yield from _region(accounts, one)


def _region(accounts: Accounts, one: Wanted) -> Iterator[Check]:
    region = Region(accounts.of(one.region, one.role), one)
    where = f"{one.region} as {one.role}" if one.role else one.region
    try:
        region.ask(0)
    except AwsError as error:
        yield Check(code=_CODE, state=State.FAIL, message=f"{where}: {error}", advice=_advice(error))
        return
    groups = region.items()["AutoScalingGroup"]
    yield Check(code=_CODE, state=State.PASS, message=f"{where}: {len(groups)} Auto Scaling groups are read")
    for name in sorted(set(one.names) - {item["AutoScalingGroupName"] for item in groups}):
        yield Check(
            code=_CODE,
            state=State.FAIL,
            message=f"{where}: there is no Auto Scaling group {name}",
            advice="see spec.target.aws of its NodeGroup: name, region and account (roleARN)",
        )
    for problem in region.problems:
        yield Check(
            code=_CODE, state=State.WARN, message=f"{where}: {problem}", advice="allow it: examples/eks has the IAM policies"
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
    return "allow it: examples/eks has the IAM policies" if error.denied else "see the network and the state of AWS"
