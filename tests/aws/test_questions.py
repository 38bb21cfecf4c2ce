"""What AWS is asked word for word, and after how many seconds again: limits of calls are those of AWS, the rates are promised."""

from typing import Any

import pytest

from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.platforms.aws.writing.asking import Region, misses, moves, picks
from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.fresh import read, seen_again
from reconciler.platforms.aws.writing.refreshes import Refreshes
from reconciler.platforms.aws.writing.wanted_groups import Wanted
from tests.aws.documents import REGION, Object, group, template_version
from tests.aws.scripted import DENIED, THROTTLED, Scripted
from tests.aws.writes import ref, workers

PICK = {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}
EKS_TAGS = {"eks:cluster-name": "prod", "eks:nodegroup-name": "blue"}
GROUPS, POLICIES, SCHEDULES = "DescribeAutoScalingGroups", "DescribePolicies", "DescribeScheduledActions"
TEMPLATES, TYPES, ACTIVITIES = "DescribeLaunchTemplateVersions", "DescribeInstanceTypes", "DescribeScalingActivities"
RESERVATIONS = "DescribeCapacityReservations"
BY_TAG = Wanted(region=REGION, tags=((("a", "x"), ("b", "")),))


def listing(*groups: Object) -> Any:
    """Groups as AWS lists them: by name, and all of them for a filter."""
    by_name = {item["AutoScalingGroupName"]: item for item in groups}

    def answer(AutoScalingGroupNames: list[str] | None = None, **_: Any) -> Object:  # noqa: N803 - AWS's word
        names = list(by_name) if AutoScalingGroupNames is None else AutoScalingGroupNames
        return {"AutoScalingGroups": [by_name[name] for name in names if name in by_name]}

    return answer


def instance(state: str = "InService", number: int = 1, kind: str = "m5.large") -> Object:
    return {
        "InstanceId": f"i-{number}", "LifecycleState": state, "AvailabilityZone": f"{REGION}a", "InstanceType": kind,
        "ProtectedFromScaleIn": False,
    }  # fmt: skip


def test_before_a_write() -> None:
    """The group, everything that could hold it, and EKS where its tags name a node group of it."""
    aws = Scripted(
        DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(tags=EKS_TAGS)]}],
        DescribeNodegroup=[{"nodegroup": {"nodegroupName": "blue", "status": "UPDATING"}}],
    )
    reading = read(aws, ref(workers()))
    name = {"AutoScalingGroupName": "workers"}
    assert aws.told() == [
        (GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["workers"]}),
        (POLICIES, {"MaxRecords": 100, **name}),
        (SCHEDULES, {"MaxRecords": 100, **name}),
        ("DescribeInstanceRefreshes", {**name, "MaxRecords": 1}),
        ("DescribeNodegroup", {"clusterName": "prod", "nodegroupName": "blue"}),
    ]
    assert reading is not None
    assert (reading.date_seconds, [one.by for one in reading.facts.writers]) == (1_800_000_000, ["managed node group blue"])


@pytest.mark.parametrize("tags", [{}, {"eks:cluster-name": "prod"}, {"eks:nodegroup-name": "blue"}])
def test_eks_is_not_asked_without_both_tags(tags: dict[str, str]) -> None:
    """Nothing else names a node group of EKS."""
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(tags=tags)]}])
    assert read(aws, ref(workers())) is not None
    assert "DescribeNodegroup" not in aws.actions()


def test_a_node_group_that_is_gone() -> None:
    """Tags outlive it; what else EKS says stands against a write."""
    groups = [{"AutoScalingGroups": [group(tags=EKS_TAGS)]}]
    gone = AwsError("ResourceNotFoundException", "No node group found", status=404)
    reading = read(Scripted(DescribeAutoScalingGroups=groups, DescribeNodegroup=[gone]), ref(workers()))
    assert reading is not None
    assert reading.facts.writers == ()
    with pytest.raises(AwsError, match="not authorized"):
        read(Scripted(DescribeAutoScalingGroups=groups, DescribeNodegroup=[DENIED]), ref(workers()))


