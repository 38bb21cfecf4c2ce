"""Launches at once, accounts and the bucket in front of them, types and groups of a cluster: every call word for word."""

from typing import Any

import pytest

from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asked_once import belonging
from reconciler.platforms.aws.writing.call_rate import Metered
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.growth import LAUNCH_TAG, SYNCHRONOUS, launch, launches_at_once
from reconciler.platforms.aws.writing.machine_types import MachineTypes, types_of
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.providers.contract import WriteCode, WriteResult
from tests.aws.documents import REGION, Object, group
from tests.aws.scripted import DENIED, THROTTLED, Scripted
from tests.aws.test_questions import instance
from tests.aws.test_writes import NAME, REF, A, B, answered, desired, reading
from tests.aws.writes import bound_by


@pytest.mark.parametrize(
    ("item", "at_once"),
    [
        ({}, False),
        ({"tags": {LAUNCH_TAG: SYNCHRONOUS}}, True),
        ({"tags": {LAUNCH_TAG: "synchronous"}}, False),
        ({"tags": {LAUNCH_TAG: SYNCHRONOUS}, "LaunchConfigurationName": "old"}, False),
        ({"tags": {LAUNCH_TAG: SYNCHRONOUS}, "MixedInstancesPolicy": {}}, True),
        *(
            ({"tags": {LAUNCH_TAG: SYNCHRONOUS}, "MixedInstancesPolicy": {"InstancesDistribution": spread}}, at_once)
            for spread, at_once in (
                ({}, True),
                ({"OnDemandPercentageAboveBaseCapacity": 100, "OnDemandBaseCapacity": 3}, True),
                ({"OnDemandPercentageAboveBaseCapacity": 0}, True),
                ({"OnDemandPercentageAboveBaseCapacity": 0, "OnDemandBaseCapacity": 1}, False),
                ({"OnDemandPercentageAboveBaseCapacity": 50}, False),
            )
        ),
    ],
)
def test_which_groups_launch_at_once(item: Object, *, at_once: bool) -> None:
    """SOURCE: Amazon EC2 Auto Scaling, synchronous provisioning: templates alone, all on demand or all spot."""
    assert launches_at_once(reading(group(**item))) is at_once


def came(*names: str, error: tuple[str, str] | None = None) -> Object:
    errors = [{"ErrorCode": error[0], "ErrorMessage": error[1]}] if error is not None else []
    return {"Instances": [{"InstanceIds": list(names)}] if names else [], "Errors": errors}


STOCK = ("InsufficientInstanceCapacity", "none left")
BOTH = {"AvailabilityZones": [B, A]}


def launched(*answers: Any, wanted: int = 2, item: Object | None = None) -> tuple[WriteResult, list[tuple[str, int]]]:
    there = item or group(**BOTH)
    aws = Scripted(LaunchInstances=list(answers))
    result = launch(aws, reading(there), there["DesiredCapacity"] + wanted)
    told = aws.told()
    assert all(parameters["RetryStrategy"] == "none" for _, parameters in told)
    assert len({parameters["ClientToken"] for _, parameters in told}) == len(told)
    return result, [(parameters["AvailabilityZones"][0], parameters["RequestedCapacity"]) for _, parameters in told]


@pytest.mark.parametrize(
    ("answers", "result", "asked"),
    [
        ([came("1", "2")], WriteResult(), [(A, 2)]),
        ([came("1", error=STOCK), came("2")], WriteResult(), [(A, 2), (B, 1)]),
        (
            [came(error=STOCK), came("1", error=STOCK)],
            WriteResult(message="1 of 2 instances came: none left", replicas=1),
            [(A, 2), (B, 2)],
        ),
        (
            [came(error=STOCK), came(error=STOCK)],
            WriteResult(code=WriteCode.FAILED, message=f"{NAME}: Stock: InsufficientInstanceCapacity - none left"),
            [(A, 2), (B, 2)],
        ),
        (
            [came(error=("VcpuLimitExceeded", "limit"))],
            WriteResult(code=WriteCode.FAILED, message=f"{NAME}: Quota: VcpuLimitExceeded - limit"),
            [(A, 2)],
        ),
        (
            [came("1", error=("VcpuLimitExceeded", ""))],
            WriteResult(message="1 of 2 instances came: VcpuLimitExceeded", replicas=1),
            [(A, 2)],
        ),
        ([came("1")], WriteResult(message="1 of 2 instances came: ", replicas=1), [(A, 2)]),
        (
            [came("1", error=STOCK), THROTTLED],
            WriteResult(message="1 of 2 instances came: none left", replicas=1),
            [(A, 2), (B, 1)],
        ),
        ([THROTTLED], WriteResult(code=WriteCode.UNAVAILABLE, message=f"{NAME}: Rate exceeded"), [(A, 2)]),
        (
            [AwsError("IdempotentCallInProgress", "busy")],
            WriteResult(code=WriteCode.UNKNOWN, message=f"{NAME}: busy"),
            [(A, 2)],
        ),
        ([{}], WriteResult(code=WriteCode.FAILED, message=f"{NAME}: Configuration:  - "), [(A, 2)]),
        ([{"Errors": [{}]}], WriteResult(code=WriteCode.FAILED, message=f"{NAME}: Configuration:  - "), [(A, 2)]),
    ],
)
def test_launched_at_once(answers: list[Any], result: WriteResult, asked: list[tuple[str, int]]) -> None:
    """Zone by zone while there is none in stock; what came stands, and none says why in AWS's words."""
    assert launched(*answers) == (result, asked)


