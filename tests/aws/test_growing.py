"""Raising a desired capacity: after the read that was judged, never downwards, never on what is old."""

import pytest

from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.providers.contract import WriteCode
from tests.aws.documents import REGION
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import GARBLED, LOST, Service
from tests.aws.writes import MARK, Writer, ref, workers


@pytest.mark.usefixtures("at_once")
def test_s39_desired_alone_is_written(service: Service) -> None:
    """S39: desired capacity rises, the bounds stay, and what was written last stands in a tag."""
    group, writer = service.account.add(workers()), Writer(service)
    result = writer.provider.resize(ref(group), 5, writer.bound(group), MARK)
    assert result.done, result
    assert (group.desired, group.min_size, group.max_size) == (5, 0, 20)
    assert group.tags[POLICY_MARK] == "prod"
    assert group.tags["reconciler.dev/desired"] == f"5.{int(service.account.now)}"
    service.advance(60)
    assert len(group.counted) == 5


@pytest.mark.usefixtures("at_once")
def test_written_twice(service: Service) -> None:
    """An outcome that nobody knows: what was asked for is judged again, and not bought twice."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    service.account.faults["SetDesiredCapacity"] = [LOST]
    first = writer.provider.resize(ref(group), 5, bound, MARK)
    assert (first.done, first.code) == (False, WriteCode.UNKNOWN)
    assert group.desired == 5
    assert writer.provider.resize(ref(group), 5, bound, MARK).code == WriteCode.STALE
    assert group.desired == 5


def test_an_answer_that_is_none(service: Service) -> None:
    """A page of something in between tells nobody whether the write was done."""
    group, writer = service.account.add(workers()), Writer(service)
    service.account.faults["SetDesiredCapacity"] = [GARBLED]
    assert writer.provider.resize(ref(group), 5, writer.bound(group)).code == WriteCode.UNKNOWN
    bound = writer.bound(group)
    service.account.faults["DescribeAutoScalingGroups"] = [GARBLED]
    assert writer.provider.resize(ref(group), 6, bound).code == WriteCode.UNAVAILABLE
    assert group.desired == 5


@pytest.mark.usefixtures("at_once")
def test_a_second_writer_between_decision_and_write(service: Service) -> None:
    """What somebody else has set meanwhile is not overwritten."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    group.desired = 7
    assert writer.provider.resize(ref(group), 5, bound).code == WriteCode.STALE
    assert group.desired == 7


def test_never_downwards(service: Service) -> None:
    """Below what runs the group's own policy would choose who goes."""
    group, writer = service.account.add(workers(desired=5)), Writer(service)
    assert writer.provider.resize(ref(group), 3, writer.bound(group)).code == WriteCode.REFUSED
    assert (group.desired, service.count("SetDesiredCapacity")) == (5, 0)


def test_above_its_maximum(service: Service) -> None:
    """Told before it is asked; and AWS's own words, where the bound falls in between."""
    group, writer = service.account.add(workers(max_size=3)), Writer(service)
    assert "MaxSize 3" in writer.provider.resize(ref(group), 4, writer.bound(group)).message
    bound = writer.bound(group)
    service.account.before.append(lambda action, _: setattr(group, "max_size", 2) if action == "SetDesiredCapacity" else None)
    result = writer.provider.resize(ref(group), 3, bound)
    assert result.code == WriteCode.REFUSED
    assert "New SetDesiredCapacity value 3 is above max value 2" in result.message


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"operator": "eks.amazonaws.com"}, "Operator.Principal"),
        ({"suspended": {"Launch"}}, "suspended processes: Launch"),
        ({"tags": {"reconciler.dev/hold": "maintenance"}}, "maintenance"),
        ({"policies": [{"PolicyName": "cpu", "PolicyType": "StepScaling"}]}, "scaling policy cpu"),
        ({"schedules": [{"ScheduledActionName": "n", "DesiredCapacity": 1, "Recurrence": "0 0 * * *"}]}, "scheduled action n"),
        ({"refreshes": [{"InstanceRefreshId": "r", "Status": "InProgress"}]}, "instance refresh r"),
    ],
)
@pytest.mark.usefixtures("at_once")
def test_held_since_it_was_judged(service: Service, held: dict[str, object], words: str) -> None:
    """Whoever has begun to size it meanwhile is met by the read before the write."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    for name, value in held.items():
        setattr(group, name, value)
    result = writer.provider.resize(ref(group), 3, bound)
    assert not result.done
    assert words in result.message
    assert (group.desired, service.count("SetDesired"), service.count("CreateOrUpdateTags")) == (2, 0, 0)


@pytest.mark.usefixtures("at_once")
def test_of_another_policy(service: Service) -> None:
    """The mark of another policy is part of what was judged."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    group.tags[POLICY_MARK] = "other"
    assert writer.provider.resize(ref(group), 3, bound, MARK).code == WriteCode.STALE
    assert group.desired == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ServiceError("Throttling", "Rate exceeded"), WriteCode.UNAVAILABLE),
        (ServiceError("ResourceContention", "You already have a pending update", 500), WriteCode.UNAVAILABLE),
        (
            ServiceError("ScalingActivityInProgress", "Scaling activity 1 is in progress and blocks this action"),
            WriteCode.UNAVAILABLE,
        ),
        (ServiceError("AccessDenied", "not authorized to perform: autoscaling:SetDesiredCapacity", 403), WriteCode.DENIED),
        (ServiceError("ValidationError", "AutoScalingGroup name not found - null"), WriteCode.NOT_FOUND),
        (ServiceError("InternalFailure", "An internal error has occurred", 500), WriteCode.UNKNOWN),
    ],
)
def test_refusals(service: Service, error: ServiceError, code: WriteCode) -> None:
    """What each of AWS's answers means."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    service.account.faults["SetDesiredCapacity"] = [error]
    assert writer.provider.resize(ref(group), 3, bound).code == code
    assert group.desired == 2


def test_nothing_is_written_on_what_could_not_be_read(service: Service) -> None:
    """Throttled, or not allowed to see who else writes: no write."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    service.account.faults["DescribePolicies"] = [ServiceError("AccessDenied", "no", 403)]
    assert writer.provider.resize(ref(group), 3, bound).code == WriteCode.DENIED
    service.account.faults["DescribeAutoScalingGroups"] = [ServiceError("Throttling", "Rate exceeded")]
    assert writer.provider.resize(ref(group), 3, bound).code == WriteCode.UNAVAILABLE
    before = len(service.account.calls)
    assert "throttles" in writer.provider.resize(ref(group), 3, bound).message
    assert len(service.account.calls) == before, "a throttled account is left alone for a while"
    assert group.desired == 2


