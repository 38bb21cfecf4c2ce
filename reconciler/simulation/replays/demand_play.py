"""Creates and deletes the pods of a trace on a simulated cluster, as controllers would."""

from collections import Counter
from functools import partial
from zlib import crc32

from reconciler.cluster.pods.pod import Owner
from reconciler.cluster.workloads.workload import Controller
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.embedded.pod_object import PodObject
from reconciler.simulation.embedded.workloads import Workload
from reconciler.simulation.replays.played_sources import PlayedSources
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace


class Demand:
    """The pods of a trace. Every step is put on the cluster's agenda; `wanted` is how many pods each source wants now."""

    def __init__(self, trace: Trace, cluster: SimulatedCluster) -> None:
        self._trace = trace
        self._cluster = cluster
        self._played = PlayedSources(trace, cluster)
        self._seen = 0
        self.wanted = list(trace.present)

    def begin(self) -> None:
        """Let what is wanted from the start on happen now, and the rest in its time."""
        for step in self._trace.steps:
            at = self._cluster.now_seconds if step.at_seconds <= self._trace.start_seconds else step.at_seconds
            self._cluster.agenda.at(at, partial(self._step, step))

    def _step(self, step: DemandStep) -> None:
        self._played.forget_ended()
        for index, pods in self._played.in_order(step.changes):
            more = pods - self.wanted[index]
            self.wanted[index] = pods
            source = self._trace.sources[index]
            owner = source.traits.controller
            self._played.want(index, pods)
            if owner is None:
                self._bare(index, source, wanted=pods > 0)
            elif more > 0:
                self._grow(index, source, self._workload(source, owner), more)
            else:
                self._shrink(index, self._workload(source, owner), -more)
        self._cluster.objects.touch()
        self._cluster.journal.add(self._cluster.now_seconds, Happened.DEMAND_CHANGED, self._trace.name, after=sum(self.wanted))

    def _workload(self, source: DemandSource, owner: Owner) -> Workload:
        namespace = source.shape.namespace
        workload = self._cluster.workloads.define(owner.kind, namespace, owner.name, source.shape, source.traits)
        controllers = self._cluster.objects.controllers
        if workload.key not in controllers:
            controllers[workload.key] = Controller(
                api_group=owner.api_group, kind=owner.kind, namespace=namespace, name=owner.name, uid=owner.uid, replicas=0
            )
        return workload

    def _grow(self, index: int, source: DemandSource, workload: Workload, pods: int) -> None:
        """New pods like those of the source."""
        shape, traits = self._played.numbers(index)
        now = self._cluster.now_seconds
        patterns = []
        for _ in range(pods):
            self._seen += 1
            name = source.pod_name or f"{workload.key[2]}-pattern-{self._seen}"
            patterns.append(PodObject(source.shape.namespace, name, "", shape, traits, now))
        self._cluster.workloads.grow(workload, patterns)

    def _shrink(self, index: int, workload: Workload, pods: int) -> None:
        """Delete pods of the source; a StatefulSet's is known by its name.

        SOURCE: the order of ReplicaSets (`ActivePodsWithRanks`). Pods without a node go first, then unready ones. Then come those
        that share their node with the most pods of the controller, then the youngest. Equal pods go by their random uid. Here a
        checksum of the name replaces the uid, so that no zone or node is preferred.
        """
        name = self._trace.sources[index].pod_name
        numbers = self._played.numbers(index)
        going = [pod for pod in workload.pods if pod.active and (pod.shape, pod.traits) == numbers and name in ("", pod.name)]
        beside = Counter(pod.node for pod in workload.pods if pod.active and pod.node is not None)
        going.sort(
            key=lambda pod: (
                pod.node is not None,
                pod.ready,
                -beside[pod.node] if pod.node is not None else 0,
                -pod.created,
                crc32(pod.key.encode()),
                pod.name,
            )
        )
        self._cluster.workloads.want(workload, max(0, workload.desired - pods))
        for pod in going[:pods]:
            self._cluster.pods.terminate(pod)
            if pod in workload.vacant:
                workload.vacant.remove(pod)

    def _bare(self, index: int, source: DemandSource, *, wanted: bool) -> None:
        """A pod that no controller makes."""
        objects = self._cluster.objects
        key = (source.shape.namespace, source.pod_name)
        there = objects.pods.get(key)
        if wanted and there is None:
            uid = f"uid-{source.shape.namespace}-{source.pod_name}"
            now = self._cluster.now_seconds
            pod = PodObject(*key, uid, *self._played.numbers(index), now)
            self._cluster.pods.created(objects.add_pod(pod))
        elif not wanted and there is not None:
            self._cluster.pods.terminate(there)
