"""Every write to AWS word for word, and what each answer becomes, on an account that answers what a test has put there."""

from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import AwsError, paged
from reconciler.platforms.aws.writing.cancellation import Cancellations
from reconciler.platforms.aws.writing.client import _seconds
from reconciler.platforms.aws.writing.fresh import Reading, read
from reconciler.platforms.aws.writing.hold_tags import set_hold
from reconciler.platforms.aws.writing.marks import delete_tags, ours, set_tags, written
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.platforms.aws.writing.removal import Removals
from reconciler.platforms.aws.writing.write_answer import failed, unread
from reconciler.providers.cloud_answers import CloudError
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from tests.aws.documents import REGION, Object, group
from tests.aws.scripted import DENIED, THROTTLED, Scripted
from tests.aws.test_questions import instance
from tests.aws.writes import bound_by

REF = TargetRef(kind=AUTO_SCALING_GROUP, region=REGION, name="workers")
NAME = f"AutoScalingGroup {REGION}/workers"
A, B = f"{REGION}a", f"{REGION}b"
NO_INSTANCE = AwsError("ValidationError", "No managed instance found for instance ID: i-1", status=400)
AT_MINIMUM = AwsError("ValidationError", "Terminating instance without replacement will violate group's min size constraint.")
GONE = AwsError("ValidationError", "AutoScalingGroup name not found - AutoScalingGroup: workers not found")
LOST = AwsError("Unreachable", "Read timeout", sent=True)
FAULT = AwsError("InternalFailure", "An internal error", status=500, sent=True)
TERMINATE, PROTECT, DESIRE = "TerminateInstanceInAutoScalingGroup", "SetInstanceProtection", "SetDesiredCapacity"
TAG, UNTAG, LAUNCH = "CreateOrUpdateTags", "DeleteTags", "LaunchInstances"


def answered(*groups: Object, **more: Any) -> Scripted:
    return Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [one]} for one in groups], **more)


def reading(item: Object) -> Reading:
    found = read(answered(item), REF)
    assert found is not None
    return found


def desired(number: int, *states: str, **rest: Any) -> Object:
    instances = [instance(state, place) for place, state in enumerate(states, 1)]
    return group(DesiredCapacity=number, Instances=instances, **rest)


def provider(aws: Scripted) -> AwsProvider:
    return AwsProvider(Accounts(lambda region, role: aws))


def wrote(aws: Scripted) -> list[tuple[str, Object]]:
    return [(action, parameters) for action, parameters in aws.told() if not action.startswith("Describe")]


