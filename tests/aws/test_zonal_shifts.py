"""Zonal shifts: where AWS launches nothing, and where we ask for nothing.

The expected values follow the user guides of Amazon EC2 Auto Scaling and of the Application Recovery Controller.
"""

from typing import Any

import pytest

from reconciler.cluster.target import TargetFacts, ZoneShift
from reconciler.plan.plan import Plan
from reconciler.values.instant import parse_instant
from tests.aws.documents import REGION, arn, facts, group
from tests.aws.test_reservations import plan_of, policy_of, sizes
from tests.cluster.objects import Object, container, pod
from tests.decisions.deciding import codes
from tests.decisions.deciding import group as line_of

A, B, C = (f"{REGION}{letter}" for letter in "abc")
ZONES = {"AvailabilityZones": [A, B], "AvailabilityZoneIds": ["euc1-az2", "euc1-az3"]}
UNTIL = "2026-12-01T18:00:00Z"
CLUSTER = f"arn:aws:eks:{REGION}:123456789012:cluster/prod"


def shifted(resource: str, **weights: float) -> Object:
    away = [
        {"awayFrom": zone.replace("_", "-"), "expiryTime": UNTIL, "shiftType": "ZONAL_SHIFT", "appliedStatus": "APPLIED"}
        for zone, weight in weights.items()
        if weight == 0
    ]
    return {
        "arn": resource,
        "appliedWeights": {zone.replace("_", "-"): one for zone, one in weights.items()},
        "zonalShifts": away,
    }


def instance(zone: str, zone_id: str) -> Object:
    return {"InstanceId": f"i-{zone_id}", "AvailabilityZone": zone, "AvailabilityZoneId": zone_id, "LifecycleState": "InService"}


def enabled(name: str = "workers", **rest: Any) -> Object:
    there = [instance(A, "euc1-az2"), instance(B, "euc1-az3")]
    policy = {"ZonalShiftEnabled": True, "ImpairedZoneHealthCheckBehavior": "IgnoreUnhealthy"}
    return group(name, AvailabilityZoneImpairmentPolicy=policy, **{**ZONES, "Instances": there, "DesiredCapacity": 2, **rest})


def away(item: TargetFacts) -> list[tuple[str, str, bool]]:
    return [(one.zone, one.moved, one.closes) for one in item.zone_shifts]


def test_a_registered_group_grows_in_its_other_zones() -> None:
    """AWS launches in b alone. An id of a zone is no name: the account's instances show which zone it is."""
    found = facts(enabled(), ManagedResources=[shifted(arn("workers"), euc1_az2=0, euc1_az3=1)])
    assert found.zone_shifts == (ZoneShift(zone=A, moved="the group", until_seconds=parse_instant(UNTIL)),)
    assert found.template.zones == (B,)
    assert facts(enabled(), ManagedResources=[shifted(arn("workers"), euc1_az2=1, euc1_az3=1)]).template.zones == (A, B)


def test_without_another_zone_it_does_not_grow() -> None:
    for own, zones in (
        (enabled(AvailabilityZones=[A], AvailabilityZoneIds=["euc1-az2"], Instances=[]), [A]),
        (enabled(), [A, B]),
    ):
        found = facts(own, ManagedResources=[shifted(arn("workers"), euc1_az2=0, euc1_az3=0)])
        assert away(found) == [(zone, "the group", True) for zone in zones]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, [(A, "EKS cluster prod", True)]),
        ({"AvailabilityZones": [B], "AvailabilityZoneIds": ["euc1-az3"]}, []),
    ],
)
def test_a_shift_of_the_cluster_stops_a_group_that_still_launches_there(own: Object, expected: object) -> None:
    """The group is not registered, so Auto Scaling knows nothing of the shift: with a zone that is not concerned it may grow."""
    named = group(tags={"eks:cluster-name": "prod"}, **{**ZONES, "Instances": [instance(A, "euc1-az2")], **own})
    found = facts(named, ManagedResources=[shifted(CLUSTER, euc1_az2=0, euc1_az3=1)])
    assert away(found) == expected
    assert away(facts(named, ManagedResources=[shifted(CLUSTER.replace("prod", "other"), euc1_az2=0)])) == []
    assert away(facts(named, ManagedResources=[shifted(CLUSTER.replace(REGION, "us-west-2"), euc1_az2=0)])) == []


