"""Policies that name groups of several regions: each is asked as itself, and what one cannot tell is not told for the other."""

from typing import Any

import msgspec
import pytest

from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.kube.watching.stream_state import polled_state
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asked_once import ask_once, belonging
from reconciler.platforms.aws.writing.call_rate import BURST, Metered
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from tests.aws.documents import REGION, group
from tests.aws.policies import policy_set
from tests.aws.scripted import DENIED, THROTTLED, Scripted
from tests.aws.test_asking import EMPTY, NAMED, POLICY, Clock, named
from tests.aws.test_questions import ACTIVITIES, GROUPS, POLICIES, SCHEDULES, instance, listing

FAR = "us-east-1"
BOTH = POLICY + f"    - {{name: far, aws: {{region: {FAR}, tags: {{team: x}}}}}}\n"
NEAR_POLICY = {"AutoScalingGroupName": "near", "PolicyName": "p"}


class Places:
    """One account, by region; a poll of it on a clock that the test moves."""

    def __init__(self, near: Any = None, far: Any = None) -> None:
        self.near = Scripted(DescribeAutoScalingGroups=near or listing(group("near")))
        self.far = Scripted(DescribeAutoScalingGroups=far or listing(group("far", region=FAR)))
        self.accounts = Accounts(lambda region, role: {REGION: self.near, FAR: self.far}[region])
        self.clock = Clock()
        self.policy = policy_set(BOTH)
        self.poll = AwsPoll(self.accounts, lambda: self.policy, self.clock)

    def turn(self, seconds: float = 10) -> bool:
        self.clock.seconds += seconds
        return self.poll.ask()

    def once(self, **question: Any) -> CloudAnswer:
        return ask_once(self.accounts, CloudQuestion(policies=(self.policy,), **question), "")


def kinds(answer: CloudAnswer) -> dict[str, int]:
    """How many items there are of each kind: all of them lists, so that an empty one counts as read."""
    assert {one.is_list for one in answer.documents} == {True}
    return {one.kind: len(one.items) for one in answer.documents}


@pytest.mark.parametrize("denied", ["near", "far"])
def test_a_kind_that_one_region_could_not_tell(denied: str) -> None:
    """It counts as not read at all: nobody may conclude that nothing else sizes a group there."""
    places = Places()
    getattr(places, denied).answers[POLICIES] = [DENIED]
    answer = places.once()
    assert kinds(answer) == {
        "AutoScalingGroup": 2,
        "LaunchTemplateVersion": 0,
        "ManagedNodeGroup": 0,
        "CapacityReservation": 0,
        "InstanceRefresh": 0,
        "ScheduledAction": 0,
    }
    assert answer.unread == (f"{REGION if denied == 'near' else FAR}: DescribePolicies: not authorized",)


@pytest.mark.parametrize("place", ["near", "far"])
def test_kinds_that_only_some_groups_have(place: str) -> None:
    """Activities, types and configurations are asked of groups that need them: those of one region are all there are."""
    places = Places()
    one = getattr(places, place)
    one.answers[GROUPS] = listing(group(place, LaunchConfigurationName="old", DesiredCapacity=1, Instances=[]))
    one.answers["DescribeScalingActivities"] = [{"Activities": [{"ActivityId": "a", "AutoScalingGroupName": place}]}]
    one.answers["DescribeLaunchConfigurations"] = [
        {"LaunchConfigurations": [{"LaunchConfigurationName": "old", "InstanceType": "m5.large"}]}
    ]
    one.answers["DescribeInstanceTypes"] = [{"InstanceTypes": [{"InstanceType": "m5.large"}]}]
    found = kinds(places.once())
    assert (found["ScalingActivity"], found["LaunchConfiguration"], found["InstanceType"]) == (1, 1, 1)
    assert (found["AutoScalingGroup"], found["ScalingPolicy"]) == (2, 0)


def test_a_region_that_two_policies_name_alike_is_asked_once() -> None:
    """And so are those that nodes alone speak for, each with the groups of its own nodes."""
    places = Places()
    policy = policy_set(POLICY)
    ask_once(places.accounts, CloudQuestion(policies=(policy, policy)), "")
    assert places.near.actions() == [GROUPS, POLICIES, SCHEDULES, ACTIVITIES, "DescribeCapacityReservations"]
    assert places.far.actions() == []


