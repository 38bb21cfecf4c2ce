"""Pods that nothing happens to stay rows; those that have an object are what their rows say, and are counted as they change."""

import random

import msgspec
import pytest

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.disruption_controller import DisruptionController
from reconciler.simulation.embedded.pod_object import PodObject
from tests.benchmarks.mixed.situations import small
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _three_nodes() -> SimulatedCluster:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    for node in ("general-1", "general-2", "general-3"):
        cluster.pods(f"web-{node}", 2, on=node)
        cluster.pods(f"api-{node}", 1, on=node)
    return SimulatedCluster(cluster.world(), policy(node_group("general")), NOW)


def test_only_pods_that_somebody_asks_for_have_an_object():
    simulated = _three_nodes()
    simulated.advance_to(NOW + 60)
    assert simulated.objects.pods.made() == []
    names = [pod.name for pod in simulated.objects.nodes["general-2"].pods]
    assert names == ["api-general-2-1", "web-general-2-1", "web-general-2-2"]
    assert [pod.name for pod in simulated.objects.pods.made()] == names
    key = next(key for key in simulated.objects.pods if key[1] == "web-general-3-1")
    one = simulated.objects.pods[key]
    assert one is [*simulated.objects.nodes["general-3"].pods][1]
    assert len(simulated.objects.pods) == 9


def _motley(world: World, rng: random.Random) -> World:
    """Pods that terminate, are nominated, have ended, are gated or on a node that nobody knows."""
    rows = [
        msgspec.structs.replace(
            pod,
            deletion_seconds=rng.choice((0, NOW + 9)),
            unschedulable_seconds=rng.choice((0, NOW - 9)),
            nominated=rng.randrange(-1, len(world.nodes)),
            phase=rng.choice([*PodPhase]),
            ready=rng.random() < 0.5,
            gated=rng.random() < 0.5,
            unknown_node=rng.choice(("", "elsewhere")),
        )
        for pod in world.pods
    ]
    return msgspec.structs.replace(world, pods=PodTable(rows))


def test_a_pod_that_comes_stands_behind_those_that_were_there():
    simulated = _three_nodes()
    objects = simulated.objects
    node, other = objects.nodes["general-3"], next(iter(objects.nodes["general-1"].pods))
    objects.add_pod(PodObject(other.namespace, "a-new-one", "uid", other.shape, other.traits, NOW), node)
    assert len(objects.pods.made()) == 4  # three of general-1, and the new one
    assert [pod.name for pod in node.pods] == ["api-general-3-1", "web-general-3-1", "web-general-3-2", "a-new-one"]


@pytest.mark.parametrize("seed", range(6))
def test_objects_are_what_their_rows_say(seed):
    """Written anew from an object each, the table is the World's."""
    world, rules, _ = small(seed)
    world = _motley(world, random.Random(seed))
    objects = SimulatedCluster(world, rules, NOW).objects
    for pod in objects.pods.values():
        objects.touch_pod(pod)
    assert objects.world(NOW).pods == world.pods


def _counts(disruption: DisruptionController) -> dict[object, object]:
    return {
        key: (members.pods, members.healthy, members.owners, {owner: many for owner, many in members.active.items() if many})
        for key, members in disruption._members.items()
    }


@pytest.mark.parametrize("seed", range(6))
def test_budgets_count_what_is_there(seed):
    """After evictions, losses and nodes that are not ready: as if counted anew."""
    world, rules, _ = small(seed + 20)
    simulated = SimulatedCluster(world, rules, NOW)
    objects, pods = simulated.objects, simulated.pods
    for number, node in enumerate(list(objects.nodes.values())):
        if number % 3 == 0:
            for pod in list(node.pods):
                pods.evict(pod)
        elif number % 3 == 1:
            simulated.set_ready(node.name, ready=False)
        elif number % 2:
            simulated.kill_node(node.name)
        simulated.advance_to(simulated.now_seconds + 20)
    before = _counts(simulated.disruption)
    simulated.disruption.index()
    assert _counts(simulated.disruption) == before
    assert _counts(DisruptionController(objects)) == before
