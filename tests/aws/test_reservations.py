"""Reserved capacity of Auto Scaling groups: what counts, what is free, which groups share it, and when a block ends.

The expected values follow the user guides of Amazon EC2 and of Amazon EC2 Auto Scaling, with sums made by hand.
"""

import json
from typing import Any

import pytest

from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import Ending, TargetFacts
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.platforms.aws.facts import wire, wire_launch
from reconciler.platforms.aws.facts.shown import shown
from reconciler.simulation.settled import settled
from reconciler.values.instant import parse_instant
from tests.aws.documents import REGION, SIZERS, arn, facts, group, template_version, world
from tests.aws.policies import policy_set
from tests.cluster.objects import Object, container, node, pod
from tests.decisions.deciding import codes
from tests.decisions.deciding import group as line_of

ZONE = f"{REGION}a"
END = "2026-12-01T11:30:00Z"


def reservation(name: str = "cr-1", *, total: int = 8, free: int = 3, **rest: Any) -> Object:
    return {
        "CapacityReservationId": name,
        "CapacityReservationArn": f"arn:aws:ec2:{REGION}:123456789012:capacity-reservation/{name}",
        "InstanceType": "m5.large",
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": ZONE,
        "Tenancy": "default",
        "TotalInstanceCount": total,
        "AvailableInstanceCount": free,
        "State": "active",
        "EndDateType": "unlimited",
        "InstanceMatchCriteria": "targeted",
        "ReservationType": "default",
        **rest,
    }


def block(name: str = "cr-b", instance_type: str = "p5.48xlarge", **rest: Any) -> Object:
    return reservation(
        name, InstanceType=instance_type, ReservationType="capacity-block", EndDate=END, EndDateType="limited", **rest
    )


def reserving(name: str = "workers", *ids: str, preference: str = "capacity-reservations-only", **rest: Any) -> Object:
    target = {"CapacityReservationTarget": {"CapacityReservationIds": list(ids)}} if ids else {}
    return group(name, CapacityReservationSpecification={"CapacityReservationPreference": preference, **target}, **rest)


def instances(number: int, zone: str = ZONE, first: int = 0) -> list[Object]:
    return [
        {
            "InstanceId": f"i-{first + one:04x}",
            "AvailabilityZone": zone,
            "LifecycleState": "InService",
            "InstanceType": "m5.large",
        }
        for one in range(number)
    ]


def room(item: TargetFacts) -> tuple[str, int, str]:
    (found,) = item.rooms
    return found.name, found.left, found.why


def template(data: Object) -> Object:
    return {"LaunchTemplateVersions": [template_version({"InstanceType": "m5.large", **data})]}


USES_TEMPLATE = {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}


def test_only_reserved_capacity() -> None:
    """8 are reserved, 5 are in use: 3 more at most. What was requested and is not there yet is owed of them."""
    found = facts(reserving("workers", "cr-1"), CapacityReservations=[reservation()])
    assert room(found) == ("reservation cr-1", 3, "5 of 8 instances are in use")
    assert found.reserved == found.rooms
    owing = facts(reserving("workers", "cr-1", DesiredCapacity=2), CapacityReservations=[reservation()])
    assert room(owing) == ("reservation cr-1", 1, "5 of 8 instances are in use, 2 more are requested")


def test_a_count_that_is_older_than_the_instances() -> None:
    """AWS still says that all 8 are free, but 6 instances run that can be nowhere else."""
    own = reserving("workers", "cr-1", DesiredCapacity=6, Instances=instances(6))
    found = facts(own, CapacityReservations=[reservation(free=8)])
    assert room(found) == ("reservation cr-1", 2, "6 of 8 instances are in use")


def test_reserved_capacity_first_bounds_nothing() -> None:
    """Beyond the reservation the group launches on demand."""
    found = facts(reserving("workers", "cr-1", preference="capacity-reservations-first"), CapacityReservations=[reservation()])
    assert found.rooms == ()
    assert [one.left for one in found.reserved] == [3]


