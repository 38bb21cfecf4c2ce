"""What `doctor` says of Auto Scaling groups: the client, the credentials, every right that the loop reads with, tags."""

import pytest

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.checking import checks
from reconciler.providers.check import Check, State
from tests.aws.documents import REGION, group
from tests.aws.policies import policy_set
from tests.aws.scripted import DENIED, Scripted
from tests.aws.test_asking import NAMED, POLICY

ROLE = "arn:aws:iam::123456789012:role/other"
ENABLED, CLUSTER = "k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/prod"
ALLOW = "allow it: examples/eks has the IAM policies"
BOTH = (ENABLED, CLUSTER)


def found(aws: Scripted, policy: str = POLICY) -> list[Check]:
    return list(checks(Accounts(lambda region, role: aws), policy_set(policy)))


def passed(where: str, count: int) -> Check:
    return Check(code="AWS", state=State.PASS, message=f"{where}: {count} Auto Scaling groups are read")


def test_all_is_as_it_should_be() -> None:
    """One line for every region; nothing is written."""
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(tags=dict.fromkeys(BOTH, ""))]}])
    assert found(aws) == [passed(REGION, 1)]
    assert all(action.startswith("Describe") for action, _ in aws.asked)


def test_nothing_is_asked_where_no_policy_names_any() -> None:
    """Nor without a policy."""
    aws = Scripted()
    assert found(aws, POLICY.partition("  discovery")[0] + "  mode: Observe\n") == []
    assert list(checks(Accounts(lambda region, role: aws), None)) == []
    assert aws.asked == []


def test_a_group_that_is_not_there() -> None:
    """By region and role, with what to look at."""
    assert found(Scripted(), NAMED) == [
        passed(REGION, 0),
        passed(f"{REGION} as {ROLE}", 0),
        Check(
            code="AWS",
            state=State.FAIL,
            message=f"{REGION} as {ROLE}: there is no Auto Scaling group special",
            advice="see spec.target.aws of its NodeGroup: name, region and account (roleARN)",
        ),
    ]


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (AwsError("NoClient", "boto3 is missing"), "install the extra `aws`"),
        (
            AwsError("NoCredentials", "none"),
            "give the process credentials: Pod Identity, IRSA, a profile or the environment",
        ),
        (DENIED, ALLOW),
        (AwsError("Unreachable", "timed out"), "see the network and the state of AWS"),
    ],
)
def test_groups_that_cannot_be_read(error: AwsError, advice: str) -> None:
    """Each cause has its own way out."""
    (check,) = found(Scripted(DescribeAutoScalingGroups=[error]))
    assert check == Check(code="AWS", state=State.FAIL, message=f"{REGION}: {error.code}: {error.message}", advice=advice)


def test_a_right_that_is_missing() -> None:
    """What stands around the groups may not be read: the loop goes on without, and it is told."""
    aws = Scripted(DescribePolicies=[DENIED], DescribeScheduledActions=[DENIED])
    warned = [
        Check(code="AWS", state=State.WARN, message=f"{REGION}: {action}: not authorized", advice=ALLOW)
        for action in ("DescribePolicies", "DescribeScheduledActions")
    ]
    assert found(aws) == [passed(REGION, 0), *warned]


@pytest.mark.parametrize(
    ("tags", "half"),
    [
        ((), False),
        (BOTH, False),
        ((ENABLED,), True),
        ((CLUSTER,), True),
        (("k8s.io/cluster-autoscaler/node-template/label/team",), False),
        ((ENABLED, "k8s.io/cluster-autoscaler/node-template/label/team"), True),
        ((ENABLED, "example.com/a/b"), True),
    ],
)
def test_discovery_tags_belong_together(tags: tuple[str, ...], *, half: bool) -> None:
    """SOURCE: the Cluster Autoscaler on AWS is told to look for both; tags of node templates are other ones."""
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(tags=dict.fromkeys(tags, "x"))]}])
    told = Check(
        code="AWS",
        state=State.WARN,
        message=f"{REGION}: workers carries one of the two discovery tags of the Cluster Autoscaler",
        advice=f"{ENABLED} and k8s.io/cluster-autoscaler/<cluster name> belong together",
    )
    assert found(aws) == [passed(REGION, 1), *([told] if half else [])]


def test_a_group_without_tags() -> None:
    """AWS may leave the list out altogether."""
    bare = group()
    del bare["Tags"]
    assert found(Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [bare]}])) == [passed(REGION, 1)]
