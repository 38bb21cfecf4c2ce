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


def find_victims(
    pod: PodObject,
    objects: ClusterObjects,
    state: SchedulingState,
    nodes: list[NodeObject],
    given_up: set[PodObject],
    protected: Callable[[PodObject], str],
) -> Preemption | None:
    """The best node to make room on, or None.

    `nodes` by their index in `state`; `given_up` are victims of this very look; `protected` says why a budget keeps a pod.
    """
    priority = _priority(objects, pod)
    best: tuple[tuple[int, int, int, int], Preemption] | None = None
    for index, node in enumerate(nodes):
        lower = [
            other
            for other in node.pods
            if _priority(objects, other) < priority
            and not other.finished
            and not other.deletion
            and other not in given_up
            and not objects.goes_with_node(other)
        ]
        if not lower:
            continue
        victims = _victims(pod, index, lower, objects, state)
        if victims:
            broken = sum(1 for victim in victims if protected(victim))
            score = (broken, max(_priority(objects, victim) for victim in victims), len(victims), index)
            if best is None or score < best[0]:
                best = score, Preemption(pod, node, tuple(victims))
    return best[1] if best is not None else None


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