def test_nodes_of_several_regions() -> None:
    """The region of an instance stands in its zone, also of a local one; without a zone the process' own region is asked."""
    near = listing(group("near", Instances=[instance()]), group("other", Instances=[instance(number=2)]))
    far = listing(group("far", region=FAR, Instances=[instance(number=3)]))
    places = Places(near, far)
    nodes = (f"aws:///{FAR}-lax-1a/i-3", "aws:///i-1", "aws:///i-x/i-9", "gce://p/z/i-2")
    answer = ask_once(places.accounts, CloudQuestion(own=True, provider_ids=nodes), REGION)
    assert [one.decode() for one in _names(answer)] == ['"near"', '"far"']
    assert ask_once(places.accounts, CloudQuestion(own=False, provider_ids=nodes), REGION) == CloudAnswer()
    places.far.told()
    ask_once(places.accounts, CloudQuestion(own=True, provider_ids=("aws:///i-1",)), REGION)
    assert places.far.told() == []


def _names(answer: CloudAnswer) -> list[bytes]:
    (groups,) = [one for one in answer.documents if one.kind == "AutoScalingGroup"]
    return [msgspec.json.encode(msgspec.json.decode(bytes(item))["AutoScalingGroupName"]) for item in groups.items]


def test_one_region_that_cannot_be_read_leaves_the_others() -> None:
    """Of those that only nodes speak for: it is said."""
    places = Places(listing(group("near", Instances=[instance()])), [THROTTLED])
    question = CloudQuestion(own=True, provider_ids=(f"aws:///{REGION}a/i-1", f"aws:///{FAR}a/i-2"))
    answer = ask_once(places.accounts, question, "")
    assert _names(answer) == [b'"near"']
    said = "Rate exceeded: AWS throttles this account and region. The next attempt is in 5 s"
    assert answer.unread == (f"Auto Scaling groups of {FAR} (those of this cluster's nodes): Throttling: {said}",)


@pytest.mark.parametrize(
    ("tags", "others", "found"),
    [
        ({"k8s.io/cluster-autoscaler/prod": "owned"}, {"kubernetes.io/cluster/prod": "shared"}, True),
        ({"kubernetes.io/cluster/prod": ""}, {"eks:cluster-name": "prod"}, True),
        ({"eks:cluster-name": "prod"}, {"eks:cluster-name": "prod"}, True),
        ({"eks:cluster-name": "prod"}, {"eks:cluster-name": "stage"}, False),
        ({"eks:cluster-name": ""}, {"eks:cluster-name": ""}, False),
        ({"k8s.io/cluster-autoscaler/enabled": "true"}, {"k8s.io/cluster-autoscaler/enabled": "true"}, False),
        ({"k8s.io/cluster-autoscaler/a/b": "x"}, {"k8s.io/cluster-autoscaler/a/b": "x"}, False),
        ({}, {}, False),
    ],
)
def test_which_empty_groups_belong_to_the_cluster(tags: dict[str, str], others: dict[str, str], *, found: bool) -> None:
    """Those that one tag of a cluster joins with a group that has a node here."""
    mine = group("mine", tags=tags, Instances=[instance()])
    bare = group("bare")
    del bare["Tags"], bare["Instances"]
    aws = Scripted(DescribeAutoScalingGroups=listing(mine, group("empty", tags=others), bare))
    assert belonging(aws, [f"aws:///{REGION}a/i-1"]) == (("empty", "mine") if found else ("mine",))


def test_news_of_one_region_are_news() -> None:
    """Also where the other, which is asked after it, has none; a failure is news once, and so is its end."""
    places = Places()
    assert places.turn()
    assert not places.turn()
    places.near.answers[GROUPS] = listing(group("near", MaxSize=7))
    assert places.turn(90)
    places.far.answers[GROUPS] = [AwsError("InternalFailure", "an internal error", status=500)]
    assert [places.turn(90), places.turn(), places.turn()] == [True, False, False]
    places.far.answers[GROUPS] = listing(group("far", region=FAR))
    assert [places.turn(), places.turn()] == [True, False]


def test_a_policy_that_names_one_region_less() -> None:
    """What bears no mark of ours there is forgotten at once, without a call; the other is not asked anew."""
    places = Places()
    places.turn()
    places.near.told(), places.far.told()
    places.policy = policy_set(POLICY)
    assert places.turn()
    assert (places.near.told(), places.far.told()) == ([], [])
    assert [(one.file, one.is_list) for one in places.poll.documents()] == [(f"aws {REGION}", True)] * 7
    assert len(places.poll.states()) == 1
    assert not places.turn()