def test_every_page_of_what_stands_around_a_group() -> None:
    """A page that is short is not the last one."""
    policy = {"AutoScalingGroupName": "workers", "PolicyName": "cpu", "PolicyType": "StepScaling"}
    aws = Scripted(
        DescribeAutoScalingGroups=[{"AutoScalingGroups": [group()]}],
        DescribePolicies=[{"ScalingPolicies": [], "NextToken": "more"}, {"ScalingPolicies": [policy]}],
    )
    reading = read(aws, ref(workers()))
    assert reading is not None
    assert [one.by for one in reading.facts.writers] == ["scaling policy cpu"]
    assert aws.asked[2] == (POLICIES, {"MaxRecords": 100, "NextToken": "more", "AutoScalingGroupName": "workers"})


def test_a_group_that_is_gone() -> None:
    """Read or read again: there is none, whether AWS says so by an empty list or by none."""
    for body in ({}, {"AutoScalingGroups": []}):
        assert read(Scripted(DescribeAutoScalingGroups=[body]), ref(workers())) is None
        aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [group(DesiredCapacity=2)]}, body])
        before = read(aws, ref(workers()))
        assert before is not None
        assert seen_again(aws, before) is None


def test_seen_again() -> None:
    """The group alone, in one call: its size is that of now, what holds it that of before."""
    first, later = group(DesiredCapacity=2), group(DesiredCapacity=1)
    aws = Scripted(DescribeAutoScalingGroups=[{"AutoScalingGroups": [one]} for one in (first, later)])
    before = read(aws, ref(workers()))
    assert before is not None
    aws.told()
    aws.date_seconds += 5
    after = seen_again(aws, before)
    assert aws.told() == [(GROUPS, {"AutoScalingGroupNames": ["workers"]})]
    assert after is not None
    assert (after.item.desired_capacity, after.date_seconds) == (1, 1_800_000_005)
    assert after.facts == before.facts


def test_the_first_round() -> None:
    """Groups by tags and by name, each once; policies and schedules of all at once; templates and types that they name."""
    both = listing(group("named", **PICK), group("tagged", **PICK, Instances=[instance()], DesiredCapacity=1))
    aws = Scripted(
        DescribeAutoScalingGroups=both,
        DescribeLaunchTemplateVersions=[{"LaunchTemplateVersions": [template_version({"InstanceType": "c5.large"})]}],
    )
    region = Region(aws, Wanted(region=REGION, names=("named", "other"), tags=BY_TAG.tags))
    assert region.ask(0)
    assert aws.told() == [
        (
            GROUPS,
            {"MaxRecords": 100, "Filters": [{"Name": "tag:a", "Values": ["x"]}, {"Name": "tag-key", "Values": ["b"]}]},
        ),
        (GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["other"]}),
        (POLICIES, {"MaxRecords": 100}),
        (SCHEDULES, {"MaxRecords": 100}),
        (ACTIVITIES, {"MaxRecords": 100}),
        (TEMPLATES, {"LaunchTemplateId": "lt-1", "Versions": ["1"]}),
        (RESERVATIONS, {"MaxResults": 1000}),
        (TYPES, {"InstanceTypes": ["c5.large", "m5.large"]}),
    ]
    assert aws.services == {
        ("autoscaling", GROUPS), ("autoscaling", POLICIES), ("autoscaling", SCHEDULES), ("autoscaling", ACTIVITIES),
        ("ec2", TEMPLATES), ("ec2", RESERVATIONS), ("ec2", TYPES),
    }  # fmt: skip
    assert [item["AutoScalingGroupName"] for item in region.items()["AutoScalingGroup"]] == ["named", "tagged"]
    assert not region.ask(1)
    assert aws.told() == []


