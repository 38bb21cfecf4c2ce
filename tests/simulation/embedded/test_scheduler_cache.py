"""What the scheduler keeps between two looks answers as what is read anew, whatever nodes and pods went through meanwhile."""

import random

import msgspec
import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.world import World
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import PodObject
from reconciler.simulation.embedded.scheduler_cache import SchedulerCache
from tests.benchmarks.mixed.situations import small
from tests.builders import NOW


def _shake(objects: ClusterObjects, rng: random.Random) -> None:
    """A drain, a node lost, one that is not ready, a few pods that went, came or moved."""
    for node in rng.sample(sorted(objects.nodes.values(), key=lambda node: node.name), k=min(6, len(objects.nodes))):
        shape, event = objects.shape_of(node), rng.random()
        if event < 0.3:
            taints = tuple(sorted({*shape.taints, Taint("maintenance", str(rng.randint(0, 2)), "NoSchedule")}))
            objects.change_node(node, node_shape=msgspec.structs.replace(shape, taints=taints, unschedulable=rng.random() < 0.5))
        elif event < 0.45:
            objects.change_node(node, node_shape=msgspec.structs.replace(shape, taints=(), unschedulable=False))
        elif event < 0.6:
            for pod in list(node.pods):
                objects.remove_pod(pod)
            objects.remove_node(node)
        elif event < 0.7:
            objects.change_node(node, ready=not node.value.ready)
        else:
            for pod in list(node.pods)[::2]:
                objects.remove_pod(pod)
    for number in range(4):
        name = f"new-{rng.random()}-{number}"
        pod = PodObject("apps", name, name, rng.randrange(len(objects.pod_shapes)), 0, NOW)
        objects.add_pod(pod, rng.choice([None, *objects.nodes.values()]))


def _minding_taints(world: World) -> World:
    """Spread counts only nodes whose taints the pod tolerates."""
    return msgspec.structs.replace(
        world,
        pod_shapes=tuple(
            msgspec.structs.replace(
                shape, spread=tuple(msgspec.structs.replace(one, node_taints_policy="Honor") for one in shape.spread)
            )
            for shape in world.pod_shapes
        ),
    )


@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_answers_as_what_is_read_anew(seed):
    world, rules, _ = small(seed)
    world = _minding_taints(world) if seed % 2 else world
    objects = SimulatedCluster(world, rules, NOW).objects
    cache, rng = SchedulerCache(objects), random.Random(seed)
    shapes = range(len(objects.pod_shapes))
    kept = cache.state(NOW, shapes)
    for _ in range(3):
        for shape in rng.sample(shapes, k=len(shapes) // 2):
            kept.place(shape, 0)
            kept.node_local(shape)  # its counters are made here, and have to follow from now on
        _shake(objects, rng)
        assert cache.state(NOW, shapes) is kept
        fresh = SchedulingState(objects.world(NOW))
        there = {
            cache.place_of(node): index for index, node in enumerate(objects.nodes[n.name] for n in objects.world(NOW).nodes)
        }
        for place, index in there.items():
            node = objects.world(NOW).nodes[index]
            if not node.ready:
                fresh.close(index)
            assert kept.bound(place) == fresh.bound(index)
        for shape in shapes:
            assert {there[place]: kept.fits(shape, place) for place in there} == {
                index: fresh.fits(shape, index) for index in there.values()
            }
            marks = kept.mark(), fresh.mark()
            assert [(there[place], count) for place, count in kept.place(shape, 7)] == [*fresh.place(shape, 7)]
            kept.undo(marks[0])
            fresh.undo(marks[1])
        assert all(not kept.fits(shape, place) for shape in shapes for place in range(kept.node_count) if place not in there)


@pytest.mark.parametrize("event", ["joined", "terminating"])
def test_what_cannot_be_followed_is_read_anew(event):
    world, rules, _ = small(3)
    objects = SimulatedCluster(world, rules, NOW).objects
    cache = SchedulerCache(objects)
    kept = cache.state(NOW, range(3))
    node = next(node for node in objects.nodes.values() if node.pods)
    if event == "joined":
        objects.add_node(msgspec.structs.replace(node.value, name="a-new-one"), node.target)
    else:
        pod = next(iter(node.pods))
        pod.deletion = NOW + 30
        objects.touch_pod(pod)
    fresh = cache.state(NOW, range(3))
    assert fresh is not kept
    if event == "terminating":
        objects.remove_pod(pod)
        assert cache.state(NOW, range(3)) is not fresh


def test_volumes_are_judged_by_what_is_read_anew():
    world, rules, _ = small(3)
    objects = SimulatedCluster(world, rules, NOW).objects
    cache = SchedulerCache(objects)
    objects.pod_shapes[0] = msgspec.structs.replace(objects.pod_shapes[0], claims=("gpu",))
    kept = cache.state(NOW, (1,))
    assert cache.state(NOW, (1,)) is kept
    assert cache.state(NOW, (0, 1)) is not kept