def test_what_is_told_of_each_region() -> None:
    """How old its answer is, how many groups there are, and what keeps it from answering; calls are counted together."""
    places = Places(far=[AwsError("InternalFailure", "an internal error", status=500)])
    places.turn()
    places.turn(5)
    assert places.poll.states() == (
        polled_state(f"Auto Scaling groups of {REGION}", 5.0, objects=1, asks=4, failure=""),
        polled_state(f"Auto Scaling groups of {FAR}", None, objects=0, asks=4, failure="InternalFailure: an internal error"),
    )
    assert not places.poll._thread.woken, "the policy is that of the last round"
    places.near.answers[SCHEDULES] = [DENIED]
    places.turn(1800)
    assert places.poll.problems == (f"{REGION}: DescribeScheduledActions: not authorized",)


def test_a_region_is_told_with_the_role_that_asks() -> None:
    """Where it is another than the process itself."""
    places = Places()
    places.policy = policy_set(NAMED)
    places.turn()
    role = "arn:aws:iam::123456789012:role/other"
    told = [f"Auto Scaling groups of {REGION}", f"Auto Scaling groups of {REGION} as {role}"]
    assert [state.collection for state in places.poll.states()] == told


def test_a_group_that_is_known_by_the_policy() -> None:
    """Its nodes do not bring it a second time; one of that name in another region is another group."""
    near = listing(group("near", Instances=[instance()]), group("beside", Instances=[instance(number=3)]))
    places = Places(near, listing(group("near", region=FAR, Instances=[instance(number=2)])))
    places.policy = policy_set(named("near"))
    answer = places.once(own=True, provider_ids=(f"aws:///{REGION}a/i-1", f"aws:///{REGION}a/i-3", f"aws:///{FAR}a/i-2"))
    assert _names(answer) == [b'"near"', b'"beside"', b'"near"']


def test_a_write_is_news_of_its_own_region() -> None:
    """A group of that name in another region is another group."""
    places = Places(listing(group("same")), listing(group("same", region=FAR)))
    assert places.poll._pause_seconds() == 10
    places.turn()
    assert places.poll._pause_seconds() == 30
    places.near.told(), places.far.told()
    places.accounts.wrote(FAR, "same")
    assert places.poll._thread.woken
    assert places.poll._pause_seconds() == 10
    places.turn()
    assert (places.near.told(), places.far.told()) == ([], [(GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["same"]})])
    # No read shows yet whether an instance is missing.
    assert places.poll._pause_seconds() == 10


def test_somebody_is_met_twice() -> None:
    """What is known of him is asked again once: while he is known, another meeting says nothing new."""
    item = group(
        "near", tags={"eks:cluster-name": "prod", "eks:nodegroup-name": "blue"}, DesiredCapacity=1, Instances=[instance()]
    )
    places = Places(listing(item))
    places.near.answers["DescribeNodegroup"] = [{"nodegroup": {"nodegroupName": "blue", "status": "UPDATING"}}]
    places.turn()
    places.near.told()
    for asked in ([GROUPS, POLICIES, SCHEDULES, "DescribeInstanceRefreshes", "DescribeNodegroup"], [GROUPS], [GROUPS]):
        places.accounts.wrote(REGION, "near", others=True)
        places.turn()
        assert places.near.actions() == asked


@pytest.mark.parametrize("kind", ["ScalingPolicies", "ScheduledUpdateGroupActions"])
def test_somebody_who_is_known_already(kind: str) -> None:
    """A policy or a schedule of the group itself; one of another group says nothing of it."""
    for name, asked in (("near", [GROUPS]), ("second", [GROUPS, POLICIES, SCHEDULES, "DescribeInstanceRefreshes"])):
        places = Places(listing(group("near"), group("second")))
        action = POLICIES if kind == "ScalingPolicies" else SCHEDULES
        places.near.answers[action] = [{kind: [{**NEAR_POLICY, "ScheduledActionName": "s"}]}]
        places.turn()
        places.near.told()
        places.accounts.wrote(REGION, name, others=True)
        places.turn()
        assert places.near.actions() == asked
    places.accounts.wrote(REGION, "unknown", others=True)
    places.turn()
    assert places.near.actions() == [GROUPS]