def test_at_rest() -> None:
    """All groups every 85 s, what surrounds them, their templates and reservations every half hour, types once a day."""
    aws = Scripted(
        DescribeAutoScalingGroups=listing(group(**PICK)),
        DescribeLaunchTemplateVersions=[{"LaunchTemplateVersions": [template_version({"InstanceType": "c5.large"})]}],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    aws.told()
    for seconds, asked in (
        (84.9, []),
        (85, [GROUPS]),
        (169.9, []),
        (170, [GROUPS]),
        (1799, [GROUPS]),
        (1800, [POLICIES, SCHEDULES, TEMPLATES, RESERVATIONS]),
        (3599, [GROUPS]),
        (3600, [POLICIES, SCHEDULES, TEMPLATES, RESERVATIONS]),
        (86_399, [GROUPS, POLICIES, SCHEDULES, TEMPLATES, RESERVATIONS]),
        (86_400, [TYPES]),
    ):
        region.ask(seconds)
        assert (seconds, aws.actions()) == (seconds, asked)
    assert region.heard == 86_399


def test_more_than_a_hundred_names() -> None:
    """AWS takes a hundred in one call."""
    names = tuple(f"g{number:03}" for number in range(201))
    aws = Scripted()
    Region(aws, Wanted(region=REGION, names=names)).ask(0)
    asked = [list(parameters["AutoScalingGroupNames"]) for action, parameters in aws.told() if action == GROUPS]
    assert [len(one) for one in asked] == [100, 100, 1]
    assert [name for one in asked for name in one] == list(names)


def test_one_that_moves_is_asked_for_every_time() -> None:
    """By its name, with its activities where it misses instances; the others are not."""
    still, short = group("still"), group("short", DesiredCapacity=1)
    aws = Scripted(DescribeAutoScalingGroups=listing(still, short))
    region = Region(aws, BY_TAG)
    region.ask(0)
    aws.told()
    assert region.moving()
    region.ask(10)
    assert aws.told() == [
        (GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["short"]}),
        (ACTIVITIES, {"AutoScalingGroupName": "short", "MaxRecords": 20}),
    ]
    aws.answers[GROUPS] = listing(still)
    assert region.ask(20)
    assert [item["AutoScalingGroupName"] for item in region.items()["AutoScalingGroup"]] == ["still"]
    assert not region.moving()


def test_one_that_was_written_is_asked_for_until_a_read_shows_the_write() -> None:
    """What is known of it is old for a minute, and is read once more then."""
    aws = Scripted(DescribeAutoScalingGroups=listing(group("a"), group("b")))
    region = Region(aws, BY_TAG)
    region.ask(0)
    aws.told()
    region.wrote("b")
    assert region.moving()
    for now, asked in ((10, True), (20, False), (30, True), (40, False), (60, True)):
        region.ask(now)
        assert aws.told() == ([(GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["b"]})] if asked else [])
        assert region.moving()
    region.ask(70)
    assert aws.told() == []
    assert not region.moving()


