"""What a service that answers as AWS does must do, on moto and on our own one: the same cases on both.

What moto does otherwise than AWS stands in `FAULTS_OF_MOTO`, and each fails there: a release that mends one is heard of.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.facts.ownership import WRITTEN
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, AwsError
from reconciler.platforms.aws.writing.fresh import read as read_fresh
from reconciler.platforms.aws.writing.polling import AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.providers.contract import LeavingMachine, RemovalState, WriteCode
from tests.aws.benches import Bench, Complemented, Moto, Own
from tests.aws.documents import REGION, read
from tests.aws.policies import policy_set
from tests.aws.writes import bound_by, client

TAG = "k8s.io/cluster-autoscaler/prod"
POLICY = f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  discovery:
    - {{name: eks, aws: {{region: {REGION}, tags: {{{TAG}: owned, team: ""}}}}}}
"""
FAULTS_OF_MOTO = {
    "desired_above_the_maximum_is_refused": "moto sets any desired capacity",
    "desired_below_the_minimum_is_refused": "moto sets any desired capacity",
    "a_decrement_below_the_minimum_is_refused": "moto ends the instance, below the minimum",
    "an_unknown_instance_is_refused_in_the_words_of_aws": "moto breaks with StopIteration",
    "a_write_to_an_unknown_group_is_refused_in_the_words_of_aws": "moto breaks with KeyError",
    "a_page_is_at_most_a_hundred": "moto breaks with ValueError",
    "instances_come_with_time": "instances of moto are in service at once",
    "instances_leave_with_time": "instances of moto vanish at once",
    "launches_are_activities": "moto tells of no activities",
    "instances_are_left_out_where_not_asked_for": "moto does not look at IncludeInstances",
    "instances_are_launched_at_once": "moto has no LaunchInstances",
    "instance_refreshes_are_told": "moto has no DescribeInstanceRefreshes",
}


class Account:
    """One account behind the product's own client."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.aws = client(REGION, "", bench.url)
        self.accounts = Accounts(lambda region, role: Complemented(client(region, role, bench.url), bench.missing))
        self.provider = AwsProvider(self.accounts)

    def add(
        self, name: str = "workers", *, least: int = 0, most: int = 9, desired: int = 2, zones: int = 1, kind: str = "m5.large",
        tags: Mapping[str, str] | None = None,
    ) -> TargetRef:  # fmt: skip
        self.bench.add(name, least=least, most=most, desired=desired, zones=zones, kind=kind, tags=tags or {})
        return TargetRef(kind=AUTO_SCALING_GROUP, region=REGION, name=name)

    def bound(self, target: TargetRef) -> Bound:
        return bound_by(self.accounts.of(REGION), target)

    def desired(self, name: str = "workers") -> int:
        return int(self.bench.group(name)["DesiredCapacity"])

    def instances(self, name: str = "workers") -> list[str]:
        return sorted(one["InstanceId"] for one in self.bench.group(name)["Instances"])

    def tags(self, name: str = "workers") -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in self.bench.group(name)["Tags"]}

    def world(self) -> World:
        poll = AwsPoll(self.accounts, lambda: policy_set(POLICY), lambda: 0.0)
        poll.ask()
        assert [state.message for state in poll.states()] == [""]
        intake = Intake()
        for document in poll.documents():
            intake.read(document, stamps=False)
        return read(intake)

    def suspend(self, name: str, process: str) -> None:
        self.bench.suspend(name, process)

    def refused(self, action: str, **parameters: Any) -> AwsError:
        with pytest.raises(AwsError) as caught:
            self.aws.call(AUTO_SCALING, action, **parameters)
        return caught.value


@pytest.fixture(scope="module", params=[Moto, Own], ids=["moto", "own"])
def _running(request: pytest.FixtureRequest) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        running = request.param()
        yield running
        running.stop()


@pytest.fixture
def account(_running: Any, request: pytest.FixtureRequest) -> Account:
    """An empty account. What moto cannot do is expected to fail there, and to fail indeed."""
    _running.reset()
    case = request.function.__name__.removeprefix("test_")
    if _running.name == "moto" and case in FAULTS_OF_MOTO:
        request.applymarker(pytest.mark.xfail(strict=True, reason=FAULTS_OF_MOTO[case]))
    return Account(_running)


def test_groups_are_found_by_all_their_tags(account: Account) -> None:
    """Tags inside one item AND; an empty value takes any."""
    account.add("mine", tags={TAG: "owned", "team": "a"})
    account.add("others", tags={TAG: "shared", "team": "a"})
    account.add("half", tags={TAG: "owned"})
    assert [facts.ref.name for facts in account.world().targets] == ["mine"]


def test_every_page_is_read(account: Account) -> None:
    """More groups than AWS gives at once."""
    for number in range(101):
        account.add(f"g{number:03}", desired=0, tags={TAG: "owned", "team": "a"})
    assert len(account.world().targets) == 101


def test_shape_of_an_empty_group(account: Account) -> None:
    """The launch template's type, from zero; sizes and the uid beside it."""
    account.add(desired=0, least=0, most=7, zones=1, tags={TAG: "owned", "team": "a"})
    (facts,) = account.world().targets
    capacity = facts.template.capacity
    assert capacity is not None
    assert (capacity.cpu_milli, capacity.pods, facts.template.zone) == (2000, 29, f"{REGION}a")
    assert (facts.replicas, facts.min_size, facts.max_size) == (0, 0, 7)
    assert f":{REGION}:" in facts.uid
    assert facts.problems == ()


