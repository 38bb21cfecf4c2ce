"""What becomes of a pod: started after it was bound, evicted, terminated, gone."""

from reconciler.cluster.pods.pod import PodPhase
from reconciler.simulation.embedded.agenda import Agenda
from reconciler.simulation.embedded.disruption_controller import DisruptionController
from reconciler.simulation.embedded.durations import Durations
from reconciler.simulation.embedded.journal import Happened, Journal
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
