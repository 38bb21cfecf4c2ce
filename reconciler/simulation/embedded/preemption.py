"""The pods that are preempted for a pod of higher priority that fits nowhere.

SOURCE: kube-scheduler's DefaultPreemption. On each node it removes all pods of lower priority. If the pod then fits, it puts
back as many of them as possible, the most important first. Among the possible nodes it chooses the one where disruption budgets
protect the fewest victims. The next criteria are the lowest priority of the highest victim, and the fewest victims. Here, the
first name breaks ties.
"""

from collections.abc import Callable

import msgspec

from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject


class Preemption(msgspec.Struct, frozen=True):
    """The pod is nominated for the node; the victims are to be deleted."""

    pod: PodObject
    node: NodeObject
    victims: tuple[PodObject, ...]


class Victims(msgspec.Struct, frozen=True):
    """What would have to go from one node, and how bad that is: the least is the best. The last number is the node's."""

    score: tuple[int, int, int, int]
    pods: tuple[PodObject, ...]


class VictimsByShape:
    """Victims by pod shape and node, of one look, as long as nothing moves on the node."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, Victims | None]] = {}

    def known(self, shape: int, state: SchedulingState) -> dict[int, Victims | None]:
        """What is known of the nodes, by index; nothing where what moves on one node may concern pods of the shape on others."""
        return self._known.setdefault(shape, {}) if state.node_local(shape) else {}

    def forget(self, node: int) -> None:
        """Pods came to the node, or left it."""
        for known in self._known.values():
            known.pop(node, None)


def find_victims(
    pod: PodObject,
    objects: ClusterObjects,
    state: SchedulingState,
    nodes: list[NodeObject],
    given_up: set[PodObject],
    protected: Callable[[PodObject], str],
    known: dict[int, Victims | None],
) -> Preemption | None:
    """The best node to make room on, or None.

    `nodes` by their index in `state`; `given_up` are victims of this very look; `protected` says why a budget keeps a pod.
    `known` takes the answers of the nodes, and has those that still hold for a pod of this shape.
    """
    for index, node in enumerate(nodes):
        if index not in known:
            known[index] = _on_node(pod, index, node, objects, state, given_up, protected)
    best = min((one for one in known.values() if one is not None), key=lambda one: one.score, default=None)
    return None if best is None else Preemption(pod, nodes[best.score[-1]], best.pods)


def _on_node(
    pod: PodObject,
    index: int,
    node: NodeObject,
    objects: ClusterObjects,
    state: SchedulingState,
    given_up: set[PodObject],
    protected: Callable[[PodObject], str],
) -> Victims | None:
    priority = _priority(objects, pod)
    lower = [
        other
        for other in node.pods
        if _priority(objects, other) < priority
        and not other.finished
        and not other.deletion
        and other not in given_up
        and not objects.goes_with_node(other)
    ]
    victims = _victims(pod, index, lower, objects, state) if lower else []
    if not victims:
        return None
    broken = sum(1 for victim in victims if protected(victim))
    return Victims((broken, max(_priority(objects, victim) for victim in victims), len(victims), index), tuple(victims))


def _victims(
    pod: PodObject, index: int, lower: list[PodObject], objects: ClusterObjects, state: SchedulingState
) -> list[PodObject]:
    mark = state.mark()
    for other in lower:
        state.unbind(other.shape, index)
    victims: list[PodObject] = []
    if state.fits(pod.shape, index):
        for other in sorted(lower, key=lambda other: (-_priority(objects, other), other.created, other.namespace, other.name)):
            state.bind(other.shape, index)
            if not state.fits(pod.shape, index):
                state.unbind(other.shape, index)
                victims.append(other)
    state.undo(mark)
    return victims


def _priority(objects: ClusterObjects, pod: PodObject) -> int:
    return objects.pod_shapes[pod.shape].priority