@pytest.mark.parametrize(("count", "together"), [(2, False), (3, True)])
def test_activities_of_many_groups_are_asked_for_together(count: int, *, together: bool) -> None:
    """The newest of all, where single calls would be more than two."""
    names = [f"g{number:02}" for number in range(count)]
    aws = Scripted(
        DescribeAutoScalingGroups=listing(*(group(name, DesiredCapacity=1) for name in names)),
        DescribeScalingActivities=[{"Activities": [{"ActivityId": "a", "AutoScalingGroupName": "g00"}]}],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    asked = [parameters for action, parameters in aws.told() if action == ACTIVITIES]
    alone = [{"AutoScalingGroupName": name, "MaxRecords": 20} for name in names]
    # The newest of all are asked for in the first read anyway: a refresh may have begun before it.
    assert asked == [*([] if together else alone), {"MaxRecords": 100}]
    assert len(region.items()["ScalingActivity"]) == (1 if together else count)


def test_activities_that_others_crowd_out_are_asked_for_alone() -> None:
    """The newest hundred are of a group that misses nothing, and of one of three that do."""
    names = ["g0", "g1", "g2"]
    others = [{"ActivityId": f"o{number}", "AutoScalingGroupName": "busy"} for number in range(99)]
    aws = Scripted(
        DescribeAutoScalingGroups=listing(*(group(name, DesiredCapacity=1) for name in names)),
        DescribeScalingActivities=[
            {"Activities": [*others, {"ActivityId": "a", "AutoScalingGroupName": "g1"}]},
            {"Activities": [{"ActivityId": "b", "AutoScalingGroupName": "g0"}]},
            {"Activities": [{"ActivityId": "c", "AutoScalingGroupName": "g2"}]},
        ],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    asked = [parameters.get("AutoScalingGroupName") for action, parameters in aws.told() if action == ACTIVITIES]
    assert asked == [None, "g0", "g2"]
    assert {one["ActivityId"] for one in region.items()["ScalingActivity"]} >= {"a", "b", "c"}


def test_launches_that_have_all_failed_are_asked_for_less_often() -> None:
    """Until the group asks for another number, or half a minute is over."""
    failed = {"ActivityId": "a", "AutoScalingGroupName": "workers", "StatusCode": "Failed"}
    aws = Scripted(
        DescribeAutoScalingGroups=listing(group(DesiredCapacity=1)), DescribeScalingActivities=[{"Activities": [failed]}]
    )
    region = Region(aws, BY_TAG)
    asked = []
    for now in (0, 10, 20, 30, 40, 50):
        if now == 50:
            aws.answers[GROUPS] = listing(group(DesiredCapacity=2))
        region.ask(now)
        asked.append(aws.actions().count(ACTIVITIES))
    assert asked == [2, 0, 0, 1, 0, 1]


def test_activities_of_groups_that_miss_nothing_are_forgotten() -> None:
    """They said why instances were missing."""
    aws = Scripted(
        DescribeAutoScalingGroups=listing(group(DesiredCapacity=1)),
        DescribeScalingActivities=[{"Activities": [{"ActivityId": "a", "AutoScalingGroupName": "workers"}]}, {}],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert "ScalingActivity" in region.items()
    region.ask(10)
    assert region.items()["ScalingActivity"] == []
    aws.answers[GROUPS] = listing(group())
    region.ask(20)
    assert "ScalingActivity" not in region.items()


@pytest.mark.parametrize(
    ("state", "missing", "moving"),
    [
        ("InService", False, False),
        ("Pending", False, True),
        ("Terminating", True, True),
        ("Terminating:Retained", True, True),
        ("Standby", True, True),
        ("Warmed:Stopped", True, True),
        ("Warmed:Pending", True, True),
    ],
)
def test_what_an_instance_counts_for(state: str, *, missing: bool, moving: bool) -> None:
    """SOURCE: Amazon EC2 Auto Scaling, instance lifecycle: what is on its way out, beside or outside is no part of the size."""
    item = group(DesiredCapacity=1, Instances=[instance(state)])
    assert (misses(item), moves(item)) == (missing, moving)


@pytest.mark.parametrize(
    ("state", "moving"),
    [
        ("Standby", False),
        ("Warmed:Stopped", False),
        ("Warmed:Running", False),
        ("Warmed:Hibernated", False),
        ("Terminating:Retained", False),
        ("Warmed:Pending", True),
        ("EnteringStandby", True),
        ("Detaching", True),
    ],
)
def test_what_stays_beside_a_group_is_at_rest(state: str, *, moving: bool) -> None:
    """Nobody waits for it; what is on its way is asked for again."""
    item = group(DesiredCapacity=1, Instances=[instance(), instance(state, 2)])
    assert (misses(item), moves(item)) == (False, moving)


def test_a_group_without_instances() -> None:
    """AWS may leave the list out; what is more than wanted misses nothing."""
    bare = group()
    del bare["Instances"]
    assert (misses(bare), moves(bare), misses({**bare, "DesiredCapacity": 1})) == (False, False, True)
    assert not misses(group(DesiredCapacity=1, Instances=[instance(), instance(number=2)]))


def test_who_may_not_ask_for_templates() -> None:
    """It is told, and asked again with the next half hour; any other fault ends the round."""
    aws = Scripted(DescribeAutoScalingGroups=listing(group(**PICK)), DescribeLaunchTemplateVersions=[DENIED])
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert region.problems == ("DescribeLaunchTemplateVersions: not authorized",)
    aws.told()
    region.ask(1000)
    assert (TEMPLATES in aws.actions(), region.problems) == (False, ())
    region.ask(1800)
    assert TEMPLATES in aws.actions()
    aws.answers[TEMPLATES] = [THROTTLED]
    with pytest.raises(AwsError, match="Rate exceeded"):
        region.ask(3600)


def test_templates_that_a_group_may_use() -> None:
    """Its own, that of a mixed policy, and those of the choices of one; `$Default` where no version is named."""
    mixed = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": {"LaunchTemplateId": "lt-2", "Version": "$Latest"},
            "Overrides": [{"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-3", "Version": "7"}}, {"InstanceType": "a"}],
        }
    }
    assert picks(group(LaunchTemplate={"LaunchTemplateId": "lt-1"})) == {("lt-1", "$Default")}
    assert picks(group(LaunchTemplate={"LaunchTemplateName": "by-name"})) == set()
    assert picks(group(MixedInstancesPolicy=mixed)) == {("lt-2", "$Latest"), ("lt-3", "7")}
    assert picks(group(MixedInstancesPolicy={"LaunchTemplate": {}})) == set()
    assert picks(group(MixedInstancesPolicy={})) == set()


