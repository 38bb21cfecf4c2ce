"""Incidents and complaints of others, replayed with this provider and its loop: nothing of it happens here.

Told beside what they are about, by number: 5, 6 and #9182, #10147, #9043 in `test_cancelling`; 11 in `test_removing`,
`test_other_writers` and `test_notices`; 18 and #2057 in `test_shapes`; 19, #252 and #6481 in `test_asking`; #4005 in
`test_other_writers`; #2434 in `test_shapes`; #1263 in `test_launch_failures`.
"""

import json
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, PodOutcome
from tests.aws.documents import REGION, SIZERS, group, template_version
from tests.aws.policies import policy_set
from tests.aws.service.behaviour import settle
from tests.aws.service.server import Service
from tests.aws.test_loop import NO_HUMAN_HOLD, Loop, bind, pending, sizes, told
from tests.aws.test_stock_out import PICK, POLICY
from tests.cluster.objects import container, pod


def test_incident_4_somebody_sets_it_back(service: Service) -> None:
    """Terraform sets desired capacity back from 3 to 1 while pods wait: raised again at most three times, then the group is held
    with the story, and nothing of it is written any more. Each write is judged a minute later, when reads cannot be older."""
    loop = Loop(service)
    loop.restart(NO_HUMAN_HOLD)
    spot = loop.groups["spot"]
    loop.cluster.pods = pending(3)
    loop.groups["general"].max_size = 0
    for _ in range(40):
        report = loop.turn()
        if spot.desired == 3:
            spot.desired = 1
            settle(service.account)
    assert service.count("SetDesiredCapacity") == 3, told(report)
    assert report.plan is not None
    (line,) = [line for line in report.plan.groups if line.name == "spot"]
    assert (line.held, "undid our writes 3 times, the last from 3 to 1" in str(line.owner.evidence)) == (True, True)
    loop.turns(10)
    assert service.count("SetDesiredCapacity") == 3


def test_incident_5_instances_that_never_join(service: Service) -> None:
    """Broken user data: what never becomes a node is ended by name, one for one; those that run stay, and the group is left
    alone for a while."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    loop.groups["general"].max_size = 0
    loop.cluster.pods = pending(2)
    loop.turns(7)
    bind(loop, spot)
    healthy = {one.instance_id for one in spot.counted}
    loop.cluster.joins = healthy
    loop.cluster.pods += pending(2, "more")
    healthy_count = []
    for _ in range(40):
        loop.turn(60)
        healthy_count.append(len(healthy & set(spot.instances)))
    assert set(healthy_count) == {2}
    assert service.account.ended != []
    assert {name for _, name in service.account.ended} & healthy == set()
    assert service.count("SetDesiredCapacity") <= 4
    assert "spot" in loop.store.load().backoffs


def test_incident_11_what_aws_takes_is_none_of_ours(service: Service) -> None:
    """An instance fails its health check: AWS makes another, desired capacity stays, and we write nothing."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    loop.cluster.pods = pending(2)
    loop.turns(7)
    bind(loop, spot)
    loop.turns(2)
    writes = service.count() - service.count("Describe")
    victim = spot.counted[0]
    victim.health = "Unhealthy"
    loop.cluster.pods = [item for item in loop.cluster.pods if item["spec"]["nodeName"] != f"n-{victim.instance_id}"]
    loop.cluster.pods += pending(1, "again")
    for _ in range(6):
        report = loop.turn()
    assert (sizes(loop), service.count() - service.count("Describe")) == ((2, 0), writes), told(report)
    assert [name for _, name in service.account.ended] == [victim.instance_id]


