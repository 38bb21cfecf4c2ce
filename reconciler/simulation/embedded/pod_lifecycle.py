"""What becomes of a pod: started after it was bound, evicted, terminated, gone."""

from collections.abc import Callable

import msgspec

from reconciler.cluster.pods.pod import PodPhase
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.agenda import Agenda, Durations, Happened, Journal
from reconciler.simulation.embedded.disruption_controller import DisruptionController
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.simulation.embedded.workloads import Workloads


class PodLifecycle:
    """The kubelet's and the eviction API's part. A terminating pod keeps its place until its grace period ended."""

    def __init__(
        self,
        objects: ClusterObjects,
        agenda: Agenda,
        durations: Durations,
        disruption: DisruptionController,
        workloads: Workloads,
        journal: Journal,
    ) -> None:
        self._objects = objects
        self._agenda = agenda
        self._durations = durations
        self._disruption = disruption
        self._workloads = workloads
        self._journal = journal

    def created(self, pod: PodObject) -> None:
        """A controller made the pod."""
        self._disruption.changed(pod)
        self._journal.add(self._agenda.now_seconds, Happened.POD_CREATED, pod.key, detail=pod.replaces, before=pod.shape)

    def bound(self, pod: PodObject) -> None:
        """The pod got a node: it runs and is Ready a moment later."""
        node = pod.node
        if node is None:
            return
        self._journal.add(self._agenda.now_seconds, Happened.POD_BOUND, pod.key, detail=node.name)
        delay = self._durations.pod_start_seconds
        if delay:
            self._agenda.after(delay, lambda: self._start(pod))
        else:
            self._start(pod)

    def _start(self, pod: PodObject) -> None:
        if self._lives(pod) and pod.node is not None and not pod.deletion:
            pod.phase = PodPhase.RUNNING
            pod.ready = pod.node.value.ready
            self._disruption.changed(pod)
            self._objects.touch_pod(pod)

    def evict(self, pod: PodObject) -> str:
        """Ask the eviction API; why it refuses, or empty."""
        refusal = self._disruption.refusal(pod)
        if refusal:
            return refusal
        if not pod.deletion:
            node = pod.node.name if pod.node else ""
            self._journal.add(self._agenda.now_seconds, Happened.POD_EVICTED, pod.key, detail=node, before=pod.shape)
        self.terminate(pod)
        return ""

    def preempt(self, victim: PodObject, winner: PodObject) -> None:
        """Delete a pod of lower priority for a higher one."""
        self._journal.add(self._agenda.now_seconds, Happened.POD_PREEMPTED, victim.key, detail=winner.key)
        self.terminate(victim)

    def terminate(self, pod: PodObject) -> None:
        """Delete the pod: its controller replaces it at once, it itself goes when its grace period is over."""
        if pod.deletion:
            return
        now = self._agenda.now_seconds
        grace = self._objects.pod_traits[pod.traits].grace_seconds if self._durations.honour_grace else 0
        if pod.node is None or pod.finished:
            grace = 0
        pod.deletion = now + grace
        self._workloads.leaving(pod)
        self._disruption.changed(pod)
        self._objects.touch_pod(pod)
        if grace:
            self._agenda.after(grace, lambda: self.vanish(pod))
        else:
            self.vanish(pod)

    def succeed(self, pod: PodObject) -> None:
        """Its containers have ended well: the object stays and needs nothing."""
        pod.phase, pod.ready = PodPhase.SUCCEEDED, False
        self._disruption.changed(pod)
        self._objects.touch_pod(pod)

    def vanish(self, pod: PodObject) -> None:
        """The object is gone, whatever the way."""
        if not self._lives(pod):
            return
        if not pod.deletion and not self._objects.goes_with_node(pod):
            # It went without notice, with its node.
            pod.deletion = self._agenda.now_seconds
            self._objects.touch_pod(pod)
            self._workloads.leaving(pod)
        self._objects.remove_pod(pod)
        self._workloads.gone(pod)
        self._disruption.removed(pod)
        self._journal.add(self._agenda.now_seconds, Happened.POD_GONE, pod.key)

    def set_ready_on(self, node: NodeObject, *, ready: bool) -> None:
        """The node's pods stop or begin to count as Ready."""
        for pod in node.pods:
            if pod.phase is PodPhase.RUNNING and pod.ready is not ready:
                pod.ready = ready
                self._disruption.changed(pod)
                self._objects.touch_pod(pod)
        self._objects.touch()

    def _lives(self, pod: PodObject) -> bool:
        return self._objects.pods.get((pod.namespace, pod.name)) is pod


# The pods that are preempted for a pod of higher priority that fits nowhere.
#
# SOURCE: kube-scheduler's DefaultPreemption. On each node it removes all pods of lower priority. If the pod then fits, it puts
# back as many of them as possible, the most important first. Among the possible nodes it chooses the one where disruption budgets
# protect the fewest victims. The next criteria are the lowest priority of the highest victim, and the fewest victims. Here, the
# first name breaks ties.


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
