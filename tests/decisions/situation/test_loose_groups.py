"""Pods of a PodGroup that keeps nothing together are as pods without one."""

import pytest

from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.cluster.world import World
from reconciler.decisions.situation.loose_groups import without_loose_groups
from reconciler.policy.documents import PodRules
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of
from tests.decisions.demand.test_pod_groups import members, seen, train

JOB = {"job": "x"}


def _alone(count: int, **more: object) -> World:
    """So many pods of four cores, with a group for each."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    names = [f"g{number:03}" for number in range(count)]
    for name in names:
        cluster.pods(name, 1, cpu="4", labels=JOB, owner="Job", shape={"pod_group": name})
    return seen(cluster, *(train(1, name, **more) for name in names))


def test_a_group_for_each_pod() -> None:
    """They are one shape."""
    world = without_loose_groups(_alone(50), ())
    assert [shape.pod_group for shape in world.pod_shapes] == [""]
    assert set(world.pods.shape) == {0}
    assert len(_alone(50).pod_shapes) == 50


def test_a_plan_says_the_same() -> None:
    """As of pods that never had a group."""
    plain = ClusterBuilder()
    plain.group("general", nodes=0)
    for number in range(50):
        plain.pods(f"g{number:03}", 1, cpu="4", labels=JOB, owner="Job")
    rules = policy(node_group("general", max=40))
    with_groups, without = plan_of(_alone(50), rules), plan_of(seen(plain), rules)
    assert group(with_groups, "general").desired == 40
    assert [(line.pod, line.outcome, line.reasons) for line in with_groups.pods] == [
        (line.pod, line.outcome, line.reasons) for line in without.pods
    ]


@pytest.mark.parametrize(
    "kept",
    [
        train(2),
        train(1, indivisible=True),
        train(1, priority=5),
        train(1, problem="spec: odd"),
        train(1, not_modelled=("schedulingConstraints",)),
    ],
)
def test_groups_that_decide_something(kept: PodGroup) -> None:
    """Their pods keep them, while others lose theirs."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    members(cluster, 2)
    members(cluster, 2, "free")
    world = without_loose_groups(seen(cluster, kept, train(1, "free")), ())
    assert {dict(shape.labels)["app"]: shape.pod_group for shape in world.pod_shapes} == {"train": "train", "free": ""}
    assert without_loose_groups(world, ()) == world


def test_a_group_that_does_not_exist() -> None:
    """kube-scheduler waits for it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    members(cluster, 2)
    assert [shape.pod_group for shape in without_loose_groups(seen(cluster), ()).pod_shapes] == ["train"]


def test_a_label_does_not_count_instead() -> None:
    """A pod of a loose group with a label of gangs is bound by itself: two of three get a node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    cluster.pods("train", 3, cpu="4", labels=JOB, shape={"pod_group": "train"})
    plan = plan_of(seen(cluster, train(1)), policy(node_group("general", max=2), pods=PodRules(gang_labels=("job",))))
    assert group(plan, "general").desired == 2


def test_a_world_without_groups_stays() -> None:
    """The same object."""
    cluster = ClusterBuilder()
    cluster.pods("web", 2)
    world = cluster.world()
    assert without_loose_groups(world, ()) is world
