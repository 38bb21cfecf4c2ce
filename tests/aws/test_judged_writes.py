"""Writes of the provider on a group that is, or is no longer, what was judged: refusals word for word, with nothing written."""

from typing import Any

import pytest

from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.growth import launch
from reconciler.platforms.aws.writing.machine_types import MachineTypes
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.providers.contract import LeavingMachine, WriteCode, WriteResult
from tests.aws.documents import REGION, Object, group
from tests.aws.scripted import DENIED, THROTTLED, Scripted
from tests.aws.test_writes import DESIRE, LAUNCH, NAME, REF, TAG, UNTAG, A, B, answered, desired, reading, wrote
from tests.aws.writes import bound_by

JUDGED = desired(3, "InService", "InService", MinSize=1, MaxSize=5)
SIZED_BY_A_POLICY = {"ScalingPolicies": [{"AutoScalingGroupName": "workers", "PolicyName": "cpu", "PolicyType": "StepScaling"}]}


def held(item: Object) -> Object:
    return {**item, "Tags": [{"Key": "reconciler.dev/hold", "Value": "repair"}]}


def refused(message: str) -> WriteResult:
    return WriteResult(code=WriteCode.REFUSED, message=f"{NAME}{message}")


@pytest.mark.parametrize(
    ("verb", "number", "now", "expected"),
    [
        ("resize", 4, {}, WriteResult()),
        ("resize", 5, {}, WriteResult()),
        ("resize", 3, {}, WriteResult()),
        ("resize", 2, {}, refused(": AWS would choose which instances go at desired capacity 2")),
        ("resize", 6, {}, refused(": 6 is above its MaxSize 5")),
        ("cancel", 2, {}, WriteResult()),
        ("cancel", 0, {}, refused(": 0 is below its MinSize 1")),
        (
            "resize",
            5,
            {"DesiredCapacity": 4},
            WriteResult(code="Stale", message=f"{NAME} has 4 replicas, and 3 when the plan was made"),
        ),
        (
            "cancel",
            2,
            {"DesiredCapacity": 4},
            WriteResult(code="Stale", message=f"{NAME} has 4 replicas, and 3 when the plan was made"),
        ),
        ("resize", 4, held({}), refused(" is held: repair (annotation reconciler.dev/hold)")),
        ("cancel", 2, held({}), refused(" is held: repair (annotation reconciler.dev/hold)")),
    ],
)
def test_what_the_group_is_when_it_is_written(verb: str, number: int, now: Object, expected: WriteResult) -> None:
    """Upwards to MaxSize, requests that never came back to MinSize; a group that moved or is held by now is left alone."""
    bound = bound_by(answered(JUDGED), REF)
    aws = answered({**JUDGED, **now})
    provider = AwsProvider(Accounts(lambda region, role: aws))
    result = provider.resize(REF, number, bound) if verb == "resize" else provider.cancel(REF, (), number, bound)
    assert result == expected
    written = [parameters.get("DesiredCapacity") for action, parameters in wrote(aws) if action == DESIRE]
    assert written == ([number] if expected.done else [])


def test_the_lowest_size_that_requests_are_taken_back_to() -> None:
    """MinSize itself."""
    item = desired(3, MinSize=1)
    aws = answered(item)
    assert AwsProvider(Accounts(lambda region, role: aws)).cancel(REF, (), 1, bound_by(aws, REF)) == WriteResult()


WRITTEN_4 = {"reconciler.dev/desired": "4.1800000000"}


@pytest.mark.parametrize(
    ("annotations", "signed"),
    [
        (None, WRITTEN_4),
        ({}, WRITTEN_4),
        (
            {POLICY_MARK: "prod", "reconciler.dev/reason": "r", "team": "x"},
            {POLICY_MARK: "prod", "reconciler.dev/reason": "r", **WRITTEN_4},
        ),
    ],
)
def test_what_is_written_before_a_size(annotations: dict[str, str] | None, signed: dict[str, str]) -> None:
    """Whose policy it is, the value, its time and our own words: a process that ends in between has told what it was about."""
    aws = answered(JUDGED)
    provider = AwsProvider(Accounts(lambda region, role: aws))
    assert provider.resize(REF, 4, bound_by(aws, REF), annotations).done
    told = [
        {tag["Key"]: tag["Value"] for tag in parameters["Tags"]} if action == TAG else parameters["DesiredCapacity"]
        for action, parameters in wrote(aws)
    ]
    assert told == [signed, 4]


@pytest.mark.parametrize(("tags", "marks", "done"), [({POLICY_MARK: "prod"}, {POLICY_MARK: "prod"}, True), ({}, None, True),
                                                     ({}, {POLICY_MARK: "prod"}, False)])  # fmt: skip