def test_instances_are_machines(account: Account) -> None:
    """By the provider id that their nodes carry."""
    account.add(desired=2, tags={TAG: "owned", "team": "a"})
    machines = account.world().machines
    assert sorted(one.provider_id for one in machines) == [f"aws:///{REGION}a/{name}" for name in account.instances()]


def test_a_name_that_is_not_there_is_no_fault(account: Account) -> None:
    """The group is absent from the answer, and writing it says so."""
    target = TargetRef(kind=AUTO_SCALING_GROUP, region=REGION, name="nobody")
    assert read_fresh(account.accounts.of(REGION), target) is None
    bound = Bound(resource_version="", replicas=1, owner_digest="sha256:o", policy_digest="sha256:p")
    assert account.provider.resize(target, 2, bound).code == WriteCode.NOT_FOUND


def test_desired_capacity_rises_and_is_marked(account: Account) -> None:
    """The bounds stay; our tags say which policy wrote which value."""
    target = account.add(tags={"team": "a"})
    result = account.provider.resize(target, 4, account.bound(target), {POLICY_MARK: "prod"})
    account.bench.later(60)
    found = account.bench.group("workers")
    assert (result.done, found["DesiredCapacity"], found["MinSize"], found["MaxSize"]) == (True, 4, 0, 9)
    assert len(account.instances()) == 4
    assert (account.tags()[POLICY_MARK], account.tags()[WRITTEN].partition(".")[0], account.tags()["team"]) == ("prod", "4", "a")


def test_release_takes_our_tags_alone(account: Account) -> None:
    """Size and tags of others stay."""
    target = account.add(tags={"team": "a"})
    account.provider.resize(target, 3, account.bound(target), {POLICY_MARK: "prod"})
    assert account.provider.release(target, account.bound(target)).done
    assert (account.tags(), account.desired()) == ({"team": "a"}, 3)


def test_exactly_the_chosen_instances_go(account: Account) -> None:
    """Desired capacity falls with them."""
    target = account.add(desired=4)
    leaving, *others = account.instances()
    (told,) = account.provider.step(target, (LeavingMachine(machine=leaving, node="n"),), 0)
    account.bench.later(60)
    assert (told.state, account.instances(), account.desired()) == (RemovalState.FINISHED, others, 3)


def test_one_that_has_gone_is_finished(account: Account) -> None:
    """Asked again, nothing more goes."""
    target = account.add(desired=3)
    leaving = (LeavingMachine(machine=account.instances()[0], node="n"),)
    account.provider.step(target, leaving, 0)
    account.bench.later(60)
    (told,) = account.provider.step(target, leaving, 0)
    assert (told.state, account.desired(), len(account.instances())) == (RemovalState.FINISHED, 2, 2)


def test_protection_is_set_and_taken_back(account: Account) -> None:
    """At most 50 instances at once, and told in the description."""
    account.add(desired=2)
    for protected in (True, False):
        account.aws.call(
            AUTO_SCALING, "SetInstanceProtection", AutoScalingGroupName="workers", InstanceIds=account.instances(),
            ProtectedFromScaleIn=protected,
        )  # fmt: skip
        assert {one["ProtectedFromScaleIn"] for one in account.bench.group("workers")["Instances"]} == {protected}


def test_what_never_became_a_node_is_ended_and_counted_off(account: Account) -> None:
    """A cancellation that names its instances."""
    target = account.add(desired=3)
    first, *others = account.instances()
    assert account.provider.cancel(target, (first,), 2, account.bound(target)).done
    account.bench.later(60)
    assert (account.instances(), account.desired()) == (others, 2)