@pytest.mark.parametrize(
    ("error", "write", "not_read"),
    [
        (THROTTLED, WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (AwsError("ScalingActivityInProgressFault", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (AwsError("Unreachable", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (LOST, WriteCode.UNKNOWN, WriteCode.UNAVAILABLE),
        (AwsError("NoClient", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (AwsError("NoCredentials", "x"), WriteCode.UNAVAILABLE, WriteCode.UNAVAILABLE),
        (DENIED, WriteCode.DENIED, WriteCode.DENIED),
        (GONE, WriteCode.NOT_FOUND, WriteCode.NOT_FOUND),
        (AT_MINIMUM, WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (AwsError("ValidationError", "is above max value 3", sent=True), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (AwsError("ValidationError", "is below min value 3", sent=True), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
        (FAULT, WriteCode.UNKNOWN, WriteCode.UNAVAILABLE),
        (AwsError("ValidationError", "another"), WriteCode.REFUSED, WriteCode.UNAVAILABLE),
    ],
)
def test_what_an_answer_means(error: AwsError, write: WriteCode, not_read: WriteCode) -> None:
    """To a write, and to the read before it."""
    assert (failed(error, "x").code, unread(error, "x").code) == (write, not_read)


def test_the_words_of_an_answer() -> None:
    """AWS's own; the code where it has none; what to do about a right that is missing."""
    assert failed(AwsError("Code", ""), "x").message == "x: Code"
    assert failed(DENIED, "x").message == "x: not authorized (`reconciler doctor` lists the missing rights)"
    assert unread(THROTTLED, "x").message == "x could not be read: Throttling: Rate exceeded"


def test_pages() -> None:
    """All of them, each asked for by the token of the one before; the date is that of the oldest."""

    class Dated(Scripted):
        def call(self, service: str, action: str, **parameters: Any) -> Any:
            self.date_seconds += 10
            return super().call(service, action, **parameters)

    for service, limit in (("autoscaling", "MaxRecords"), ("ec2", "MaxResults")):
        aws = Dated(0, Describe=[{"Items": [1], "NextToken": "t"}, {}, {"Items": [2]}])
        aws.answers["Describe"] = [{"Items": [{"a": 1}], "NextToken": "t"}, {"NextToken": "u"}, {"Items": [{"a": 2}]}]
        assert paged(aws, service, "Describe", "Items", 7, X="y") == ([{"a": 1}, {"a": 2}], 10)
        assert aws.told() == [
            ("Describe", {limit: 7, "X": "y"}),
            ("Describe", {limit: 7, "NextToken": "t", "X": "y"}),
            ("Describe", {limit: 7, "NextToken": "u", "X": "y"}),
        ]


@pytest.mark.parametrize(("text", "seconds"), [("Fri, 15 Jan 2027 08:00:00 GMT", 1_800_000_000), ("", 0), ("soon", 0)])
def test_the_clock_of_the_service(text: str, seconds: int) -> None:
    """As its answers have it; none where they have none."""
    assert _seconds(text) == seconds


def test_tags() -> None:
    """On the group, never on its instances; AWS takes 256 characters."""
    aws = Scripted()
    set_tags(aws, "workers", {"b": "x" * 300, "a": "y"})
    delete_tags(aws, "workers", ("a",))
    place = {"ResourceId": "workers", "ResourceType": "auto-scaling-group"}
    assert aws.told() == [
        (
            TAG,
            {
                "Tags": [
                    {**place, "Key": "a", "Value": "y", "PropagateAtLaunch": False},
                    {**place, "Key": "b", "Value": "x" * 256, "PropagateAtLaunch": False},
                ]
            },
        ),
        (UNTAG, {"Tags": [{**place, "Key": "a", "PropagateAtLaunch": False}]}),
    ]
    assert (ours({"a": "", "reconciler.dev/desired": "", "reconciler.dev/policy": ""}), written(3, 7)) == (
        ("reconciler.dev/policy", "reconciler.dev/desired"),
        "3.7",
    )


@pytest.mark.parametrize(("length", "taken"), [(256, True), (257, False)])
def test_words_of_a_hold(length: int, *, taken: bool) -> None:
    """As many as a tag takes."""
    aws = answered(group())
    if taken:
        assert set_hold(aws, REF, "x" * length) == ""
        assert [action for action, _ in wrote(aws)] == [TAG]
    else:
        with pytest.raises(CloudError, match=r"a tag may have 256 characters, and this reason with the end of the hold has 257"):
            set_hold(aws, REF, "x" * length)
        assert aws.asked == []


@pytest.mark.parametrize(
    ("before", "text", "action"), [("", "a", TAG), ("a", "a", ""), ("b", "a", TAG), ("a", "", UNTAG), ("", "", "")]
)
def test_a_hold_is_written_where_it_changes(before: str, text: str, action: str) -> None:
    """And taken off where there is one; what was there is told."""
    aws = answered(group(tags={"other": "x", **({"reconciler.dev/hold": before} if before else {})}))
    assert set_hold(aws, REF, text) == before
    assert [name for name, _ in wrote(aws)] == ([action] if action else [])


def test_a_hold_on_a_group_without_tags() -> None:
    """AWS may leave the list out."""
    bare = group()
    del bare["Tags"]
    assert set_hold(answered(bare), REF, "a") == ""


@pytest.mark.parametrize(
    ("action", "text", "error", "way"),
    [
        ("DescribeAutoScalingGroups", "a", DENIED, "autoscaling:DescribeAutoScalingGroups"),
        (TAG, "a", DENIED, "autoscaling:CreateOrUpdateTags"),
        (UNTAG, "", DENIED, "autoscaling:DeleteTags"),
        (TAG, "a", THROTTLED, ""),
    ],
)
def test_a_hold_that_is_refused(action: str, text: str, error: AwsError, way: str) -> None:
    """Which right is missing is said; any other cause is AWS's own."""
    aws = answered(
        group(tags={"reconciler.dev/hold": "b"}), **({action: [error]} if action != "DescribeAutoScalingGroups" else {})
    )
    if action == "DescribeAutoScalingGroups":
        aws.answers[action] = [error]
    with pytest.raises(CloudError) as raised:
        set_hold(aws, REF, text)
    assert (f"Allow {way}, or hold it in the policy" in str(raised.value)) is bool(way)
    with pytest.raises(CloudError, match="does not exist"):
        set_hold(Scripted(), REF, "a")


def clock() -> Any:
    seconds = [0.0]

    def now() -> float:
        return seconds[0]

    now.seconds = seconds  # type: ignore[attr-defined]
    return now


def removals(aws: Scripted, now: Any = None) -> Removals:
    return Removals(lambda _: aws, lambda target: read(aws, target), now or clock())


def step(found: Removals, *names: str, floor: int = 0) -> list[TargetRemoval]:
    return list(found.step(REF, tuple(LeavingMachine(machine=name, node=f"n-{name}") for name in names), floor))


def finished(replicas: int) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.FINISHED, replicas=replicas)


def waits(code: WriteCode, message: str, *, untouched: bool = False) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.DRAINING, code=code, message=message, untouched=untouched)


def given_up(code: WriteCode, message: str, *, reopen: bool = True) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.FAILED, code=code, message=message, reopen=reopen)


UNSEEN = "instance i-1 was asked to end, but no read shows it ending yet"


def test_an_instance_ends_and_the_size_falls_with_it() -> None:
    """In one call of AWS, after which the group alone is looked at again."""
    aws = answered(desired(2, "InService", "InService"), desired(1, "Terminating", "InService"))
    assert step(removals(aws), "i-1") == [finished(1)]
    assert wrote(aws) == [(TERMINATE, {"InstanceId": "i-1", "ShouldDecrementDesiredCapacity": True})]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AT_MINIMUM, given_up(WriteCode.REFUSED, f"{NAME}, instance i-1: {AT_MINIMUM.message}")),
        (THROTTLED, waits(WriteCode.UNAVAILABLE, f"{NAME}, instance i-1: Rate exceeded", untouched=True)),
        (FAULT, waits(WriteCode.UNKNOWN, f"{NAME}, instance i-1: An internal error")),
        (NO_INSTANCE, waits(WriteCode.UNAVAILABLE, UNSEEN)),
        (
            DENIED,
            given_up(WriteCode.DENIED, f"{NAME}, instance i-1: not authorized (`reconciler doctor` lists the missing rights)"),
        ),
    ],
)
def test_an_end_that_is_refused(error: AwsError, expected: TargetRemoval) -> None:
    """Looked at again where nobody knows, asked again where nothing was done, given up where it may not be."""
    aws = answered(desired(2, "InService", "InService"), **{TERMINATE: [error]})
    assert step(removals(aws), "i-1") == [expected]
    reads = [action for action, _ in aws.told()].count("DescribeAutoScalingGroups")
    assert reads == (2 if error in (FAULT, NO_INSTANCE) else 1)


def test_a_group_that_goes_while_an_instance_ends() -> None:
    """What was read before is all that is known of it: the instance is not seen going."""
    aws = answered(desired(2, "InService", "InService"))
    aws.answers["DescribeAutoScalingGroups"] = [*aws.answers["DescribeAutoScalingGroups"], {}]  # type: ignore[misc]
    assert step(removals(aws), "i-1") == [waits(WriteCode.UNAVAILABLE, UNSEEN)]


def test_asked_again_after_five_minutes() -> None:
    """What is read may be older than what was asked: until then the instance is not asked for again."""
    aws, now = answered(desired(2, "InService", "InService")), clock()
    found = removals(aws, now)
    for seconds, ends in ((0, 1), (299, 0), (300, 1), (599, 0), (600, 1)):
        now.seconds[0] = seconds
        assert step(found, "i-1") == [waits(WriteCode.UNAVAILABLE, UNSEEN)]
        assert len(wrote(aws)) == ends


def test_one_that_was_seen_going_is_asked_for_anew() -> None:
    """Should AWS make another of that name, it is another removal."""
    aws = answered(desired(2, "InService", "InService"), desired(1, "Terminating"), desired(2, "InService", "InService"))
    found = removals(aws)
    assert step(found, "i-1") == [finished(1)]
    assert step(found, "i-1") == [waits(WriteCode.UNAVAILABLE, UNSEEN)]
    assert len(wrote(aws)) == 2


@pytest.mark.parametrize(
    ("floor", "least", "gone"), [(0, 0, 3), (1, 0, 2), (0, 1, 2), (2, 1, 1), (1, 2, 1), (3, 0, 0), (0, 3, 0)]
)
def test_the_lowest_size(floor: int, least: int, gone: int) -> None:
    """The plan's floor or the group's minimum, whichever is higher, counted for all of them together."""
    aws = answered(desired(3, "InService", "InService", "InService", MinSize=least))
    found = step(removals(aws), "i-1", "i-2", "i-3", floor=floor)
    lowest = max(floor, least)
    message = f"{NAME} has desired capacity {lowest} and must keep {lowest}"
    assert found[gone:] == [given_up(WriteCode.REFUSED, message)] * (3 - gone)
    assert [parameters["InstanceId"] for _, parameters in wrote(aws)] == [f"i-{number}" for number in range(1, gone + 1)]


def test_an_end_that_failed_does_not_lower_the_floor_of_the_next() -> None:
    """Only what was done is counted."""
    aws = answered(desired(2, "InService", "InService", MinSize=1), **{TERMINATE: [THROTTLED, {}]})
    assert [one.code for one in step(removals(aws), "i-1", "i-2")] == [WriteCode.UNAVAILABLE] * 2
    assert len(wrote(aws)) == 2


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("Terminated", finished(1)),
        ("Standby", given_up(WriteCode.REFUSED, f"instance i-1 of {NAME} is Standby, not InService")),
        ("Pending", given_up(WriteCode.REFUSED, f"instance i-1 of {NAME} is Pending, not InService")),
    ],
)
def test_an_instance_that_is_elsewhere(state: str, expected: TargetRemoval) -> None:
    """Going already, or taken out by a person: nothing is written, and that is said also where the size may not fall."""
    aws = answered(desired(1, state, "InService", MinSize=1))
    assert (step(removals(aws), "i-1"), wrote(aws)) == ([expected], [])


def test_a_group_that_cannot_be_read() -> None:
    """Nothing of an instance is touched that was not asked to go before; of a group that is gone nothing is opened again."""
    aws = answered(desired(2, "InService", "InService"))
    found = removals(aws)
    step(found, "i-1")
    aws.answers["DescribeAutoScalingGroups"] = [THROTTLED]
    told = f"{NAME} could not be read: Throttling: Rate exceeded"
    assert step(found, "i-1", "i-2") == [
        waits(WriteCode.UNAVAILABLE, told), waits(WriteCode.UNAVAILABLE, told, untouched=True)
    ]  # fmt: skip
    aws.answers["DescribeAutoScalingGroups"] = [{"AutoScalingGroups": [{"AutoScalingGroupName": 7}]}]
    (strange,) = step(found, "i-2")
    assert (strange.state, strange.code, strange.untouched) == (RemovalState.DRAINING, WriteCode.REFUSED, True)
    assert f"{NAME} cannot be understood: " in strange.message
    aws.answers["DescribeAutoScalingGroups"] = [{}]
    assert step(found, "i-2") == [given_up(WriteCode.NOT_FOUND, f"{NAME} does not exist", reopen=False)]


@pytest.mark.parametrize(
    ("item", "name", "expected"),
    [
        (desired(2, "InService", "InService", MinSize=1), "i-1", WriteResult()),
        (
            desired(1, "InService", MinSize=1), "i-1",
            WriteResult(code=WriteCode.REFUSED, message=f"{NAME} is at its MinSize 1"),
        ),
        (desired(1, "InService"), "i-9", WriteResult(code=WriteCode.NOT_FOUND, message=f"{NAME} has no instance i-9")),
        (
            desired(2, "Pending", "InService"), "i-1",
            WriteResult(code=WriteCode.REFUSED, message=f"instance i-1 of {NAME} is Pending, not InService"),
        ),
        (
            desired(1, "Pending", MinSize=1), "i-1",
            WriteResult(code=WriteCode.REFUSED, message=f"instance i-1 of {NAME} is Pending, not InService"),
        ),
    ],
)  # fmt: skip
def test_whether_it_may_begin(item: Object, name: str, expected: WriteResult) -> None:
    """As far as can be told before the node is empty."""
    aws = answered(item)
    assert removals(aws).may_begin(REF, name, bound_by(aws, REF)) == expected
    assert wrote(aws) == []


def test_what_cannot_be_read_is_not_begun() -> None:
    """Nor what is gone, or cannot be understood."""
    bound = bound_by(answered(group()), REF)
    cases = (
        ([THROTTLED], WriteCode.UNAVAILABLE),
        ([{}], WriteCode.NOT_FOUND),
        ([{"AutoScalingGroups": [{}]}], WriteCode.REFUSED),
    )
    for answers, code in cases:
        aws = Scripted(DescribeAutoScalingGroups=list(answers))
        assert removals(aws).may_begin(REF, "i-1", bound).code == code
        aws = Scripted(DescribeAutoScalingGroups=list(answers))
        assert provider(aws).resize(REF, 3, bound).code == code
        aws = Scripted(DescribeAutoScalingGroups=list(answers))
        if code != WriteCode.REFUSED:
            assert provider(aws).adopt(REF, 3, bound).code == code


def cancelled(aws: Scripted, item: Object, machines: tuple[str, ...], number: int) -> WriteResult:
    return Cancellations(aws).cancel(reading(item), machines, number)


def test_replaced_where_the_size_stays() -> None:
    """The instance that never became a node ends, and AWS makes another in its place."""
    item = desired(2, "InService", "InService")
    aws = answered(item)
    assert cancelled(aws, item, ("i-1", "i-9"), 2) == WriteResult()
    assert aws.told() == [(TERMINATE, {"InstanceId": "i-1", "ShouldDecrementDesiredCapacity": False})]


@pytest.mark.parametrize("state", ["Terminating:Wait", "Terminated"])
def test_one_that_goes_already(state: str) -> None:
    """It is not asked again."""
    item = desired(2, state, "InService")
    aws = answered(desired(1, state, "InService"))
    assert cancelled(aws, item, ("i-1",), 1) == WriteResult()
    assert wrote(aws) == []


@pytest.mark.parametrize(("error", "code"), [(NO_INSTANCE, ""), (THROTTLED, WriteCode.UNAVAILABLE), (DENIED, WriteCode.DENIED)])
def test_one_that_cannot_be_ended(error: AwsError, code: str) -> None:
    """Gone is as good; anything else ends it there, before the size is lowered."""
    item = desired(3, "InService", "InService")
    aws = answered(desired(1, "InService"), **{TERMINATE: [error]})
    assert cancelled(aws, item, ("i-1",), 1).code == code
    assert [action for action, _ in wrote(aws)] == [TERMINATE]


SHIELD = "reconciler.dev/shield"


def test_lowered_under_protection() -> None:
    """Every instance in service is protected while the size is set and until AWS has acted, and the word of it lies there."""
    item = desired(5, "InService", "Pending", "InService")
    aws = answered(item)
    assert cancelled(aws, item, (), 3) == WriteResult()
    names = {"AutoScalingGroupName": "workers", "InstanceIds": ["i-1", "i-3"]}
    told = wrote(aws)
    assert [action for action, _ in told] == [TAG, PROTECT, DESIRE]
    assert told[0][1]["Tags"][0]["Key"] == SHIELD
    assert told[0][1]["Tags"][0]["Value"] == "1800000000"
    assert told[1][1] == {**names, "ProtectedFromScaleIn": True}
    assert told[2][1] == {"AutoScalingGroupName": "workers", "DesiredCapacity": 3, "HonorCooldown": False}


@pytest.mark.parametrize(
    ("now", "number", "code", "actions"),
    [
        ({}, 3, WriteCode.NOT_FOUND, []),
        (desired(3, "InService"), 3, "", []),
        (desired(2, "InService"), 3, "", []),
        (desired(5, "InService", "InService", "InService", "Pending"), 3, WriteCode.STALE, []),
        (desired(5, "Pending", "Pending"), 3, "", [DESIRE]),
        (desired(5), 0, "", [DESIRE]),
    ],
)
def test_what_is_there_when_it_is_lowered(now: Object, number: int, code: str, actions: list[str]) -> None:
    """Read for this write: never below what is there; what is as low already is not written."""
    aws = answered(now) if now else Scripted()
    result = cancelled(aws, desired(5), (), number)
    assert (result.code, [action for action, _ in wrote(aws)]) == (code, actions)
    if code == WriteCode.STALE:
        assert result.message == f"{NAME} now has 4 instances: desired capacity 3 would end a running one"


@pytest.mark.parametrize(("protected", "code"), [((True, False), WriteCode.REFUSED), ((True, True), ""), ((False, False), "")])
def test_protection_of_somebody_else(protected: tuple[bool, ...], code: str) -> None:
    """It could not be told from ours, unless all instances bear it and none needs ours."""
    item = desired(5, "InService", "InService")
    for one, told in zip(item["Instances"], protected, strict=True):
        one["ProtectedFromScaleIn"] = told
    aws = answered(item)
    assert cancelled(aws, item, (), 3).code == code
    assert [action for action, _ in wrote(aws)].count(PROTECT) == (not any(protected))


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ({}, WriteCode.NOT_FOUND),
        (desired(4, "InService"), WriteCode.STALE),
        (desired(5, "InService", "Pending"), WriteCode.STALE),
    ],
)
def test_what_happens_while_it_is_protected(last: Object, code: str) -> None:
    """Somebody writes, or an instance comes: the size stays, and the protection goes again."""
    item = desired(5, "InService")
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [last]} if last else {}])
    assert cancelled(aws, item, (), 1).code == code
    assert [action for action, _ in wrote(aws)] == [TAG, PROTECT, PROTECT, UNTAG]