def test_a_write_that_cannot_be_signed(tags: dict[str, str], marks: dict[str, str] | None, *, done: bool) -> None:
    """It is done where the mark of the policy is there already, or none is asked for; without it nobody else would know."""
    aws = answered({**JUDGED, "Tags": [{"Key": key, "Value": text} for key, text in tags.items()]}, **{TAG: [DENIED]})
    result = AwsProvider(Accounts(lambda region, role: aws)).resize(REF, 4, bound_by(aws, REF), marks)
    assert (result.done, DESIRE in aws.actions()) == (done, done)


@pytest.mark.parametrize(("before", "after"), [("3.1700000000", (TAG, "3.1700000000")), ("", (UNTAG, None))])
def test_a_write_that_is_refused_leaves_the_mark_before_it(before: str, after: tuple[str, str | None]) -> None:
    """What was not written is not signed in the end."""
    tags = [{"Key": "reconciler.dev/desired", "Value": before}] if before else []
    aws = answered({**JUDGED, "Tags": tags}, **{DESIRE: [DENIED]})
    assert AwsProvider(Accounts(lambda region, role: aws)).resize(REF, 4, bound_by(aws, REF)).code == WriteCode.DENIED
    action, parameters = wrote(aws)[-1]
    assert (action, parameters["Tags"][0]["Key"], parameters["Tags"][0].get("Value")) == (
        after[0],
        "reconciler.dev/desired",
        after[1],
    )


@pytest.mark.parametrize(("tags", "deleted"), [({}, []), ({POLICY_MARK: "prod", "team": "x"}, [POLICY_MARK])])
def test_released(tags: dict[str, str], deleted: list[str]) -> None:
    """Our tags go and nothing else is written, also where the size has moved since."""
    bound = bound_by(answered(JUDGED), REF)
    aws = answered(group(DesiredCapacity=7, tags=tags))
    assert AwsProvider(Accounts(lambda region, role: aws)).release(REF, bound) == WriteResult()
    told = [(action, [tag["Key"] for tag in parameters["Tags"]]) for action, parameters in wrote(aws)]
    assert told == ([(UNTAG, deleted)] if deleted else [])


@pytest.mark.parametrize(("writers", "others"), [({}, False), ({"DescribePolicies": [SIZED_BY_A_POLICY]}, True)])
def test_who_hears_of_a_write(writers: Any, *, others: bool) -> None:
    """Also of one that was refused: what was read for it may be news, somebody else who sizes the group above all."""
    aws = answered(JUDGED, **writers)
    accounts, heard = Accounts(lambda region, role: aws), list[tuple[str, str, bool]]()
    accounts.on_write(lambda *told: heard.append(told))
    provider = AwsProvider(accounts)
    provider.resize(REF, 4, bound_by(aws, REF))
    assert heard == [(REGION, "workers", others)]
    provider.step(REF, (LeavingMachine(machine="i-1", node="n"),), 0)
    assert heard[1:] == [(REGION, "workers", False)]


def test_nobody_writes_without_the_lead() -> None:
    """Reads go on; each kind of write asks first."""
    aws = answered(JUDGED)

    def guard() -> None:
        raise NotLeaderError("another process leads")

    provider, bound = AwsProvider(Accounts(lambda region, role: aws), guard=guard), bound_by(aws, REF)
    with pytest.raises(NotLeaderError):
        provider.resize(REF, 4, bound)
    with pytest.raises(NotLeaderError):
        provider.step(REF, (LeavingMachine(machine="i-1", node="n"),), 0)
    with pytest.raises(NotLeaderError):
        provider.cancel(REF, ("i-1",), 2, bound)
    assert provider.may_begin(REF, "i-1", "n", bound).done
    assert {action for action, _ in wrote(aws)} == set()


def bought(*instances: str, error: tuple[str, str] = ("", "")) -> Object:
    """An answer of `LaunchInstances`."""
    errors = [{"ErrorCode": error[0], "ErrorMessage": error[1]}] if error[0] else []
    return {"Instances": [{"InstanceIds": list(instances)}] if instances else [], "Errors": errors}


STOCK = ("InsufficientInstanceCapacity", "none left")
ZONES: Object = {"AvailabilityZones": [B, A], "MaxSize": 200}