@pytest.mark.parametrize(
    ("spec", "limited", "free"),
    [
        ({"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}, [3], [3]),
        ({"CapacityReservationPreference": "none"}, [], []),
        ({"CapacityReservationPreference": "open"}, [], []),
        ({"CapacityReservationPreference": "capacity-reservations-only"}, [0], []),
    ],
)
def test_the_launch_template_says_it(spec: Object, limited: list[int], free: list[int]) -> None:
    """The reservation is a targeted one, so that an instance that takes any open one does not take it."""
    documents = {**template({"CapacityReservationSpecification": spec}), "CapacityReservations": [reservation()]}
    found = facts(group(**USES_TEMPLATE), **documents)
    assert ([one.left for one in found.rooms], [one.left for one in found.reserved]) == (limited, free)


@pytest.mark.parametrize(
    ("changed", "zones", "free"),
    [
        ({}, "a", [3]),
        ({}, "ab", []),
        ({"InstanceType": "m5.xlarge"}, "a", []),
        ({"AvailabilityZone": f"{REGION}b"}, "a", []),
        ({"InstancePlatform": "Windows"}, "a", []),
        ({"Tenancy": "dedicated"}, "a", []),
        ({"State": "scheduled"}, "a", []),
    ],
)
def test_an_open_reservation_that_matches(changed: Object, zones: str, free: list[int]) -> None:
    """By default, an instance takes an open one of its type, platform, tenancy and zone. With several zones it may come to
    another one."""
    own = group(**USES_TEMPLATE, AvailabilityZones=[REGION + letter for letter in zones])
    documents = {**template({}), "CapacityReservations": [reservation(InstanceMatchCriteria="open") | changed]}
    found = facts(own, **documents)
    assert [one.left for one in found.reserved] == free
    assert found.rooms == ()
    assert not any(one.code.startswith("Reservation") for one in found.cautions)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"State": "payment-pending"}, "its state is payment-pending"),
        ({"State": "brand-new"}, "its state is brand-new"),
        ({"ReservationType": "brand-new"}, "its type is brand-new"),
        ({"ReservationType": "capacity-block"}, "its type is capacity-block"),
        ({"Interruptible": True}, "it is interruptible"),
        ({"LaunchStatus": "unlaunchable"}, "its launch status is unlaunchable"),
        ({"AvailabilityZone": f"{REGION}b"}, f"it is in {REGION}b"),
        ({"InstanceType": "c5.large"}, "it reserves c5.large"),
        ({"CapacityReservationId": "cr-9"}, "it is not among the capacity reservations of the account"),
    ],
)
def test_what_is_not_known_to_be_usable_does_not_count(changed: Object, fault: str) -> None:
    """The group may not grow, and the reason says why; `doctor` says it too."""
    own = reserving("workers", "cr-1", **USES_TEMPLATE)
    found = facts(own, **template({}), CapacityReservations=[reservation() | changed])
    assert room(found) == ("reservation cr-1", 0, f"cr-1: {fault}")
    assert found.reserved == ()
    assert [one.message for one in found.cautions if one.code == "ReservationUnusable"] == [
        f"a reservation is ignored: cr-1: {fault}"
    ]


def test_unread_reservations_are_not_guessed() -> None:
    """Not captured, or named by a resource group: nothing bounds the group here, and `doctor` says that it is unknown."""
    for own, captured in (
        (reserving("workers", "cr-1"), {}),
        (
            group(
                CapacityReservationSpecification={
                    "CapacityReservationPreference": "capacity-reservations-only",
                    "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": ["arn:aws:resource-groups:x"]},
                }
            ),
            {"CapacityReservations": [reservation()]},
        ),
        (reserving("workers", preference="brand-new"), {"CapacityReservations": [reservation()]}),
    ):
        found = facts(own, **captured)
        assert (found.rooms, found.reserved, found.endings) == ((), (), ())
        assert [one.code for one in found.cautions] == ["ReservationsUnread"]


def test_groups_that_share_some_reservations() -> None:
    """a has cr-1 (2 left) alone; b has cr-1 and cr-2 (2 and 4 left): together they get 6, and a gets 2 of them at most."""
    found = world(
        reserving("a", "cr-1"),
        reserving("b", "cr-1", "cr-2"),
        CapacityReservations=[reservation("cr-1", total=4, free=2), reservation("cr-2", total=4, free=4)],
    )
    rooms = {one.ref.name: [(room.name, room.left) for room in one.rooms] for one in found.targets}
    both = ("reservations cr-1, cr-2", 6)
    assert rooms == {"a": [("reservation cr-1", 2), both], "b": [both]}