def test_incident_15_a_device_that_comes_late(service: Service) -> None:
    """The plugin of a graphics card is minutes late: 24 turns, and exactly one purchase."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    spot.instance_type = "g4dn.xlarge"
    loop.groups["general"].max_size = 0
    card = container("1", "1Gi")
    card["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    card["resources"]["requests"]["nvidia.com/gpu"] = "1"
    loop.cluster.pods = [pod("gpu", containers=[card], nodeSelector={"team": "a"})]
    for _ in range(24):
        report = loop.turn()
    assert (spot.desired, service.count("SetDesiredCapacity")) == (1, 1), told(report)
    assert len(spot.counted) == 1


def _decided(pods: list[dict[str, Any]], **rest: Any) -> Any:
    kinds = [{"InstanceType": "m5.large"}, {"InstanceType": "m5.4xlarge"}]
    mixed = {"LaunchTemplate": {"LaunchTemplateSpecification": PICK["LaunchTemplate"], "Overrides": kinds}}
    files = {
        "asg.json": {
            "AutoScalingGroups": [group("workers", MaxSize=100, MixedInstancesPolicy=mixed), group("spare", MaxSize=0, **PICK)]
        },
        "lt.json": {"LaunchTemplateVersions": [template_version({})]},
        **{f"{key}.json": {key: []} for key in SIZERS},
        "pods.json": {"apiVersion": "v1", "kind": "PodList", "items": pods},
    }
    world = read_snapshot({name: json.dumps(content).encode() for name, content in files.items()})
    return decide(world, policy_set(POLICY), Memory(), world.captured_seconds + 60)[0]


def test_incident_18_a_pod_for_the_larger_type_alone() -> None:
    """Two sizes in one group: a pod of 8 processors might meet the smaller one: nothing is bought, and it is said."""
    plan = _decided([pod("large", containers=[container("8", "1Gi")])])
    assert plan.actions == ()
    assert [line.outcome for line in plan.pods] == [PodOutcome.UNPLACEABLE]
    assert plan.pods[0].reasons != ()


def test_incident_18_pods_that_keep_apart() -> None:
    """50 pods that share no host: 50 nodes, and not 100."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        }
    }
    pods = [
        pod(f"x-{number}", meta={"labels": {"app": "x"}}, affinity=apart, containers=[container("100m", "64Mi")])
        for number in range(50)
    ]
    assert [(action.kind, action.to) for action in _decided(pods).actions] == [(ActionKind.RESIZE, 50)]


@pytest.mark.parametrize("first", ["spot", "general"])
def test_complaint_3_one_group_without_stock_stops_no_other(service: Service, first: str) -> None:
    """#5570, #3042: whichever group has none, what pods need beyond it comes from the other, by tier."""
    loop = Loop(service)
    other = "general" if first == "spot" else "spot"
    loop.groups[first].instance_type = "c5.large"
    service.account.stock[f"{REGION}a", "c5.large"] = 1
    loop.groups[other].max_size = 5
    loop.cluster.pods = pending(4)
    for _ in range(12):
        report = loop.turn()
    counted = {name: len(one.counted) for name, one in loop.groups.items()}
    wanted = {"spot": 1, "general": 3} if first == "spot" else {"spot": 4, "general": 0}
    assert counted == wanted, told(report)
    assert service.account.ended == []


def test_complaint_10_protected_instances_are_removed_by_name(service: Service) -> None:
    """kops#7173: all instances bear scale-in protection, so that no rebalancing of AWS takes one; those that we choose go."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    spot.protects_new = True
    loop.cluster.pods = pending(2)
    loop.turns(7)
    assert {one.protected for one in spot.counted} == {True}
    bind(loop, spot)
    loop.turns(2)
    loop.cluster.pods = []
    report = loop.turns(8)
    assert (sizes(loop), len(service.account.ended)) == ((0, 0), 2), told(report)


def test_s59_drained_before_it_is_terminated(service: Service) -> None:
    """S59: what managed node groups do by themselves: no instance is ended while a pod of its node has not left."""
    loop = Loop(service)
    loop.cluster.pods = pending(1)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    loop.turns(2)
    loop.cluster.pods, loop.cluster.remaining = [], 1
    loop.turns(5)
    assert (len(loop.cluster.leaving), service.count("Terminate")) == (1, 0)
    loop.cluster.remaining = 0
    loop.turns(3)
    assert (service.count("Terminate"), len(service.account.ended)) == (1, 1)


def test_s84_spot_is_taken_back_at_any_time(service: Service) -> None:
    """S84: all of it at once, in the middle of a day: AWS makes others, the pods wait for those, and nobody's is ended by us."""
    loop = Loop(service)
    spot = loop.groups["spot"]
    loop.cluster.pods = pending(3)
    loop.turns(7)
    bind(loop, spot)
    loop.turns(2)
    for one in spot.counted:
        one.health = "Unhealthy"
    loop.cluster.pods = pending(3, "again")
    report = loop.turns(8)
    assert (sizes(loop), service.count("Terminate")) == ((3, 0), 0), told(report)
    assert len([one for one in spot.counted if one.state == "InService"]) == 3