def test_groups_that_left_of_several_regions() -> None:
    """Each is looked for in its own; what is no group of AWS, or is named still, is none of them."""
    mark = {POLICY_MARK: "prod"}
    places = Places(listing(group("a"), group("b", tags=mark)), listing(group("b", tags=mark, region=FAR)))
    targets = [
        f"AutoScalingGroup {REGION}/a",
        f"AutoScalingGroup {FAR}/b",
        "MachineDeployment prod/c",
        f"AutoScalingGroup {FAR}/gone",
    ]
    places.policy = policy_set(named("a"))
    places.poll = AwsPoll(places.accounts, lambda: places.policy, places.clock, lambda: targets)
    assert places.turn()
    assert places.near.told()[0] == (GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["a"]})
    assert places.far.told()[0] == (GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["b", "gone"]})
    assert [state.collection for state in places.poll.states()] == [f"Auto Scaling groups of {REGION}"]
    assert not places.turn()
    assert len(places.poll.documents()[0].items) == 1, "one that is named needs no mark"
    places.policy = policy_set(EMPTY)
    places.turn()
    found = [one for one in places.poll.documents() if one.kind == "AutoScalingGroup"]
    assert [(one.file, len(one.items)) for one in found] == [(f"aws {FAR}", 1)]


def test_one_that_left_and_may_not_be_read_any_more() -> None:
    """It leaves the view, which is news; nothing waits for it."""
    mark = {POLICY_MARK: "prod"}
    places = Places(far=listing(group("far", tags=mark, region=FAR)))
    places.turn()
    places.policy = policy_set(POLICY)
    assert places.turn()
    assert {one.file for one in places.poll.documents()} == {f"aws {REGION}", f"aws {FAR}"}
    places.far.answers[GROUPS] = [DENIED]
    assert [places.turn(90), places.turn(90)] == [True, False]
    assert {one.file for one in places.poll.documents()} == {f"aws {REGION}"}


def test_what_was_sized_before_is_not_known_yet() -> None:
    """Whoever waits hears of every attempt; AWS is not asked meanwhile."""
    places = Places()

    def remembered() -> list[str]:
        raise StateUnavailableError("the API server is away")

    places.poll = AwsPoll(places.accounts, lambda: places.policy, places.clock, remembered)
    for why in ("", "the API server is away"):
        assert places.poll.states() == (
            polled_state("Auto Scaling groups that were sized before", None, objects=0, asks=0, failure=why),
        )
        assert places.turn()
    assert places.near.asked == []


def test_a_token_that_is_half_there() -> None:
    """Five come in a second: the caller waits for the rest of one, a tenth of a second here."""
    clock = Clock()
    metered = Metered(Scripted(), monotonic=clock, sleep=clock.sleep)
    for _ in range(BURST):
        metered.call("autoscaling", GROUPS)
    clock.seconds += 0.1
    metered.call("autoscaling", GROUPS)
    assert clock.seconds == pytest.approx(0.2)


def test_activities_that_aws_says_nothing_of() -> None:
    """Of many groups that miss instances: the list is empty, not missing."""
    places = Places(listing(*(group(f"g{number}", DesiredCapacity=1) for number in range(11))))
    places.turn()
    assert [len(one.items) for one in places.poll.documents() if one.kind == "ScalingActivity"] == [0]


@pytest.mark.parametrize("action", [POLICIES, SCHEDULES, "DescribeLaunchTemplateVersions"])
def test_a_first_round_that_breaks_off(action: str) -> None:
    """Groups were listed, what stands around them was not: there is no view yet, and there is one after the next round."""
    places = Places(listing(group("near", LaunchTemplate={"LaunchTemplateId": "lt-1"})))
    places.near.answers[action] = [AwsError("InternalFailure", "an internal error", status=500), {}]
    assert places.turn()
    assert places.poll.states()[0].doubt(120) == f"Auto Scaling groups of {REGION}: waiting (InternalFailure: an internal error)"
    assert {one.file for one in places.poll.documents()} == {f"aws {FAR}"}
    assert places.turn()
    assert [state.doubt(120) for state in places.poll.states()] == ["", ""]
    assert {one.file for one in places.poll.documents()} == {f"aws {REGION}", f"aws {FAR}"}