def test_a_registered_group_of_a_shifted_cluster_avoids_what_it_was_shifted_from_itself() -> None:
    both = [shifted(CLUSTER, euc1_az2=0, euc1_az3=1), shifted(arn("workers"), euc1_az2=0, euc1_az3=1)]
    assert away(facts(enabled(tags={"eks:cluster-name": "prod"}), ManagedResources=both)) == [(A, "the group", False)]
    assert away(facts(enabled(tags={"eks:cluster-name": "prod"}), ManagedResources=both[:1])) == [(A, "EKS cluster prod", True)]


def test_a_group_that_is_not_registered_is_not_shifted() -> None:
    off = enabled() | {"AvailabilityZoneImpairmentPolicy": {"ZonalShiftEnabled": False}}
    assert facts(off, ManagedResources=[shifted(arn("workers"), euc1_az2=0)]).zone_shifts == ()


def test_what_is_unknown_is_told() -> None:
    """Shifts that were not captured, and a zone whose name nothing shows."""
    assert [one.code for one in facts(enabled()).cautions] == ["ZonalShiftsUnread", "ZoneRebalance"]
    nobody = enabled(Instances=[], DesiredCapacity=0)
    found = facts(nobody, ManagedResources=[shifted(arn("workers"), euc1_az2=0)])
    assert [one.code for one in found.cautions] == ["ShiftedZoneUnknown", "ZoneRebalance"]
    assert found.zone_shifts == ()
    assert found.template.zones == (A, B)


def in_zone(name: str, zone: str) -> Object:
    return pod(name, containers=[container("6", "1Gi")], nodeSelector={"topology.kubernetes.io/zone": zone})


def plan(own: Object, *pods: Object, names: tuple[str, ...] = ("workers",), **documents: Any) -> Plan:
    return plan_of(policy_of(*names), [own, *(group(name) for name in names[1:])], list(pods), **documents)


def test_plans_expect_new_nodes_in_the_zones_that_are_left() -> None:
    """Nothing runs in the group yet, so both zones are equal: without the shift the first node may come to either."""
    own = enabled(DesiredCapacity=0, Instances=[])
    other = enabled("other", DesiredCapacity=2)
    resources = [shifted(arn("workers"), euc1_az2=0, euc1_az3=1)]
    found = plan_of(policy_of("workers"), [own, other], [in_zone("in-a", A), in_zone("in-b", B)], ManagedResources=resources)
    outcomes = {line.pod: line.outcome.value for line in found.pods}
    assert outcomes == {"shop/in-a": "Unplaceable", "shop/in-b": "TriggersScaleUp"}
    assert sizes(found) == {"workers": 1}
    told = [one.message for one in line_of(found, "workers").reasons if one.code == "ZoneAvoided"]
    assert told == [f"new nodes come to other zones than {A}: a zonal shift moves the group away from {A} until {UNTIL}"]


def test_another_group_grows_instead() -> None:
    """One zone, and it is shifted away: the sibling in another zone gets the node; alone, the pod is told why not."""
    own = enabled(AvailabilityZones=[A], AvailabilityZoneIds=["euc1-az2"], Instances=[], DesiredCapacity=0)
    resources = [shifted(arn("workers"), euc1_az2=0)]
    waiting = pod("w", containers=[container("6", "1Gi")])
    assert sizes(plan(own, waiting, names=("workers", "zulu"), ManagedResources=resources)) == {"workers": 0, "zulu": 1}
    alone = plan(own, waiting, ManagedResources=resources)
    assert "ZoneShiftedAway" in codes(alone.pods[0])
    assert "ZoneShiftedAway" in codes(line_of(alone, "workers"))
    assert sizes(plan(own, waiting, names=("workers", "zulu"))) == {"workers": 1, "zulu": 0}
