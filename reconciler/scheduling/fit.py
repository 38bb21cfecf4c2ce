"""Each pending pod alone against the cluster as it stands: what every filter plugin says of every node."""

from collections.abc import Iterator

import msgspec

from reconciler.cluster.world import World
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection

DEFAULT_SCHEDULER = "default-scheduler"


class NodeFit(msgspec.Struct, frozen=True):
    """One node; it fits when nothing rejects it. Rejections are sorted by plugin, each plugin once."""

    node: str
    rejections: tuple[Rejection, ...]


class PodFit(msgspec.Struct, frozen=True):
    """One pod (`namespace/name`) and all nodes by name. Pods with equal answers share one tuple."""

    pod: str
    nodes: tuple[NodeFit, ...]


def fit(world: World) -> Iterator[PodFit]:
    """Every pod without a node that is neither terminating nor finished, by (namespace, name).

    Nominated pods count as kube-scheduler counts them (framework `RunFilterPluginsWithNominatedPods`): a node must
    take the pod both as it is and with the pods of equal or higher priority that are promised to it.
    """
    state = SchedulingState(world)
    nominated = _nominated(world)
    answers: dict[tuple[int, int], tuple[NodeFit, ...]] = {}
    pods = world.pods
    for pod in range(len(pods)):
        if pods.node[pod] >= 0 or pod in pods.unknown_node or pods.deletion_seconds[pod] or pods.finished(pod):
            continue
        shape = pods.shape[pod]
        # A pod's own nomination does not count against it, so that a nominated pod has an answer of its own.
        own = pod if any(pod in promised for promised in nominated.values()) else -1
        found = answers.get((shape, own))
        if found is None:
            found = answers[shape, own] = _nodes(state, world, shape, own, nominated)
        yield PodFit(pods.key(pod), found)


def _nominated(world: World) -> dict[int, list[int]]:
    """Pods promised to a node. Source: kube-scheduler's queue keeps pods of its own name that no gate holds back."""
    pods = world.pods
    found: dict[int, list[int]] = {}
    for pod, node in enumerate(pods.nominated):
        if node < 0 or pods.node[pod] >= 0 or pod in pods.unknown_node or pods.finished(pod) or pods.gated(pod):
            continue
        if world.pod_shapes[pods.shape[pod]].scheduler_name == DEFAULT_SCHEDULER:
            found.setdefault(node, []).append(pod)
    return found


def _nodes(state: SchedulingState, world: World, shape: int, own: int, nominated: dict[int, list[int]]) -> tuple[NodeFit, ...]:
    priority = world.pod_shapes[shape].priority
    answers = []
    for node in range(state.node_count):
        said = {rejection.plugin: rejection for rejection in state.verdict(shape, node)}
        promised = [
            pod for pod in nominated.get(node, ()) if pod != own and world.pod_shapes[world.pods.shape[pod]].priority >= priority
        ]
        if promised:
            shapes = [world.pods.shape[pod] for pod in promised]
            for rejection in state.verdict_with(shape, node, shapes):
                said.setdefault(
                    rejection.plugin, Rejection(rejection.plugin, f"{rejection.message} (with the pods promised to the node)")
                )
        answers.append(NodeFit(state.name(node), tuple(sorted(said.values()))))
    return tuple(answers)