def test_a_chain_of_groups_that_share_reservations() -> None:
    """a has 1 and 2, b has 2 and 3, c has 3 and 4. One is left in each of 1, 2 and 3, and nine are left in 4. So a and b get 3
    together, although each alone could have 2, and c may have more than enough."""
    left = {"cr-1": 1, "cr-2": 1, "cr-3": 1, "cr-4": 9}
    groups = [reserving("a", "cr-1", "cr-2"), reserving("b", "cr-2", "cr-3"), reserving("c", "cr-3", "cr-4")]
    captured = [reservation(name, total=9, free=free) for name, free in left.items()]
    by_name = {
        one.ref.name: {room.name: room.left for room in one.rooms}
        for one in world(*groups, CapacityReservations=captured).targets
    }
    of_two = {f"reservations {', '.join(names)}": sum(left[name] for name in names) for names in (
        ("cr-1", "cr-2"), ("cr-1", "cr-2", "cr-3"), ("cr-1", "cr-2", "cr-3", "cr-4"))}  # fmt: skip
    assert by_name["a"] == of_two
    assert by_name["b"].items() > {name: left for name, left in of_two.items() if "cr-3" in name}.items()
    plan = plan_of(policy_of("a", "b"), groups, waiting(9), CapacityReservations=captured)
    assert sum(sizes(plan).values()) == 3


def test_a_reservation_of_another_region_is_another_one() -> None:
    found = facts(
        reserving("workers", "cr-1"),
        CapacityReservations=[
            reservation() | {"CapacityReservationArn": "arn:aws:ec2:us-west-2:123456789012:capacity-reservation/cr-1"}
        ],
    )
    assert [one.code for one in found.cautions] == ["ReservationsUnread"]


