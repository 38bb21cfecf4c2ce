"""Reservations and zonal shifts on the running service: how they are read, and the loop that depends on them."""

from collections import Counter
from typing import Any

import pytest

from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.reserved import ReservedAndShifted
from tests.aws.documents import REGION
from tests.aws.iam_policies import iam_policy
from tests.aws.policies import policy_set
from tests.aws.scripted import Scripted
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.service.state import Group, Reservation
from tests.aws.test_asking import POLICY, TAG, Polled
from tests.aws.test_loop import Loop, bind, pending, sizes, told
from tests.aws.writes import workers

ZONE = f"{REGION}a"
ONLY = {"CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationIds": ["cr-1"]}}}  # fmt: skip
REGISTERED = {"AvailabilityZoneImpairmentPolicy": {"ZonalShiftEnabled": True}}
BLOCK = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}


def reserve(service: Service, name: str = "cr-1", total: int = 3, **rest: Any) -> Reservation:
    made = Reservation(name=name, region=REGION, zone=ZONE, total=total, **rest)
    service.account.reservations[name] = made
    return made


def polled(service: Service) -> Polled:
    return Polled(service, policy_set(POLICY))


def reads(service: Service, action: str, poll: Polled, minutes: int) -> int:
    """How often it is called in so many minutes of rounds every 10 s."""
    before = service.count(action)
    for _ in range(minutes * 6):
        poll.turn()
    return service.count(action) - before


@pytest.mark.usefixtures("at_once")
def test_how_often_they_are_read(service: Service) -> None:
    """Every minute where a group depends on them, else every half hour; shifts only where a group may be shifted."""
    group = service.account.add(workers(tags={TAG: "owned"}, desired=1))
    poll = polled(service)
    poll.turn()
    assert Counter(action for action, _ in service.account.calls)["DescribeCapacityReservations"] == 1
    assert reads(service, "DescribeCapacityReservations", poll, 29) == 0
    assert reads(service, "DescribeCapacityReservations", poll, 2) == 1
    assert service.count("ListManagedResources") == 0
    group.extra = ONLY | REGISTERED
    reads(service, "Describe", poll, 30)
    assert reads(service, "DescribeCapacityReservations", poll, 10) == 10
    assert reads(service, "ListManagedResources", poll, 10) == 10


@pytest.mark.usefixtures("at_once")
def test_open_reservations_are_watched(service: Service) -> None:
    """Instances that name none take them, so what is free in them counts too."""
    service.account.add(workers(tags={TAG: "owned"}, desired=1))
    reserve(service, criteria="open", others=1)
    poll = polled(service)
    poll.turn()
    assert reads(service, "DescribeCapacityReservations", poll, 10) == 10
    (facts,) = poll.world().targets
    assert [(room.name, room.left) for room in facts.reserved] == [("reservation cr-1", 2)]
    assert facts.rooms == ()


def test_all_pages_are_read() -> None:
    """A page may be short: cr-9 is on the second one."""
    pages = [
        {"CapacityReservations": [], "NextToken": "1"},
        {"CapacityReservations": [{"CapacityReservationId": "cr-9", "State": "active"}]},
    ]
    shifts = [{"items": [], "nextToken": "1"}, {"items": [{"arn": "arn:aws:autoscaling:x:y:autoScalingGroup:z"}]}]

    aws = Scripted(DescribeCapacityReservations=pages, ListManagedResources=shifts)
    asked = ReservedAndShifted(aws)
    group = {"AutoScalingGroupName": "g", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0, **REGISTERED}
    asked.ask(0, [group], ())
    assert [one["CapacityReservationId"] for one in asked.items()["CapacityReservation"]] == ["cr-9"]
    assert len(asked.items()["ManagedResource"]) == 1
    assert aws.told() == [
        ("DescribeCapacityReservations", {"MaxResults": 1000}),
        ("DescribeCapacityReservations", {"MaxResults": 1000, "NextToken": "1"}),
        ("ListManagedResources", {"maxResults": 100}),
        ("ListManagedResources", {"maxResults": 100, "nextToken": "1"}),
    ]


@pytest.mark.usefixtures("at_once")
def test_without_the_rights(service: Service) -> None:
    """Told where a group depends on it, unknown to the plan, and nothing else is kept from being read."""
    denied = iam_policy("prod", TAG, "owned", enforce=False)["Statement"]
    denied[0]["Action"] = [one for one in denied[0]["Action"] if "Reservations" not in one and "arc" not in one]
    service.account.policies["AKIATEST"] = denied
    group = service.account.add(workers(tags={TAG: "owned"}, desired=1))
    reserve(service)
    poll = polled(service)
    poll.turn()
    assert poll.poll.problems == ()
    assert poll.world().targets[0].cautions == ()
    group.extra = ONLY | REGISTERED
    poll = polled(service)
    poll.turn()
    assert [one.partition(": User")[0] for one in poll.poll.problems] == [
        f"{REGION}: DescribeCapacityReservations", f"{REGION}: ListManagedResources"
    ]  # fmt: skip
    (facts,) = poll.world().targets
    assert (facts.rooms, facts.reserved) == ((), ())
    assert [one.code for one in facts.cautions] == ["ReservationsUnread", "ZonalShiftsUnread"]
    del service.account.policies["AKIATEST"]
    reads(service, "Describe", poll, 2)
    assert poll.poll.problems == ()
    (facts,) = poll.world().targets
    # AWS calls all three free, but an instance runs that can be nowhere else.
    assert ([room.left for room in facts.rooms], facts.cautions) == ([2], ())


