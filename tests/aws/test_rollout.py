"""The predicted rollout of an Auto Scaling group."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.rollouts.rollout import predict_rollout
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.rollout import Rollout
from tests.aws.documents import REGION, TEMPLATE, Object, facts, group, world
from tests.aws.policies import policy_set
from tests.builders import NOW, ClusterBuilder

ZONE = "topology.kubernetes.io/zone"
CAPACITY = {f"{TEMPLATE}resources/cpu": "4", f"{TEMPLATE}resources/memory": "16Gi", f"{TEMPLATE}resources/pods": "110"}
POLICY = policy_set(f"""
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec: {{mode: Enforce, budgets: [{{nodes: 9}}]}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: workers, namespace: reconciler}}
spec:
  policyRef: {{name: prod}}
  target: {{aws: {{autoScalingGroup: workers, region: {REGION}}}}}
  size: {{min: 0, max: 9}}
  pricePerHour: "0.10"
""")


def _group(zones: str, **rest: object) -> Object:
    instances = [
        {
            "InstanceId": f"i-{number}",
            "AvailabilityZone": f"{REGION}{zone}",
            "LifecycleState": "InService",
            "HealthStatus": "Healthy",
            "InstanceType": "m6i.xlarge",
        }
        for number, zone in enumerate(zones)
    ]
    names = [f"{REGION}{zone}" for zone in sorted(set(zones))]
    return group(tags=CAPACITY, DesiredCapacity=len(zones), AvailabilityZones=names, Instances=instances, **rest)


def _world(zones: str, *, bound: bool = False, **rest: object) -> World:
    """A node with a pod of 3 of 4 cores in each of these zones; `bound`: each pod asks for its zone."""
    aws, cluster = world(_group(zones, **rest)), ClusterBuilder()
    for number, zone in enumerate(zones):
        name = cluster.node(f"node-{number}", labels={ZONE: f"{REGION}{zone}"})
        cluster.pods(f"db-{number}", 1, cpu="3", on=name, node_selector={ZONE: f"{REGION}{zone}"} if bound else None)
    machines = tuple(msgspec.structs.replace(one, node=f"node-{one.name.removeprefix('i-')}") for one in aws.machines)
    return cluster.world(targets=aws.targets, machines=machines)


def _predict(found: World) -> Rollout:
    return predict_rollout(View.of(found, POLICY, Memory(), NOW, Work(1_000_000)), "workers")


@pytest.mark.parametrize(
    ("lowest", "highest", "pace"),
    [(100, 110, (1, 0)), (90, 120, (2, 1)), (90, 100, (0, 1)), (100, 100, (0, 1)), (50, 150, (5, 5))],
)
def test_the_pace_of_ten_instances(lowest: int, highest: int, pace: tuple[int, int]) -> None:
    """Percentages of the desired capacity. 100 to 100 would replace nothing, so one may be missing."""
    policy = {"MinHealthyPercentage": lowest, "MaxHealthyPercentage": highest}
    found = facts(_group("a" * 10, InstanceMaintenancePolicy=policy)).rollout
    assert found is not None
    assert (found.surge, found.unavailable) == pace
    assert found.origin == f"instance maintenance policy {lowest}% to {highest}%"


@pytest.mark.parametrize("policy", [None, {}, {"MinHealthyPercentage": -1, "MaxHealthyPercentage": -1}])
def test_a_group_without_that_policy_does_not_say_its_pace(policy: Object | None) -> None:
    assert facts(_group("aaaa", InstanceMaintenancePolicy=policy)).rollout is None


def test_few_instances_are_replaced_one_by_one() -> None:
    """A tenth of two is less than one."""
    found = facts(_group("aa", InstanceMaintenancePolicy={"MinHealthyPercentage": 90, "MaxHealthyPercentage": 110})).rollout
    assert found is not None
    assert (found.surge, found.unavailable) == (1, 1)


def test_a_rollout_of_one_zone() -> None:
    """Half more of four are two at once. AWS does not tell when it launched an instance, so that the bound counts: 30m for a
    new node and 30 s for the pods, twice, with two nodes more at 0.10 an hour: 2 x 2 x 1830 s x 0.10 / 3600 s."""
    found = _predict(_world("aaaa", InstanceMaintenancePolicy={"MinHealthyPercentage": 100, "MaxHealthyPercentage": 150}))
    assert [(wave.adds, wave.nodes, wave.to_new) for wave in found.waves] == [
        (2, ("node-0", "node-1"), 2), (2, ("node-2", "node-3"), 2),
    ]  # fmt: skip
    assert (found.kept, found.time.learned, found.time.seconds) == ((), False, 3660)
    assert (found.cost.surge_per_hour, found.cost.in_all) == ("0.20", "0.203333")


def test_the_maximum_of_the_group_itself_bounds_the_surge() -> None:
    """MaxSize 5 of the Auto Scaling group, though the policy says 9 and AWS would take two."""
    surge = {"MinHealthyPercentage": 100, "MaxHealthyPercentage": 150}
    found = _predict(_world("aaaa", MaxSize=5, InstanceMaintenancePolicy=surge))
    assert (found.surge, [len(wave.nodes) for wave in found.waves]) == (1, [1, 1, 1, 1])


def test_pods_of_a_zone_count_on_no_instance_whose_zone_is_open() -> None:
    """One instance in each of two zones, replaced one at a time: AWS launches the next one in either."""
    one = {"MinHealthyPercentage": 100, "MaxHealthyPercentage": 110}
    found = _predict(_world("ab", bound=True, InstanceMaintenancePolicy=one))
    assert {blocker.code for kept in found.kept for blocker in kept.blockers} == {"NoPlaceToMove"}
    assert [reason.code for reason in found.obstacles] == ["ZoneNotKnown"]
    assert not _predict(_world("ab", InstanceMaintenancePolicy=one)).kept