def test_suspended_processes_are_told(account: Account) -> None:
    """Whoever suspends Launch holds the group."""
    account.add(tags={TAG: "owned", "team": "a"})
    account.suspend("workers", "Launch")
    (facts,) = account.world().targets
    assert facts.owner.paused == "suspended processes: Launch"


def test_desired_above_the_maximum_is_refused(account: Account) -> None:
    """By AWS too, where the bound moves in between."""
    account.add(most=5)
    error = account.refused("SetDesiredCapacity", AutoScalingGroupName="workers", DesiredCapacity=9)
    assert (error.code, "above max value 5" in error.message) == ("ValidationError", True)


def test_desired_below_the_minimum_is_refused(account: Account) -> None:
    """In the other direction."""
    account.add(least=1)
    error = account.refused("SetDesiredCapacity", AutoScalingGroupName="workers", DesiredCapacity=0)
    assert (error.code, "below min value 1" in error.message) == ("ValidationError", True)


def test_a_decrement_below_the_minimum_is_refused(account: Account) -> None:
    """And the instance still runs."""
    account.add(least=2)
    first = account.instances()[0]
    error = account.refused("TerminateInstanceInAutoScalingGroup", InstanceId=first, ShouldDecrementDesiredCapacity=True)
    assert (error.code, "violate group's min size" in error.message) == ("ValidationError", True)
    assert first in account.instances()


def test_an_unknown_instance_is_refused_in_the_words_of_aws(account: Account) -> None:
    """So that one that is gone can be told from one that may not go."""
    account.add()
    unknown = "i-0123456789abcdef0"
    error = account.refused("TerminateInstanceInAutoScalingGroup", InstanceId=unknown, ShouldDecrementDesiredCapacity=True)
    assert (error.code, "No managed instance found for instance ID" in error.message) == ("ValidationError", True)


def test_a_write_to_an_unknown_group_is_refused_in_the_words_of_aws(account: Account) -> None:
    """One code for all faults of what was given."""
    error = account.refused("SetDesiredCapacity", AutoScalingGroupName="nobody", DesiredCapacity=1)
    assert (error.code, "AutoScalingGroup name not found" in error.message) == ("ValidationError", True)


def test_a_page_is_at_most_a_hundred(account: Account) -> None:
    """More is refused."""
    assert account.refused("DescribeAutoScalingGroups", MaxRecords=101).code == "ValidationError"


def test_instances_come_with_time(account: Account) -> None:
    """Pending first: what is on its way is no node yet."""
    target = account.add()
    account.provider.resize(target, 3, account.bound(target))
    assert sorted(one["LifecycleState"] for one in account.bench.group("workers")["Instances"]) == [
        "InService", "InService", "Pending",
    ]  # fmt: skip


def test_instances_leave_with_time(account: Account) -> None:
    """Terminating first, and counted off already."""
    target = account.add()
    leaving = account.instances()[0]
    account.provider.step(target, (LeavingMachine(machine=leaving, node="n"),), 0)
    states = {one["InstanceId"]: one["LifecycleState"] for one in account.bench.group("workers")["Instances"]}
    assert (states.get(leaving), account.desired()) == ("Terminating", 1)


def test_launches_are_activities(account: Account) -> None:
    """Where a stock-out would be told."""
    target = account.add()
    account.provider.resize(target, 3, account.bound(target))
    found = account.aws.call(AUTO_SCALING, "DescribeScalingActivities", AutoScalingGroupName="workers").body["Activities"]
    assert [one["Description"].startswith("Launching a new EC2 instance") for one in found] == [True]


def test_instances_are_left_out_where_not_asked_for(account: Account) -> None:
    """AWS documents it as relief for large groups."""
    account.add()
    answer = account.aws.call(AUTO_SCALING, "DescribeAutoScalingGroups", IncludeInstances=False)
    assert [one["Instances"] for one in answer.body["AutoScalingGroups"]] == [[]]


def test_instances_are_launched_at_once(account: Account) -> None:
    """A group that asks for it is grown by LaunchInstances: nothing is owed."""
    target = account.add(tags={"reconciler.dev/launch": "Synchronous"})
    assert account.provider.resize(target, 3, account.bound(target)).done
    assert (account.desired(), len(account.instances())) == (3, 3)


def test_instance_refreshes_are_told(account: Account) -> None:
    """None is none; the group must be named."""
    account.add()
    assert account.aws.call(AUTO_SCALING, "DescribeInstanceRefreshes", AutoScalingGroupName="workers").body == {
        "InstanceRefreshes": []
    }


def test_the_list_of_faults_names_cases() -> None:
    """Every fault that is listed has a case."""
    assert [case for case in FAULTS_OF_MOTO if f"test_{case}" not in globals()] == []