@pytest.mark.parametrize(
    ("answers", "asked", "expected"),
    [
        ([bought("i-8", "i-9")], [(A, 2)], WriteResult()),
        ([bought("i-8", "i-9", error=STOCK)], [(A, 2)], WriteResult()),
        ([bought("i-8", error=STOCK), bought("i-9")], [(A, 2), (B, 1)], WriteResult()),
        ([bought("i-8", error=STOCK), bought(error=STOCK)], [(A, 2), (B, 1)],
         WriteResult(message="1 of 2 instances came: none left", replicas=3)),
        ([bought("i-8", error=STOCK), THROTTLED], [(A, 2), (B, 1)],
         WriteResult(message="1 of 2 instances came: none left", replicas=3)),
        (
            [bought(error=("VcpuLimitExceeded", "ask for more"))],
            [(A, 2)],
            WriteResult(code=WriteCode.FAILED, message=f"{NAME}: Quota: VcpuLimitExceeded - ask for more"),
        ),
        ([bought(error=STOCK)], [(A, 2), (B, 2)],
         WriteResult(code=WriteCode.FAILED, message=f"{NAME}: Stock: InsufficientInstanceCapacity - none left")),
        ([THROTTLED], [(A, 2)], WriteResult(code=WriteCode.UNAVAILABLE, message=f"{NAME}: Rate exceeded")),
    ],
)  # fmt: skip
def test_launched_at_once(answers: list[Any], asked: list[tuple[str, int]], expected: WriteResult) -> None:
    """The emptiest zone first, what is still missing in the next one where stock is the reason; another reason ends it."""
    aws = Scripted(LaunchInstances=answers)
    assert launch(aws, reading({**desired(2), **ZONES, "Instances": [_instance(B)]}), 4) == expected
    told = aws.told()
    assert [(one["AvailabilityZones"][0], one["RequestedCapacity"]) for _, one in told] == asked
    assert {(action, one["AutoScalingGroupName"], one["RetryStrategy"]) for action, one in told} == {(LAUNCH, "workers", "none")}


def test_an_answer_that_says_nothing() -> None:
    """Nothing came, and nobody says why."""
    for answer in ({}, {"Instances": [{}], "Errors": None}):
        aws = Scripted(LaunchInstances=[answer])
        assert launch(aws, reading({**desired(0), **ZONES}), 1).code == WriteCode.FAILED
        assert len(aws.asked) == 1


def tokens(item: Object, number: int) -> list[str]:
    aws = Scripted(LaunchInstances=[bought(error=STOCK)])
    launch(aws, reading(item), number)
    return [parameters["ClientToken"] for _, parameters in aws.told()]


def test_the_same_call_launches_nothing_twice() -> None:
    """One token for what was judged: another zone, size, number or instance is another call. AWS takes 64 characters."""
    item = {**desired(2), **ZONES}
    bare = {key: value for key, value in item.items() if key != "Instances"}
    first = tokens(item, 4)
    assert first == tokens(item, 4) == tokens(bare, 4)
    others = [tokens({**item, "DesiredCapacity": 3}, 5), tokens(item, 5), tokens({**item, "Instances": [_instance(B)]}, 4)]
    every = [token for found in (first, *others) for token in found]
    assert len({*every}) == len(every) == 8
    assert {len(token) for token in every} == {64}


def test_a_hundred_at_once() -> None:
    """AWS takes no more in one call: the rest is the next decision's."""
    aws = Scripted(LaunchInstances=[bought(error=STOCK)])
    launch(aws, reading({**desired(0), **ZONES}), 150)
    assert [one["RequestedCapacity"] for _, one in aws.told()] == [100, 100]


def _instance(zone: str) -> Object:
    return {"InstanceId": "i-1", "LifecycleState": "InService", "AvailabilityZone": zone, "InstanceType": "m5.large"}


def type_group(name: str, kind: str) -> Object:
    return group(name, Instances=[{"InstanceId": "i-1", "LifecycleState": "InService", "InstanceType": kind}])


def test_a_right_that_is_missing_is_no_name_that_is_unknown() -> None:
    """Words of a refusal may name a type as well: nothing is asked for again."""
    denied = AwsError("UnauthorizedOperation", "not authorized to describe m5.large", status=403)
    aws = Scripted(DescribeInstanceTypes=[denied])
    MachineTypes(aws).ask(0, [type_group("a", "m5.large"), type_group("b", "c5.large")], [])
    assert [one["InstanceTypes"] for _, one in aws.told()] == [["c5.large", "m5.large"]]


def test_whether_types_are_news() -> None:
    """A type or a configuration that was asked for now, and nothing else."""
    answers = {
        "DescribeLaunchConfigurations": lambda LaunchConfigurationNames, **_: {  # noqa: N803 - AWS's word
            "LaunchConfigurations": [
                {"LaunchConfigurationName": name, "InstanceType": "m5.large"}
                for name in LaunchConfigurationNames
                if name != "gone"
            ]
        }
    }
    types = MachineTypes(Scripted(**answers))
    groups = [group("a", LaunchConfigurationName="one")]
    assert types.ask(0, groups, [])
    assert not types.ask(10, groups, [])
    groups.append(group("b", LaunchConfigurationName="two"))
    assert types.ask(20, groups, [])
    assert [item["LaunchConfigurationName"] for item in types.items()["LaunchConfiguration"]] == ["one", "two"]
    assert not types.ask(30, [*groups, group("c")], [])
    assert types.ask(40, [*groups, type_group("d", "c5.large")], [])