def test_the_emptiest_zone_first() -> None:
    """By the instances that count; and at most a hundred in one call."""
    instances = [
        instance(number=1),
        {**instance(number=2), "AvailabilityZone": B},
        {**instance("Terminated", 3), "AvailabilityZone": B},
    ]
    there = group(DesiredCapacity=2, Instances=[*instances, instance(number=4)], **BOTH)
    assert launched(came("5", "6"), item=there)[1] == [(B, 2)]
    assert launched(came(*map(str, range(100))), wanted=101)[1] == [(A, 100)]
    assert launched(came(*map(str, range(100))), wanted=100)[0] == WriteResult()


def test_a_group_without_zones_launches_nothing() -> None:
    """There is nowhere to ask for it."""
    assert launched(item=group(AvailabilityZones=None))[1] == []


def test_who_is_told_of_a_write() -> None:
    """Whoever keeps what is known, by region and name; whether somebody else was met."""
    accounts = Accounts(lambda region, role: answered(desired(1, "InService", Operator={"Principal": "x"})))
    told: list[tuple[str, str, bool]] = []
    accounts.on_write(lambda region, name, others: told.append((region, name, others)))
    writer = AwsProvider(accounts)
    writer.step(REF, (), 0)
    writer.release(REF, bound_by(accounts.of(REGION), REF))
    assert told == [(REGION, "workers", False), (REGION, "workers", True)]


def test_accounts_are_known_by_region_and_role() -> None:
    """One client for each; the role that a group was named with last stays known."""
    made: list[tuple[str, str]] = []
    accounts = Accounts(lambda region, role: [made.append((region, role)), Scripted()][1])
    assert accounts.of("r", "a") is accounts.of("r", "a")
    assert accounts.of("r") is not accounts.of("r", "a")
    assert made == [("r", "a"), ("r", "")]
    other = Metered(Scripted())
    accounts.put("r", "", other)
    assert (accounts.of("r") is other, set(accounts.all())) == (True, {("r", "a"), ("r", "")})
    accounts.named("r", "a", ["x"])
    accounts.named("r", "b", ["x", "y"])
    assert [accounts.last_role("r", name) for name in "xyz"] == ["b", "b", ""]


def test_a_bucket_that_is_not_empty_makes_nobody_wait() -> None:
    """25 at once, five a second; it never holds more than those, however long nobody asks."""
    seconds, slept = [0.0], list[float]()

    def sleep(for_seconds: float) -> None:
        slept.append(for_seconds)
        seconds[0] += for_seconds

    metered = Metered(Scripted(), monotonic=lambda: seconds[0], sleep=sleep)
    for _ in range(25):
        metered.call("autoscaling", "Describe")
    assert slept == []
    metered.call("autoscaling", "Describe")
    assert slept == [pytest.approx(0.2)]
    seconds[0] += 0.2
    metered.call("autoscaling", "Describe")
    assert len(slept) == 1
    seconds[0] += 1000
    for _ in range(26):
        metered.call("autoscaling", "Describe")
    assert (len(slept), metered.calls["Describe"]) == (2, 53)


def test_a_throttled_account_is_left_alone() -> None:
    """It is counted, and an answer lets the next pause be short again."""
    seconds = [0.0]
    aws = Scripted(Describe=[THROTTLED, THROTTLED, {}, THROTTLED, {}])
    metered = Metered(aws, monotonic=lambda: seconds[0])
    for pause in (5, 10):
        with pytest.raises(AwsError):
            metered.call("autoscaling", "Describe")
        seconds[0] += pause - 1
        with pytest.raises(AwsError, match="next attempt is in 1 s"):
            metered.call("autoscaling", "Describe")
        seconds[0] += 1
    metered.call("autoscaling", "Describe")
    with pytest.raises(AwsError):
        metered.call("autoscaling", "Describe")
    seconds[0] += 5
    metered.call("autoscaling", "Describe")
    assert (metered.throttled, len(aws.asked)) == (3, 5)


def types(aws: Scripted, *names: str) -> MachineTypes:
    found = MachineTypes(aws)
    found.ask(0, [group(Instances=[instance(number=1, kind=name) for name in names])], [])
    return found