@pytest.mark.usefixtures("at_once")
def test_a_network_without_the_endpoint_of_zonal_shifts(service: Service) -> None:
    """Groups are read as ever; the next try is a minute later."""
    service.account.add(workers(tags={TAG: "owned"}, desired=1, extra=REGISTERED))
    service.account.faults["ListManagedResources"] = [ServiceError("ThrottlingException", "Rate exceeded", 429)]
    poll = polled(service)
    poll.turn()
    assert [one for one in poll.poll.problems if "ListManagedResources" in one]
    assert len(poll.world().targets) == 1
    reads(service, "ListManagedResources", poll, 2)
    assert poll.poll.problems == ()
    group = {"AutoScalingGroupName": "g", "MinSize": 0, "MaxSize": 1, "DesiredCapacity": 0, **REGISTERED}
    lost = AwsError("Unreachable", "timed out")
    answered = {"items": [{"arn": "arn:aws:autoscaling:x:y:autoScalingGroup:z"}]}
    asked = ReservedAndShifted(Scripted(ListManagedResources=[lost, answered, lost], DescribeCapacityReservations=[lost]))
    for seconds, kinds, problems in (
        (0, [], ("ListManagedResources: timed out",)),
        (60, ["ManagedResource"], ()),
        (120, ["ManagedResource"], ("ListManagedResources: timed out",)),
    ):
        asked.ask(seconds, [group], ())
        assert (list(asked.items()), asked.problems) == (kinds, problems)


def use(group: Group, **extra: Any) -> None:
    group.extra = extra


def test_no_more_is_asked_for_than_is_reserved(service: Service) -> None:
    """Three are reserved, and four pods wait: three nodes there, the fourth in the next tier, and AWS refuses nothing."""
    loop = Loop(service)
    use(loop.groups["spot"], **ONLY)
    reserve(service)
    loop.cluster.pods = pending(4)
    report = loop.turns(12)
    assert sizes(loop) == (3, 1), told(report)
    assert not [one for one in service.account.activities if one["StatusCode"] == "Failed"]
    assert service.account.free(service.account.reservations["cr-1"]) == 0


def test_a_block_is_empty_before_it_ends(service: Service) -> None:
    """AWS begins to end instances half an hour before the end. By then the pods are elsewhere, and nothing was cut off."""
    loop = Loop(service)
    spot, general = loop.groups["spot"], loop.groups["general"]
    spot.template = BLOCK | {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}}
    general.min_size = general.desired = 2
    service.advance(120)
    # m5.large has no Capacity Blocks, so AWS is expected to begin an hour before.
    end = service.account.now + 3 * 3600
    reserve(service, kind="capacity-block", ends_at=end)
    loop.cluster.pods = movable(2)
    loop.turns(3)
    assert sizes(loop) == (0, 2)
    loop.cluster.pods = movable(4)
    for item, one in zip(loop.cluster.pods, general.counted, strict=False):
        run(item, one.instance_id)
    report = loop.turns(8)
    assert sizes(loop) == (2, 2), told(report)
    for item, one in zip(loop.cluster.pods[2:], spot.counted, strict=True):
        run(item, one.instance_id)
    # The pods of the other group are done: there is room for those of the block.
    loop.cluster.pods = loop.cluster.pods[2:]
    while service.account.now < end - 3600 - 1800 - 60:
        report = loop.turn(60)
    assert sizes(loop) == (2, 2), told(report)
    while service.account.now < end + 600:
        report = loop.turn(60)
        free = [one.instance_id for one in general.counted]
        for item in loop.cluster.pods:
            if item["spec"]["nodeName"] in loop.cluster.leaving:
                run(item, free[len(loop.cluster.leaving) % 2])
    assert sizes(loop) == (0, 2), told(report)
    assert service.account.cut_off == []
    assert service.account.reservations["cr-1"].state == "expired"


def movable(count: int) -> list[dict[str, Any]]:
    pods = pending(count)
    for item in pods:
        item["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    return pods


def run(item: dict[str, Any], instance: str) -> None:
    item["spec"]["nodeName"] = f"n-{instance}"
    item["status"] = {"phase": "Running"}


def test_new_nodes_come_to_the_zones_that_are_left(service: Service) -> None:
    """The group spans a and b and is shifted away from a: both nodes come to b, as the plan says."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    spot.zones = [ZONE, f"{REGION}b"]
    spot.desired = 2
    spot.extra = REGISTERED
    service.advance(120)
    assert Counter(one.zone for one in spot.counted) == {ZONE: 1, f"{REGION}b": 1}
    spot.shifted_from = {ZONE}
    loop.cluster.pods = pending(2)
    bind(loop, spot)
    loop.cluster.pods += pending(2, "late")
    report = loop.turns(12)
    assert sizes(loop) == (4, 0), told(report)
    assert Counter(one.zone for one in spot.counted) == {ZONE: 1, f"{REGION}b": 3}
    assert report.plan is not None
    (line,) = [one for one in report.plan.groups if one.name == "spot"]
    assert "ZoneAvoided" in [one.code for one in line.reasons]


def test_a_group_with_one_zone_waits_until_the_shift_is_over(service: Service) -> None:
    """The next tier takes the first pod; once the shift is over, the first tier takes the second."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    spot.extra, spot.shifted_from = REGISTERED, {ZONE}
    loop.cluster.pods = pending(1)
    report = loop.turns(8)
    assert sizes(loop) == (0, 1), told(report)
    bind(loop, loop.groups["general"])
    spot.shifted_from = set()
    loop.turn(60)
    loop.cluster.pods += pending(1, "late")
    report = loop.turn()
    assert sizes(loop) == (1, 1), told(report)