def many(count: int) -> Object:
    return desired(count + 1, *["InService"] * count)


def test_fifty_at_a_time() -> None:
    """AWS takes no more in one call."""
    aws = answered(many(101))
    assert cancelled(aws, many(101), (), 101).done
    sizes = [len(parameters["InstanceIds"]) for action, parameters in wrote(aws) if action == PROTECT]
    assert sizes == [50, 50, 1]


NOT_IN_SERVICE = AwsError("ValidationError", "The instance i-1 is not in InService state")


def test_one_that_leaves_while_it_is_protected() -> None:
    """The whole call is refused for it: the others are freed one by one; protecting is not tried so."""
    names = ("i-1", "i-2")
    aws = answered(**{PROTECT: [NOT_IN_SERVICE, NOT_IN_SERVICE, {}]})
    Cancellations(aws).unshield(REF, names)
    sets = [
        (parameters["InstanceIds"], parameters["ProtectedFromScaleIn"]) for action, parameters in wrote(aws) if action == PROTECT
    ]
    assert sets == [(["i-1", "i-2"], False), (["i-1"], False), (["i-2"], False)]
    item = many(2)
    with pytest.raises(AwsError):
        cancelled(answered(item, **{PROTECT: [NOT_IN_SERVICE]}), item, (), 2)
    for place in (0, 1):
        answers: list[Any] = [NOT_IN_SERVICE, {}]
        answers[place] = DENIED
        with pytest.raises(AwsError, match="not authorized"):
            Cancellations(answered(**{PROTECT: answers})).unshield(REF, names)


