"""Our verdicts against answers of kube-scheduler 1.36.3's own filter plugins that were written down (`tests/differential`).

The clusters are small and many: every plugin and every feature occurs alone and mixed with others. Each way to ask for a verdict
has to give what was written down, also after pods came and went.
"""

from array import array
from collections import Counter

import pytest

from reconciler.cluster.world import World
from reconciler.scheduling.devices.special_claims import with_left_over_claims
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from tests.differential.ours import our_world
from tests.differential.recorded import MOST_PLACED, Recorded, moved, moves, node_names, recorded, waiting

Told = list[list[tuple[str, ...]]]

_ALL = recorded()


# A list so many times as long is placed on as a whole, not node by node.
_LONG = 9
_CLUSTERS = pytest.mark.parametrize("known", _ALL, ids=str)
# A state knows of no pods that are promised to nodes.
_UNPROMISED = pytest.mark.parametrize("known", [known for known in _ALL if not known.promises], ids=str)


def test_every_plugin_is_among_them() -> None:
    """Each filter plugin says no somewhere, before and after the moves."""
    every = {
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "NotModelled",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
    for answers in ([known.first for known in _ALL], [known.second for known in _ALL]):
        assert {name for answer in answers for pod in answer.told() for reasons in pod for name in reasons} == every


@_CLUSTERS
def test_fit_says_what_the_plugins_say(known: Recorded) -> None:
    """Of every waiting pod on every node, with sentences and without."""
    snapshot = known.snapshot()
    world = our_world(snapshot)
    for messages in (True, False):
        found = list(fit(world, messages=messages))
        assert [pod.pod for pod in found] == waiting(snapshot)
        assert [[tuple(said.plugin for said in node.rejections) for node in pod.nodes] for pod in found] == known.first.told()


@_UNPROMISED
def test_verdicts_follow_the_pods(known: Recorded) -> None:
    """One state that was asked everything, moved, asked again and taken back gives what was written down each time."""
    snapshot = known.snapshot()
    # A state knows shapes of pods, and the claim that an attempt left behind is of one pod.
    made, world = moves(snapshot, known.first), with_left_over_claims(our_world(snapshot))
    state, pods = SchedulingState(world, devices=True), _Pods(world)
    assert _verdicts(state, pods, waiting(snapshot)) == known.first.told()
    mark = state.mark()
    for key, node in made.arrive:
        state.bind(pods.shape(key), node_names(snapshot).index(node))
    for key in made.leave:
        state.unbind(pods.shape(key), pods.node(key))
    assert _verdicts(state, pods, waiting(moved(snapshot, made))) == known.second.told()
    state.undo(mark)
    assert _verdicts(state, pods, waiting(snapshot)) == known.first.told()


@_UNPROMISED
def test_places_are_the_nodes_that_fit(known: Recorded) -> None:
    """One pod goes to the first node that fits in the order given, whether few nodes are asked or many."""
    snapshot = known.snapshot()
    world = our_world(snapshot)
    state, pods = SchedulingState(world), _Pods(world)
    backwards = list(range(state.node_count))[::-1]
    for key, told in zip(waiting(snapshot), known.first.told(), strict=True):
        if ("NotModelled",) in told:
            continue
        shape, fitting = pods.shape(key), [node for node, reasons in enumerate(told) if not reasons]
        if _needs_devices(world, shape):
            # They are not handed out yet: such a pod goes nowhere, or where a device plugin has what it asks for.
            assert {node for node in range(state.node_count) if state.fits(shape, node)} <= set(fitting), key
            continue
        assert [state.fits(shape, node) for node in range(state.node_count)] == [not reasons for reasons in told], key
        for nodes, first in ((None, fitting[:1]), (backwards, fitting[-1:]), (array("i", backwards * 2), fitting[-1:])):
            mark = state.mark()
            assert state.place(shape, 1, nodes) == tuple((node, 1) for node in first), key
            state.undo(mark)


@pytest.mark.parametrize("known", [known for known in _ALL if known.placed], ids=str)
def test_equal_pods_go_where_one_after_the_other_went(known: Recorded) -> None:
    """Many pods placed at once, in all ways to name the nodes, are where the scheduler's plugins let them in one by one."""
    world = our_world(known.snapshot())
    state, pods = SchedulingState(world), _Pods(world)
    every = list(range(state.node_count))
    for placed in known.placed:
        if _needs_devices(world, pods.shape(placed.pod)):
            continue
        for nodes in (None, every, array("i", every), every * _LONG):
            mark = state.mark()
            found = state.place(pods.shape(placed.pod), MOST_PLACED, nodes)
            assert dict(found) == Counter(placed.nodes), placed.pod
            assert len(dict(found)) == len(found)
            state.undo(mark)


def _needs_devices(world: World, shape: int) -> bool:
    """Does the pod claim devices, or ask for an extended resource that a class may serve?"""
    value = world.pod_shapes[shape]
    return bool(value.claims or value.requests.extended)


class _Pods:
    """Pods of a world by name."""

    def __init__(self, world: World) -> None:
        self._index = {world.pods.key(pod): pod for pod in range(len(world.pods))}
        self._world = world

    def shape(self, key: str) -> int:
        return self._world.pods.shape[self._index[key]]

    def node(self, key: str) -> int:
        return self._world.pods.node[self._index[key]]


def _verdicts(state: SchedulingState, pods: _Pods, keys: list[str]) -> Told:
    return [
        [tuple(said.plugin for said in state.verdict(pods.shape(key), node)) for node in range(state.node_count)] for key in keys
    ]