def test_only_the_leader_writes(service: Service) -> None:
    """A process that has lost the Lease reads and writes nothing."""

    def guard() -> None:
        raise NotLeaderError("not the leader")

    group, writer = service.account.add(workers()), Writer(service, guard)
    with pytest.raises(NotLeaderError):
        writer.provider.resize(ref(group), 3, writer.bound(group), MARK)
    assert (group.desired, group.tags) == (2, {})


def test_gone(service: Service) -> None:
    """A group that was deleted meanwhile."""
    group, writer = service.account.add(workers()), Writer(service)
    bound = writer.bound(group)
    service.account.groups.clear()
    assert writer.provider.resize(ref(group), 3, bound).code == WriteCode.NOT_FOUND


@pytest.mark.usefixtures("at_once")
def test_release(service: Service) -> None:
    """Our tags go, those of others and the size stay."""
    group, writer = service.account.add(workers(tags={"team": "a"})), Writer(service)
    writer.provider.resize(ref(group), 3, writer.bound(group), MARK)
    assert writer.provider.release(ref(group), writer.bound(group)).done
    assert (group.tags, group.desired) == ({"team": "a"}, 3)


def test_adopt(service: Service) -> None:
    """There is nothing to take over."""
    group, writer = service.account.add(workers()), Writer(service)
    assert writer.provider.adopt(ref(group), 2, writer.bound(group)).code == WriteCode.REFUSED


def test_as_a_role(service: Service) -> None:
    """A group of another account is asked as the role of its NodeGroup; a role without rights is refused."""
    group = service.account.add(workers())
    service.account.policies["ASIAreader"] = [{"Effect": "Allow", "Action": "autoscaling:Describe*", "Resource": "*"}]
    writer = Writer(service, role="arn:aws:iam::123456789012:role/reader")
    result = writer.provider.resize(ref(group), 3, writer.bound(group))
    assert result.code == WriteCode.DENIED
    assert "not authorized to perform: autoscaling:SetDesiredCapacity" in result.message


LAUNCHES = {"reconciler.dev/launch": "Synchronous"}


def test_launched_at_once(service: Service) -> None:
    """A group that asks for it: instances come with the answer, in the emptiest zone, and nothing is owed."""
    group, writer = service.account.add(workers(zones=2, desired=1, tags=dict(LAUNCHES))), Writer(service)
    assert writer.provider.resize(ref(group), 3, writer.bound(group)).done
    assert [one.zone for one in group.counted] == [f"{REGION}a", f"{REGION}b", f"{REGION}b"]
    assert (group.desired, service.count("SetDesired")) == (3, 0)


def test_launched_where_there_is_stock(service: Service) -> None:
    """One zone has none: the other one is asked in the same turn."""
    group, writer = service.account.add(workers(zones=2, desired=0, tags=dict(LAUNCHES))), Writer(service)
    service.account.stock[f"{REGION}a", "m5.large"] = 1
    assert writer.provider.resize(ref(group), 3, writer.bound(group)).done
    assert sorted(one.zone for one in group.counted) == [f"{REGION}a", f"{REGION}b", f"{REGION}b"]
    assert group.desired == 3


def test_nothing_in_stock_at_once(service: Service) -> None:
    """No zone has any: told with the class at once, desired capacity is what it was."""
    group, writer = service.account.add(workers(desired=1, tags=dict(LAUNCHES))), Writer(service)
    service.account.stock[f"{REGION}a", "m5.large"] = 0
    result = writer.provider.resize(ref(group), 3, writer.bound(group))
    assert (result.code, group.desired) == ("Failed", 1)
    assert "Stock: InsufficientInstanceCapacity" in result.message


@pytest.mark.usefixtures("at_once")
def test_launched_once_though_the_answer_was_lost(service: Service) -> None:
    """The same call again is the same launch."""
    group, writer = service.account.add(workers(desired=1, tags=dict(LAUNCHES))), Writer(service)
    bound = writer.bound(group)
    service.account.faults["LaunchInstances"] = [LOST]
    assert writer.provider.resize(ref(group), 3, bound).code == WriteCode.UNKNOWN
    assert group.desired == 3
    assert writer.provider.resize(ref(group), 3, bound).code == WriteCode.STALE
    assert len(group.counted) == 3