@pytest.mark.parametrize(("error", "actions"), [(LOST, []), (THROTTLED, [PROTECT, UNTAG])])
def test_a_size_that_may_be_set_stays_protected(error: AwsError, actions: list[str]) -> None:
    """The answer was lost: nobody knows, so that the protection stays. Turned away: it goes at once."""
    item = desired(5, "InService")
    aws = answered(item, **{DESIRE: [error]})
    with pytest.raises(AwsError):
        cancelled(aws, item, (), 3)
    assert [action for action, _ in wrote(aws)] == [TAG, PROTECT, DESIRE, *actions]


@pytest.mark.parametrize(("since", "there", "freed"), [(61, 1, True), (60, 1, False), (61, 3, False)])
def test_when_protection_is_taken_off(since: int, there: int, freed: bool) -> None:
    """A minute after it began, since reads lag, and where no more instances are there than are wanted."""
    item = desired(2, *["InService"] * there, tags={SHIELD: str(1_800_000_000 - since)})
    aws = Scripted()
    Cancellations(aws).recover(reading(item))
    assert [action for action, _ in aws.asked] == ([UNTAG] if freed else [])


@pytest.mark.parametrize(("tags", "freed"), [({}, None), ({SHIELD: "1"}, ["i-1"])])
def test_what_a_process_that_ended_left(tags: dict[str, str], freed: list[str] | None) -> None:
    """Its protection is taken off what is in service, where its word is there."""
    item = desired(3, "InService", "Pending", "InService", tags=tags)
    item["Instances"][0]["ProtectedFromScaleIn"] = item["Instances"][1]["ProtectedFromScaleIn"] = True
    aws = Scripted()
    Cancellations(aws).recover(reading(item))
    expected = [PROTECT, UNTAG] if freed is not None else []
    assert [action for action, _ in aws.asked] == expected
    assert freed is None or aws.asked[0][1]["InstanceIds"] == freed