def templates(count: int, version: str = "$Default") -> list[Object]:
    return [
        group(f"g{number}", LaunchTemplate={"LaunchTemplateId": f"lt-{number}", "Version": version}) for number in range(count)
    ]


def asked_templates(aws: Scripted) -> list[Object]:
    return [parameters for action, parameters in aws.told() if action == TEMPLATES]


@pytest.mark.parametrize(("count", "together"), [(5, False), (6, True)])
def test_default_versions_of_many_templates_are_asked_for_together(count: int, *, together: bool) -> None:
    """AWS lists the default versions of all templates, 200 a page: one call where single ones would be more than five."""
    aws = Scripted(
        DescribeAutoScalingGroups=listing(*templates(count)),
        DescribeLaunchTemplateVersions=[
            {"LaunchTemplateVersions": [template_version({"InstanceType": "m5.large"}, template=f"lt-{number}")]}
            for number in range(count)
        ]
        if not together
        else [
            {
                "LaunchTemplateVersions": [
                    template_version({"InstanceType": "m5.large"}, template=f"lt-{number}") for number in range(count + 3)
                ]
            }
        ],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert asked_templates(aws) == (
        [{"MaxResults": 200, "Versions": ["$Default"]}]
        if together
        else [{"LaunchTemplateId": f"lt-{number}", "Versions": ["$Default"]} for number in range(count)]
    )
    assert [item["LaunchTemplateId"] for item in region.items()["LaunchTemplateVersion"]] == [f"lt-{n}" for n in range(count)]


def test_the_latest_of_many_templates() -> None:
    """Of several versions the highest number, in whatever order they are listed; the default one is another."""
    groups = [group(f"g{n}", LaunchTemplate={"LaunchTemplateId": f"lt-{n}", "Version": "$Latest"}) for n in range(6)]
    listed = [
        template_version({"InstanceType": kind}, template=f"lt-{n}", version=version, default=version == 2)
        for n in range(6)
        for version, kind in ((2, "m5.large"), (9, "c5.large"), (3, "r5.large"))
    ]
    aws = Scripted(
        DescribeAutoScalingGroups=listing(*groups, group("d", LaunchTemplate={"LaunchTemplateId": "lt-0"})),
        DescribeLaunchTemplateVersions=[{"LaunchTemplateVersions": listed}],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert asked_templates(aws) == [{"MaxResults": 200, "Versions": ["$Default", "$Latest"]}]
    found = [(item["LaunchTemplateId"], item["VersionNumber"]) for item in region.items()["LaunchTemplateVersion"]]
    assert found == [("lt-0", 2), *((f"lt-{n}", 9) for n in range(6))]


def test_numbered_versions_of_many_templates() -> None:
    """Those that are default or latest are found in one call; only what is neither is asked for by itself."""
    listed = [template_version({"InstanceType": "m5.large"}, template=f"lt-{n}", version=1) for n in range(1, 6)]
    old = template_version({"InstanceType": "c5.large"}, template="lt-0", version=1, default=False)
    aws = Scripted(
        DescribeAutoScalingGroups=listing(*templates(6, "1")),
        DescribeLaunchTemplateVersions=[{"LaunchTemplateVersions": listed}, {"LaunchTemplateVersions": [old]}],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert asked_templates(aws) == [
        {"MaxResults": 200, "Versions": ["$Default", "$Latest"]},
        {"LaunchTemplateId": "lt-0", "Versions": ["1"]},
    ]
    assert [item["LaunchTemplateId"] for item in region.items()["LaunchTemplateVersion"]] == [f"lt-{n}" for n in range(6)]


def test_numbered_and_named_versions_of_many_templates() -> None:
    """However few of them are named: the one call finds them all, and only what is neither is asked for by itself."""
    listed = [
        template_version({"InstanceType": "m5.large"}, template=f"lt-{n}", version=version, default=version == 1)
        for n in range(6)
        for version in (1, 4)
    ]
    old = template_version({"InstanceType": "c5.large"}, template="lt-5", version=3, default=False)
    picks = ["$Default", "$Latest", "1", "4", "1", "3"]
    groups = [group(f"g{n}", LaunchTemplate={"LaunchTemplateId": f"lt-{n}", "Version": pick}) for n, pick in enumerate(picks)]
    aws = Scripted(
        DescribeAutoScalingGroups=listing(*groups),
        DescribeLaunchTemplateVersions=[{"LaunchTemplateVersions": listed}, {"LaunchTemplateVersions": [old]}],
    )
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert asked_templates(aws) == [
        {"MaxResults": 200, "Versions": ["$Default", "$Latest"]},
        {"LaunchTemplateId": "lt-5", "Versions": ["3"]},
    ]
    found = [(item["LaunchTemplateId"], item["VersionNumber"]) for item in region.items()["LaunchTemplateVersion"]]
    assert found == [("lt-0", 1), ("lt-1", 4), ("lt-2", 1), ("lt-3", 4), ("lt-4", 1), ("lt-5", 3)]


def test_a_template_that_is_gone() -> None:
    """AWS refuses the call for it alone; it is asked for again with the next half hour, and the others are known."""
    gone = AwsError("InvalidLaunchTemplateId.NotFound", "does not exist", status=400)
    known = {"LaunchTemplateVersions": [template_version({"InstanceType": "m5.large"}, template="lt-1")]}
    aws = Scripted(DescribeAutoScalingGroups=listing(*templates(2)), DescribeLaunchTemplateVersions=[gone, known])
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert [item["LaunchTemplateId"] for item in region.items()["LaunchTemplateVersion"]] == ["lt-1"]
    aws.told()
    region.ask(100)
    assert asked_templates(aws) == []
    region.ask(1800)
    assert [one["LaunchTemplateId"] for one in asked_templates(aws)] == ["lt-0", "lt-1"]


def test_node_groups_of_eks() -> None:
    """Of an empty group once an hour; of one whose nodes say themselves what they are not at all."""
    empty, full = group("empty", tags=EKS_TAGS), group("full", tags={**EKS_TAGS, "eks:nodegroup-name": "green"})
    full |= {"DesiredCapacity": 1, "Instances": [instance()]}
    aws = Scripted(
        DescribeAutoScalingGroups=listing(empty, full),
        DescribeNodegroup=[{"nodegroup": {"nodegroupName": "blue", "status": "ACTIVE"}}],
    )
    region = Region(aws, BY_TAG)
    for seconds, asked in ((0, 1), (3599, 0), (3600, 1)):
        region.ask(seconds)
        found = [parameters for action, parameters in aws.told() if action == "DescribeNodegroup"]
        assert found == [{"clusterName": "prod", "nodegroupName": "blue"}] * asked
    assert [item["nodegroupName"] for item in region.items()["ManagedNodeGroup"]] == ["blue"]


def test_node_groups_are_asked_for_a_few_at_a_time() -> None:
    """Twenty in one round, the rest in the next."""
    groups = [group(f"g{n:02}", tags={**EKS_TAGS, "eks:nodegroup-name": f"n{n:02}"}) for n in range(21)]
    aws = Scripted(DescribeAutoScalingGroups=listing(*groups))
    region = Region(aws, BY_TAG)
    rounds = []
    for seconds in (0, 10, 20):
        region.ask(seconds)
        rounds.append(aws.actions().count("DescribeNodegroup"))
    assert rounds == [20, 1, 0]


def test_a_node_group_that_eks_changes() -> None:
    """Once somebody was met there it is asked for every minute, though it has instances, until it is at rest."""
    item = group(tags=EKS_TAGS, DesiredCapacity=1, Instances=[instance()])
    states = [{"nodegroup": {"nodegroupName": "blue", "status": status}} for status in ("UPDATING", "UPDATING", "ACTIVE")]
    aws = Scripted(DescribeAutoScalingGroups=listing(item), DescribeNodegroup=states)
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert "DescribeNodegroup" not in aws.actions()
    region.wrote("workers", others=True)
    asked = []
    for seconds in (10, 69, 70, 129, 130, 191, 300):
        region.ask(seconds)
        asked.append(aws.actions().count("DescribeNodegroup"))
    assert asked == [1, 0, 1, 0, 1, 0, 0]


def test_who_may_not_ask_eks() -> None:
    """It is told; what else EKS answers ends the round."""
    aws = Scripted(DescribeAutoScalingGroups=listing(group(tags=EKS_TAGS)), DescribeNodegroup=[DENIED])
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert region.problems == ("DescribeNodegroup: not authorized",)
    aws.answers["DescribeNodegroup"] = [AwsError("Unreachable", "timed out")]
    with pytest.raises(AwsError, match="timed out"):
        region.ask(3600)


def test_policies_of_other_groups_are_left_out() -> None:
    """All are listed at once, those of groups that nobody asks for as well."""
    named = [{"AutoScalingGroupName": name, "PolicyName": "p"} for name in ("workers", "another")]
    aws = Scripted(DescribeAutoScalingGroups=listing(group()), DescribePolicies=[{"ScalingPolicies": named}])
    region = Region(aws, BY_TAG)
    region.ask(0)
    assert region.items()["ScalingPolicy"] == named[:1]


def test_what_the_policy_no_longer_names() -> None:
    """Groups that were left are looked at by name and followed while they bear our mark."""
    mine, theirs = group("mine", tags={POLICY_MARK: "prod"}), group("theirs", tags={POLICY_MARK: "other"})
    aws = Scripted(DescribeAutoScalingGroups=listing(mine, theirs, group("bare")))
    region = Region(aws, Wanted(region=REGION), ("mine", "theirs", "bare", "gone"), "prod")
    assert not region.over
    region.ask(0)
    assert aws.told()[0] == (GROUPS, {"MaxRecords": 100, "AutoScalingGroupNames": ["bare", "gone", "mine", "theirs"]})
    assert [item["AutoScalingGroupName"] for item in region.items()["AutoScalingGroup"]] == ["mine"]
    assert (region.marked("prod"), region.marked("other"), region.over) == (frozenset({"mine"}), frozenset(), False)
    aws.answers[GROUPS] = listing()
    region.ask(85)
    assert (region.items()["AutoScalingGroup"], region.over) == ([], True)


def test_refreshes_are_asked_for_where_one_is_suspected() -> None:
    """Once a minute while it is under way; one that is over, denied or of a group that is gone no more."""
    under_way = {"InstanceRefreshes": [{"InstanceRefreshId": "r", "Status": "InProgress"}]}
    over = {"InstanceRefreshes": [{"InstanceRefreshId": "r", "Status": "Successful"}]}
    aws = Scripted(DescribeInstanceRefreshes=[under_way, under_way, over])
    refreshes = Refreshes(aws)
    refreshes.ask(0, ["workers"])
    assert aws.told() == []
    refreshes.suspect("workers")
    for seconds, asked, known in ((0, 1, 1), (59, 0, 1), (60, 1, 1), (120, 1, 0), (180, 0, 0)):
        refreshes.ask(seconds, ["workers"])
        assert aws.told() == [("DescribeInstanceRefreshes", {"AutoScalingGroupName": "workers", "MaxRecords": 1})] * asked
        assert len(refreshes.items()) == known
    refreshes.suspect("workers")
    refreshes.ask(200, ["another"])
    assert aws.told() == []


@pytest.mark.parametrize(
    ("error", "raised"),
    [(DENIED, False), (AwsError("ValidationError", "not found"), False), (THROTTLED, True), (AwsError("Unreachable", "x"), True)],
)
def test_refreshes_that_cannot_be_read(error: AwsError, *, raised: bool) -> None:
    """Not allowed, or gone: the read before a write says so. Not now: the round ends, and it is asked for again."""
    aws = Scripted(DescribeInstanceRefreshes=[error])
    refreshes = Refreshes(aws)
    refreshes.suspect("workers")
    for _ in range(2):
        if raised:
            with pytest.raises(AwsError):
                refreshes.ask(0, ["workers"])
        else:
            refreshes.ask(0, ["workers"])
    assert len(aws.asked) == (2 if raised else 1)


@pytest.mark.parametrize(
    ("cause", "status", "suspected"),
    [
        ("in response to an instance refresh.", "InProgress", True),
        ("in response to an instance refresh.", "Successful", False),
        ("in response to an instance refresh.", "Failed", False),
        ("in response to an instance refresh.", "Cancelled", False),
        ("a user request", "InProgress", False),
        (None, "InProgress", False),
    ],
)
def test_an_activity_tells_of_a_refresh(cause: str | None, status: str, *, suspected: bool) -> None:
    """While it is under way, by AWS's words for its cause."""
    aws = Scripted()
    refreshes = Refreshes(aws)
    told = {"AutoScalingGroupName": "workers", "StatusCode": status}
    refreshes.follow([{**told, "Cause": cause} if cause is not None else told])
    refreshes.ask(0, ["workers"])
    assert len(aws.asked) == int(suspected)