def test_a_hundred_types_at_once() -> None:
    """AWS takes no more in one call; launch configurations fifty."""
    aws = Scripted()
    types(aws, *(f"t{number:03}" for number in range(101)))
    assert [len(parameters["InstanceTypes"]) for _, parameters in aws.told()] == [100, 1]
    MachineTypes(aws).ask(0, [group(f"g{n}", LaunchConfigurationName=f"lc{n:02}") for n in range(51)], [])
    told = aws.told()
    assert [len(parameters["LaunchConfigurationNames"]) for _, parameters in told] == [50, 1]
    assert {parameters["MaxRecords"] for _, parameters in told} == {100}


def test_names_that_aws_does_not_know() -> None:
    """It names some: the others are asked for again; where it names none of ours there is no end to that."""
    known, unknown = "m5.large", "z9.nano"
    refused = AwsError("InvalidInstanceType", f"The following supplied instance types do not exist: [{unknown}]")
    aws = Scripted(DescribeInstanceTypes=[refused, {"InstanceTypes": [{"InstanceType": known}]}])
    found = types(aws, known, unknown)
    assert [parameters["InstanceTypes"] for _, parameters in aws.told()] == [[known, unknown], [known]]
    assert found.items() == {"InstanceType": [{"InstanceType": known}]}
    for error in (refused, AwsError("InvalidInstanceType", "which one is not said")):
        alone = Scripted(DescribeInstanceTypes=[error])
        assert (types(alone, unknown).items(), len(alone.asked)) == ({}, 1)
    with pytest.raises(AwsError):
        types(Scripted(DescribeInstanceTypes=[THROTTLED]), known)


def test_launch_configurations() -> None:
    """Asked for once, also one that is gone; the right is needed by nobody."""
    known = {"LaunchConfigurationName": "a", "InstanceType": "m5.large"}
    item = [group(LaunchConfigurationName=name) for name in ("a", "b")]
    aws = Scripted(DescribeLaunchConfigurations=[{"LaunchConfigurations": [known]}])
    found = MachineTypes(aws)
    assert found.ask(0, item, [])
    assert not found.ask(10, item, [])
    assert [action for action, _ in aws.told()] == ["DescribeLaunchConfigurations", "DescribeInstanceTypes"]
    assert found.items() == {"LaunchConfiguration": [known]}
    refused = MachineTypes(Scripted(DescribeLaunchConfigurations=[DENIED]))
    assert (refused.ask(0, item, []), refused.items()) == (False, {})
    with pytest.raises(AwsError):
        MachineTypes(Scripted(DescribeLaunchConfigurations=[THROTTLED])).ask(0, item, [])


def test_types_that_are_named() -> None:
    """By templates, choices and instances; what names none is none."""
    mixed = {"LaunchTemplate": {"Overrides": [{"InstanceType": "b"}, {}]}}
    groups = [
        group(MixedInstancesPolicy=mixed, Instances=[instance(kind="c")]),
        group(MixedInstancesPolicy={"LaunchTemplate": {}}),
    ]
    bare = group()
    del bare["Instances"]
    assert types_of([*groups, bare], [{"LaunchTemplateData": {"InstanceType": "a"}}, {}]) == {"a", "b", "c"}


def tagged(name: str, *tags: str, instances: tuple[str, ...] = ()) -> Object:
    found = group(name, tags={key: value for key, _, value in (tag.partition("=") for tag in tags)})
    return {**found, "Instances": [{**instance(), "InstanceId": one} for one in instances]}


@pytest.mark.parametrize(
    ("provider_id", "names"),
    [
        (f"aws:///{A}/i-0a", ("by-eks", "by-node", "by-tag")),
        ("aws:///i-0a", ("by-eks", "by-node", "by-tag")),
        ("aws:///us-west-2-lax-1a/i-0a", ("by-eks", "by-node", "by-tag")),
        (f"aws:///{A}/i-0b", ("alone",)),
        (f"gce:///{A}/i-0a", ()),
        ("aws:///x/y/i-0a", ()),
    ],
)
def test_groups_of_a_cluster(provider_id: str, names: tuple[str, ...]) -> None:
    """Those of its nodes, and all that bear the tag of a cluster which one of those bears; `enabled` names none."""
    cluster, enabled = "k8s.io/cluster-autoscaler/prod=x", "k8s.io/cluster-autoscaler/enabled=true"
    groups = [
        tagged("by-node", cluster, enabled, instances=("i-0a", "i-0c")),
        tagged("by-tag", "kubernetes.io/cluster/prod=owned"),
        tagged("by-eks", "eks:cluster-name=prod"),
        tagged("other", "eks:cluster-name=", enabled, "k8s.io/cluster-autoscaler/test=x"),
        tagged("alone", instances=("i-0b",)),
    ]
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": groups}])
    assert belonging(aws, [provider_id]) == names
    assert aws.told() == [("DescribeAutoScalingGroups", {"MaxRecords": 100})]
