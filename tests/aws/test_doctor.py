"""What `doctor` says of Auto Scaling groups: the client, the credentials, every right that the loop reads with, tags."""

import json

import pytest

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.checking import checks
from reconciler.platforms.aws.writing.read_rights import READS_ASKED
from reconciler.providers.findings import Check, State
from tests.aws.documents import REGION, group
from tests.aws.iam_policies import READS
from tests.aws.policies import policy_set
from tests.aws.scripted import DENIED, Scripted
from tests.aws.test_asking import NAMED, POLICY

ROLE = "arn:aws:iam::123456789012:role/other"
ENABLED, CLUSTER = "k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/prod"
RIGHTS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeInstanceRefreshes",
    "autoscaling:DescribePolicies",
    "autoscaling:DescribeScheduledActions",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeLaunchConfigurations",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeCapacityReservations",
    "arc-zonal-shift:ListManagedResources",
)
BOTH = (ENABLED, CLUSTER)


def found(aws: Scripted, policy: str = POLICY) -> list[Check]:
    return list(checks(Accounts(lambda region, role: aws), policy_set(policy)))


def passed(where: str, count: int) -> Check:
    return Check(code="AWS", state=State.PASS, message=f"{where}: Auto Scaling groups read: {count}")


def allowed(where: str = REGION) -> list[Check]:
    return [Check(code="AWSRight", state=State.PASS, message=f"{where}: {right} is allowed") for right in RIGHTS]


def nothing(where: str = REGION) -> Check:
    return Check(
        code="AWS",
        state=State.WARN,
        message=f"{where}: no Auto Scaling group has the tags of spec.discovery, so nothing is sized there",
        advice="check the region, the account of the credentials, and the tags (`aws autoscaling describe-tags`)",
    )


def test_all_is_as_it_should_be() -> None:
    """One line for every right, and one for every region; nothing is written."""
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(tags=dict.fromkeys(BOTH, ""))]}])
    assert found(aws) == [*allowed(), passed(REGION, 1)]
    assert all(action.startswith(("Describe", "List")) for action, _ in aws.asked)


def test_nothing_is_asked_where_no_policy_names_any() -> None:
    """Nor without a policy."""
    aws = Scripted()
    assert found(aws, POLICY.partition("  discovery")[0] + "  mode: Observe\n") == []
    assert list(checks(Accounts(lambda region, role: aws), None)) == []
    assert aws.asked == []


def test_a_group_that_is_not_there() -> None:
    """By region and role, with what to look at."""
    assert found(Scripted(), NAMED) == [
        *allowed(),
        nothing(),
        *allowed(f"{REGION} as {ROLE}"),
        passed(f"{REGION} as {ROLE}", 0),
        Check(
            code="AWS",
            state=State.FAIL,
            message=f"{REGION} as {ROLE}: cannot find Auto Scaling group special",
            advice="check spec.target.aws of its NodeGroup: name, region and account (roleARN)",
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
        (
            AwsError("ExpiredToken", "The security token included in the request is expired"),
            "renew the credentials, or check whose they are: `aws sts get-caller-identity`",
        ),
        (AwsError("Unreachable", "timed out"), "check the region, the network and the state of AWS"),
    ],
)
def test_groups_that_cannot_be_read(error: AwsError, advice: str) -> None:
    """Each cause has its own way out."""
    (check,) = found(Scripted(DescribeAutoScalingGroups=[error]))
    assert check == Check(code="AWS", state=State.FAIL, message=f"{REGION}: {error.code}: {error.message}", advice=advice)


@pytest.mark.parametrize("right", RIGHTS)
def test_a_right_that_is_missing(right: str) -> None:
    """It fails by itself, with the statement that gives it and what it costs; all others are told as they are."""
    action = right.partition(":")[2]
    lines = found(Scripted(**{action: [DENIED]}))
    (line,) = [one for one in lines if one.code == "AWSRight" and one.state is not State.PASS]
    assert f"{REGION}: {right} is denied" in line.message
    statement = json.loads(line.advice[line.advice.index("{") : line.advice.rindex("}") + 1])
    assert statement == {"Effect": "Allow", "Action": right, "Resource": "*"}
    assert sum(one.code == "AWSRight" for one in lines) == len(RIGHTS)
    stops = not right.startswith(("ec2:", "arc-")) and not right.endswith(("LaunchConfigurations", "AutoScalingInstances"))
    assert line.state is (State.FAIL if stops else State.WARN)


def test_the_rights_asked_for_are_those_of_the_policy() -> None:
    assert sorted(RIGHTS) == sorted(READS)
    assert {read.right for read in READS_ASKED} == {*READS, "eks:DescribeNodegroup"}


def test_managed_node_groups() -> None:
    """EKS is asked where a group is of it, and a denial stops writes to it."""
    tags = dict.fromkeys(BOTH, "") | {"eks:cluster-name": "prod", "eks:nodegroup-name": "ng"}
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(tags=tags)]}], DescribeNodegroup=[DENIED])
    line = next(one for one in found(aws) if "eks:DescribeNodegroup" in one.message)
    assert (line.state, "arn:aws:eks:*:*:nodegroup/*/*/*" in line.advice) == (State.FAIL, True)


def test_what_is_not_there_is_allowed() -> None:
    """AWS looks whether a call is allowed before it looks for what the call names."""
    aws = Scripted(DescribeInstanceRefreshes=[AwsError("ValidationError", "AutoScalingGroup name not found", status=400)])
    assert found(aws) == [*allowed(), nothing()]


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
        message=f"{REGION}: workers has only one of the two discovery tags of the Cluster Autoscaler",
        advice=f"set both {ENABLED} and k8s.io/cluster-autoscaler/<cluster name>",
    )
    assert found(aws) == [*allowed(), passed(REGION, 1), *([told] if half else [])]


def test_a_group_without_tags() -> None:
    """AWS may leave the list out altogether."""
    bare = group()
    del bare["Tags"]
    assert found(Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [bare]}])) == [*allowed(), passed(REGION, 1)]
