"""A gang for which kube-scheduler removes pods of lower priority gets no new nodes meanwhile."""

import msgspec
import pytest

from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.cluster.world import World
from reconciler.plan.plan import Plan, PodOutcome
from tests.builders import CAPTURED, NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

TRAIN = PodGroup(namespace="shop", name="train", min_count=2, priority=10)


def _world(
    *groups: PodGroup, policies: str = "PreemptLowerPriority", lower: int = 2, refused_ago: int = 5, **filler: object
) -> World:
    """Two full nodes, on `lower` of which a pod of priority 0 fills the room, and a gang of two pods that need a node each."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    for number in (1, 2):
        shape = {"priority": 0 if number <= lower else 10, **filler}
        cluster.pods(f"filler-{number}", 1, cpu="3", on=f"general-{number}", shape=shape)
    shape = {"pod_group": "train", "priority": 10, "preemption_policy": policies}
    cluster.pods("train", 2, cpu="3", shape=shape, age=600)
    world = cluster.world(pod_groups=groups or (TRAIN,), captured=(*CAPTURED, "PodGroup"), scheduler_version=(1, 37, 0))
    rows = [msgspec.structs.replace(one, unschedulable_seconds=NOW - refused_ago if one.node < 0 else 0) for one in world.pods]
    return msgspec.structs.replace(world, pods=type(world.pods)(rows))


def _plan(world: World) -> Plan:
    return plan_of(world, policy(node_group("general", max=9)))


def test_kube_scheduler_makes_room() -> None:
    """Both pods of the gang have a place without the two of lower priority."""
    plan = _plan(_world())
    assert group(plan, "general").desired == 2
    line = pod(plan, "shop/train-1")
    assert (line.outcome, line.reasons[0].message) == (
        PodOutcome.DELAYED,
        "PodGroup shop/train fits on present nodes without 2 pods of lower priority, and kube-scheduler makes that room. "
        "It gets new nodes if it still waits after a minute",
    )


@pytest.mark.parametrize(
    "world",
    [
        _world(refused_ago=60),
        _world(lower=1),
        _world(policies="Never"),
        _world(msgspec.structs.replace(TRAIN, preemption_policy="Never"), policies="Never"),
        _world(TRAIN, PodGroup(namespace="shop", name="other", min_count=2, priority=20), pod_group="other"),
        msgspec.structs.replace(_world(), scheduler_version=(1, 36, 9)),
    ],
    ids=["long ago", "too few", "never", "group says never", "the group of the others is more important", "1.36"],
)
def test_gangs_that_get_nodes(world: World) -> None:
    """Nobody makes room for them: since it did not happen, would not suffice, or is not allowed."""
    plan = _plan(world)
    assert group(plan, "general").desired == 4
    assert codes(pod(plan, "shop/train-1")) == ["NewNode"]