@pytest.mark.parametrize(
    ("instance_type", "begins"),
    [
        ("p5.48xlarge", "2026-12-01T11:00:00Z"),
        ("p6e-gb200.36xlarge", "2026-12-01T10:30:00Z"),
        ("new.large", "2026-12-01T10:30:00Z"),
    ],
)
def test_when_aws_begins_to_end_a_block(instance_type: str, begins: str) -> None:
    """30 minutes before the end; 60 for UltraServers, and for types that are not known to be other ones."""
    spec = {"InstanceMarketOptions": {"MarketType": "capacity-block"}, "InstanceType": instance_type}
    spec |= {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-b"}}}
    found = facts(group(**USES_TEMPLATE), **template(spec), CapacityReservations=[block(instance_type=instance_type)])
    assert found.endings == (Ending(zone=ZONE, what="Capacity Block cr-b", at_seconds=parse_instant(begins)),)
    assert room(found) == ("reservation cr-b", 3, f"5 of 8 instances are in use, until {END}")


def test_instances_outlive_an_on_demand_reservation() -> None:
    """They keep running when it ends, so nothing is drained for it."""
    ends = reservation(EndDate=END, EndDateType="limited")
    found = facts(reserving("workers", "cr-1"), CapacityReservations=[ends])
    assert found.endings == ()


def test_two_blocks_in_one_zone_are_told_and_none_is_drained() -> None:
    own = reserving("workers", "cr-b", "cr-c", **USES_TEMPLATE)
    spec = {"InstanceMarketOptions": {"MarketType": "capacity-block"}, "InstanceType": "p5.48xlarge"}
    found = facts(own, **template(spec), CapacityReservations=[block("cr-b"), block("cr-c")])
    assert found.endings == ()
    assert [one.code for one in found.cautions] == ["CapacityBlocksMixed"]


# Decisions.

HEAD = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  pods: {newPodDelay: 0s, burstPause: 0s}
  budgets: [{nodes: 1}]
  pace: {delayAfterAdd: 0s, delayAfterFailure: 0s}
  defaults: {size: {min: 0, max: 9}, template: {capacity: {cpu: 8, memory: 32Gi}}}
"""
NOW = "2026-11-30T12:00:00Z"


def consolidating(text: str) -> str:
    return text.replace("size: {min: 0, max: 9}", "size: {min: 0, max: 9}, scaleDown: {consolidation: {mode: Enabled}}")


def policy_of(*names: str, prices: dict[str, str] | None = None) -> str:
    text = HEAD
    for name in names:
        price = f', pricePerHour: "{prices[name]}"' if prices else ""
        text += f"""---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec: {{policyRef: {{name: prod}}, target: {{aws: {{autoScalingGroup: {name}, region: {REGION}}}}}{price}}}
"""
    return text


def plan_of(policy: str, groups: list[Object], objects: list[Object], now: str = NOW, **documents: Any) -> Plan:
    """The decision at an instant, with the sizes of its steady state."""
    files = {"asg.json": {"AutoScalingGroups": groups}, **{key: {key: []} for key in SIZERS}}
    files |= {key: {key: content} for key, content in documents.items()}
    files["objects.json"] = {"apiVersion": "v1", "kind": "List", "items": objects}
    files["rest.json"] = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []}
    files["sets.json"] = {"apiVersion": "apps/v1", "kind": "ReplicaSetList", "items": []}
    whole = read_snapshot({name: json.dumps(content).encode() for name, content in files.items()})
    rules, at = policy_set(policy), parse_instant(now)
    plan, memory = decide(whole, rules, Memory(), at)
    return settled(whole, rules, memory, at, plan)


def waiting(number: int) -> list[Object]:
    return [pod(f"w{one}", containers=[container("6", "1Gi")]) for one in range(number)]


def sizes(plan: Plan) -> dict[str, int]:
    return {line.name: line.desired for line in plan.groups}


def test_free_reserved_capacity_is_used_first() -> None:
    """Five pods of a node each: the two free reserved places first, though `spare` costs a tenth; the rest as ever."""
    prices = {"reserved": "1", "spare": "0.1"}
    groups = [reserving("reserved", "cr-1"), group("spare")]
    plan = plan_of(
        policy_of("reserved", "spare", prices=prices), groups, waiting(5), CapacityReservations=[reservation(total=8, free=2)]
    )
    assert sizes(plan) == {"reserved": 2, "spare": 3}
    first = [one.message for one in line_of(plan, "reserved").reasons if one.code == "ReservedFirst"]
    assert first == ["2 nodes take free capacity of reservation cr-1 before other groups of the tier grow (2 were free)"]
    without_one = plan_of(policy_of("reserved", "spare", prices=prices), groups, waiting(5), CapacityReservations=[])
    assert sizes(without_one) == {"reserved": 0, "spare": 5}


def test_two_groups_share_the_free_places() -> None:
    """Both run in cr-1, which has three left: three nodes in all, and two pods are told why not."""
    groups = [reserving("a", "cr-1"), reserving("b", "cr-1")]
    plan = plan_of(policy_of("a", "b"), groups, waiting(5), CapacityReservations=[reservation()])
    assert sum(sizes(plan).values()) == 3
    refused = [line for line in plan.pods if line.outcome.value == "Unplaceable"]
    assert len(refused) == 2
    assert all("RoomTaken" in codes(line) for line in refused)


def test_the_plan_says_what_is_reserved() -> None:
    plan = plan_of(policy_of("workers"), [reserving("workers", "cr-1")], [], CapacityReservations=[reservation()])
    told = [one.message for one in line_of(plan, "workers").reasons if one.code == "ReservedCapacity"]
    assert told == ["reservation cr-1: 5 of 8 instances are in use, 3 free for new nodes"]


BLOCKED = {"InstanceMarketOptions": {"MarketType": "capacity-block"}, "InstanceType": "p5.48xlarge"}


MOVABLE = {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}


def block_plan(now: str, *extra: Object, own: dict[str, Any] | None = None) -> Plan:
    """Two nodes in a block that ends at 11:30, each with a pod, and an empty one of 20 cores elsewhere."""
    groups = [
        reserving("gpu", "cr-b", DesiredCapacity=2, Instances=instances(2), **USES_TEMPLATE, **(own or {})),
        group("spare", DesiredCapacity=1, Instances=instances(1, first=16)),
    ]
    nodes = [
        node(f"n{one}", cpu=cpu, memory="64Gi", spec={"providerID": f"aws:///{ZONE}/i-{one:04x}"})
        for one, cpu in ((0, "16"), (1, "16"), (16, "20"))
    ]
    running = {"nodeName": "", "status": {"phase": "Running"}}
    pods = [
        pod(f"p{one}", meta=MOVABLE, containers=[container("6", "1Gi")], **{**running, "nodeName": f"n{one}"}) for one in (0, 1)
    ]
    documents = {**template(BLOCKED), "CapacityReservations": [block(free=2)]}
    return plan_of(policy_of("gpu", "spare"), groups, [*nodes, *pods, *extra], now, **documents)


def leaving(plan: Plan) -> list[tuple[tuple[str, ...], str]]:
    return [(action.nodes, action.reason.code) for action in plan.actions if action.kind.value == "RemoveNode"]


def test_pods_leave_a_block_before_it_ends() -> None:
    """AWS begins at 11:00, so the drains begin at 10:30, within the budget of one. The nodes are in use: 10 of 16 cores."""
    busy = [pod(f"q{one}", meta=MOVABLE, containers=[container("4", "1Gi")], nodeName=f"n{one}", status={"phase": "Running"})
            for one in (0, 1)]  # fmt: skip
    before = block_plan("2026-12-01T10:29:59Z", *busy)
    assert leaving(before) == []
    drained = block_plan("2026-12-01T10:30:00Z", *busy)
    assert leaving(drained) == [(("n0",), "Ending")]
    (action,) = [one for one in drained.actions if one.kind.value == "RemoveNode"]
    assert action.reason.message == (
        "the platform ends n0 from 2026-12-01T11:00:00Z on, with Capacity Block cr-b, and 2 pods fit elsewhere"
    )
    (other,) = [line for line in drained.nodes if line.node == "n1"]
    assert [one.code for one in other.blockers] == ["Budget"]


def test_pods_do_not_move_to_a_node_that_ends_as_well() -> None:
    """Each of the two has room for the pod of the other, and nothing else has: both wait, and say why."""
    full = pod("full", meta=MOVABLE, containers=[container("16", "1Gi")], nodeName="n16", status={"phase": "Running"})
    drained = block_plan("2026-12-01T10:30:00Z", full)
    assert leaving(drained) == []
    kept = {line.node: [one.code for one in line.blockers] for line in drained.nodes}
    assert (kept["n0"], kept["n1"]) == (["NoPlaceToMove"], ["NoPlaceToMove"])


def test_a_machine_of_an_older_template_has_no_known_end() -> None:
    old = [one | {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "0"}} for one in instances(2)]
    busy = [pod(f"q{one}", meta=MOVABLE, containers=[container("4", "1Gi")], nodeName=f"n{one}", status={"phase": "Running"})
            for one in (0, 1)]  # fmt: skip
    groups = [
        reserving("gpu", "cr-b", DesiredCapacity=2, Instances=old, **USES_TEMPLATE),
        group("spare", DesiredCapacity=1, Instances=instances(1, first=16)),
    ]
    nodes = [node(f"n{one}", cpu="16", memory="64Gi", spec={"providerID": f"aws:///{ZONE}/i-{one:04x}"}) for one in (0, 1, 16)]
    documents = {**template(BLOCKED), "CapacityReservations": [block(free=2)]}
    for items, expected in ((groups, []), ([groups[0] | {"Instances": instances(2)}, groups[1]], ["Ending"])):
        plan = plan_of(policy_of("gpu", "spare"), items, [*nodes, *busy], "2026-12-01T10:31:00Z", **documents)
        assert [code for _, code in leaving(plan)] == expected


def test_no_growth_in_the_last_hour() -> None:
    """AWS begins at 11:00: until 09:59:59 the block's free places are used first, from 10:00 on the other group grows."""
    groups = [reserving("gpu", "cr-b", **USES_TEMPLATE), group("spare")]
    documents = {**template(BLOCKED), "CapacityReservations": [block(free=2)]}
    early = plan_of(policy_of("gpu", "spare"), groups, waiting(1), "2026-12-01T09:59:59Z", **documents)
    late = plan_of(policy_of("gpu", "spare"), groups, waiting(1), "2026-12-01T10:00:00Z", **documents)
    assert (sizes(early), sizes(late)) == ({"gpu": 1, "spare": 0}, {"gpu": 0, "spare": 1})
    alone = plan_of(policy_of("gpu"), groups[:1], waiting(1), "2026-12-01T10:00:00Z", **documents)
    assert "CapacityEnds" in codes(alone.pods[0])


def test_the_minimum_of_the_group_keeps_its_nodes() -> None:
    """No removal passes a minimum (rule 2): the node says so."""
    kept = block_plan("2026-12-01T10:30:00Z", own={"MinSize": 2})
    assert leaving(kept) == []
    assert {one.code for line in kept.nodes if line.node in ("n0", "n1") for one in line.blockers} == {"MinSize"}


def test_a_simulation_takes_what_is_reserved() -> None:
    """Three nodes at once would be too fast for the pace of one: after three steps the reservation is full, and the fifth pod's
    node is the other group's second."""
    slow = policy_of("a", "b").replace("delayAfterFailure: 0s", "delayAfterFailure: 0s, maxAddedNodes: 1")
    groups = [reserving("a", "cr-1"), group("b", LaunchTemplate={"LaunchTemplateId": "lt-2"})]
    plan = plan_of(slow, groups, waiting(5), CapacityReservations=[reservation()])
    assert sizes(plan) == {"a": 1, "b": 0}
    assert {line.name: line.settled for line in plan.groups} == {"a": 3, "b": 2}


def test_reserved_nodes_are_not_replaced_for_their_price() -> None:
    """One node with one pod: without the reservation, a group at a hundredth of the price takes its place in the steady state."""
    there = node("n0", cpu="8", memory="32Gi", spec={"providerID": f"aws:///{ZONE}/i-0000"})
    small = pod("p", meta=MOVABLE, containers=[container("6", "1Gi")], nodeName="n0", status={"phase": "Running"})
    policy = consolidating(policy_of("a", "b", prices={"a": "1", "b": "0.01"}))
    for captured, rest in (([reservation()], 1), ([], 0)):
        own = reserving("a", "cr-1", preference="capacity-reservations-first", DesiredCapacity=1, Instances=instances(1))
        plan = plan_of(policy, [own, group("b")], [there, small], CapacityReservations=captured)
        assert line_of(plan, "a").settled == rest


def test_a_node_that_ends_has_no_room_for_pending_pods() -> None:
    """They would run there for half an hour at most, and would keep it from leaving until then: another group grows for them."""
    full = pod("full", meta=MOVABLE, containers=[container("16", "1Gi")], nodeName="n16", status={"phase": "Running"})
    early = block_plan("2026-12-01T10:29:59Z", full, *waiting(1))
    late = block_plan("2026-12-01T10:30:00Z", full, *waiting(1))
    assert [line.outcome.value for line in (*early.pods, *late.pods)] == ["FitsExisting", "TriggersScaleUp"]
    assert (sizes(early)["spare"], sizes(late)["spare"]) == (1, 2)


def test_a_redacted_snapshot_keeps_what_is_decided_by() -> None:
    """The same facts, without the number of the account."""
    words = Pseudonyms(b"s" * 32)
    own = reserving("workers", "cr-b", **USES_TEMPLATE, AvailabilityZoneImpairmentPolicy={"ZonalShiftEnabled": True})
    weights = {"arn": arn("workers"), "appliedWeights": {ZONE: 0, f"{REGION}b": 1}, "zonalShifts": []}
    kept = {
        "LaunchTemplateVersions": [
            shown(wire_launch.LaunchTemplateVersion, template(BLOCKED)["LaunchTemplateVersions"][0], words)
        ],
        "CapacityReservations": [shown(wire_launch.CapacityReservation, block(), words)],
        "ManagedResources": [shown(wire_launch.ManagedResource, weights, words)],
    }
    redacted = facts(shown(wire.AutoScalingGroup, own, words), **kept)
    assert "123456789012" not in json.dumps(kept)
    assert (redacted.rooms, redacted.endings) != ((), ())
    assert [(one.zone, one.closes) for one in redacted.zone_shifts] == [(ZONE, True)]
    whole = facts(own, **template(BLOCKED), CapacityReservations=[block()], ManagedResources=[weights])
    assert (redacted.rooms, redacted.reserved, redacted.endings, redacted.zone_shifts) == (
        whole.rooms, whole.reserved, whole.endings, whole.zone_shifts
    )  # fmt: skip
