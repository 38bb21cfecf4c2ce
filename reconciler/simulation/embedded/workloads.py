"""Controllers of pods: they make pods again that were evicted, and follow the replicas that a scenario asks for."""

from collections import Counter
from collections.abc import Callable

import msgspec

from reconciler.cluster.pods.pod import PodPhase, PodShape, PodTraits
from reconciler.cluster.pods.pod_table import FINISHED_PHASES
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import PodObject

WorkloadKey = tuple[str, str, str]
"""Kind, namespace and name of the controller."""

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # those that Kubernetes uses in generated names


class Workload:
    """One controller: how many pods it wants, and what they look like. `vacant` are pods that left and are to come back; `active`
    counts those that neither terminate nor are finished."""

    __slots__ = ("_pods_of", "active", "desired", "key", "shape", "traits", "vacant")

    def __init__(
        self, key: WorkloadKey, shape: int, traits: int, pods_of: Callable[[WorkloadKey], dict[PodObject, None]]
    ) -> None:
        self.key = key
        self.shape = shape
        self.traits = traits
        self.desired = 0
        self.active = 0
        self.vacant: list[PodObject] = []
        self._pods_of = pods_of

    @property
    def pods(self) -> dict[PodObject, None]:
        """The pods that it knows, in the order in which they came."""
        return self._pods_of(self.key)


class Workloads:
    """All controllers that own pods, except DaemonSets and mirror pods.

    At the start, each controller is satisfied: it wants as many pods as it has, whatever its `replicas`, so demand does not
    change by itself. For an evicted pod, a new pending pod of the same shape is created. A StatefulSet reuses the name once it is
    free; others use a new name.
    """

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._count = 0
        self._dirty: dict[WorkloadKey, None] = {}
        self.by_key: dict[WorkloadKey, Workload] = {}
        self._members: dict[WorkloadKey, dict[PodObject, None]] | None = None
        rows = objects.pod_table()
        first = dict(zip(reversed(rows.traits), range(len(rows) - 1, -1, -1), strict=True))
        for traits, row in sorted(first.items(), key=lambda item: item[1]):
            key = self._key(traits)
            if key is not None:
                self.by_key.setdefault(key, Workload(key, rows.shape[row], traits, self._pods_of))
        for (traits, ending, phase), count in Counter(
            zip(rows.traits, map(bool, rows.deletion_seconds), rows.phase, strict=True)
        ).items():
            key = self._key(traits)
            if key is not None and not ending and phase not in FINISHED_PHASES:
                self.by_key[key].active += count
                self.by_key[key].desired += count

    def of(self, pod: PodObject) -> Workload | None:
        """The controller that would make the pod again; None: nobody."""
        key = self._key(pod.traits)
        return None if key is None else self.by_key.get(key)

    def _key(self, traits: int) -> WorkloadKey | None:
        """The controller of pods with these traits; None if they have none or go with their node."""
        pods = self._objects.pod_traits[traits]
        owner = None if pods.daemonset or pods.mirror else pods.controller
        return None if owner is None else (owner.kind, pods.namespace, owner.name)

    def _pods_of(self, key: WorkloadKey) -> dict[PodObject, None]:
        """Objects of all pods are made once somebody asks; few do."""
        if self._members is None:
            self._members = {}
            for pod in self._objects.pods.values():
                workload = self.of(pod) if pod.managed else None
                if workload is not None:
                    self._members.setdefault(workload.key, {})[pod] = None
        return self._members.setdefault(key, {})

    def owns(self, traits: int) -> bool:
        """Are pods with these traits made again when they leave?"""
        return self._key(traits) in self.by_key

    def forget_objects(self) -> None:
        """Pods have other objects."""
        self._members = None

    def named(self, namespace: str, name: str) -> Workload | None:
        """By the name of the controller or, for a ReplicaSet, of its Deployment (its name without the last part)."""
        exact = [w for w in self.by_key.values() if w.key[1:] == (namespace, name)]
        if exact:
            return exact[0]
        made = [w for w in self.by_key.values() if w.key[0] == "ReplicaSet" and w.key[1] == namespace]
        return max((w for w in made if w.key[2].rpartition("-")[0] == name), key=lambda w: (w.desired, w.key), default=None)

    def define(self, kind: str, namespace: str, name: str, shape: PodShape, traits: PodTraits) -> Workload:
        """A controller that has no pods yet."""
        key = (kind, namespace, name)
        workload = Workload(key, self._objects.new_pod_shape(shape, traits), self._objects.traits(traits), self._pods_of)
        return self.by_key.setdefault(key, workload)

    def want(self, workload: Workload, desired: int) -> None:
        """Set the number of pods, in the controller's object too."""
        workload.desired = desired
        controllers = self._objects.controllers
        if workload.key in controllers:
            controllers[workload.key] = msgspec.structs.replace(controllers[workload.key], replicas=desired)

    def scale(self, workload: Workload, desired: int) -> None:
        """Set the number of pods. New pods do not copy pods that left."""
        self.want(workload, desired)
        workload.vacant.clear()
        self._dirty[workload.key] = None

    def grow(self, workload: Workload, patterns: list[PodObject]) -> None:
        """One more pod like each of these."""
        self.want(workload, workload.desired + len(patterns))
        workload.vacant[:0] = patterns
        self._dirty[workload.key] = None

    def forget(self, key: WorkloadKey) -> None:
        """A controller without pods is deleted."""
        self.by_key.pop(key, None)
        self._dirty.pop(key, None)
        self._objects.controllers.pop(key, None)
        if self._members is not None:
            self._members.pop(key, None)

    def leaving(self, pod: PodObject) -> None:
        """A pod began to terminate: its controller will notice."""
        workload = self.of(pod)
        if workload is not None:
            if pod.managed and not pod.finished:
                workload.active -= 1
            workload.vacant.append(pod)
            self._dirty[workload.key] = None

    def gone(self, pod: PodObject) -> None:
        """A pod is gone."""
        workload = self.of(pod)
        if workload is not None:
            if self._members is not None:
                workload.pods.pop(pod, None)
            self._dirty[workload.key] = None

    def make_missing(self, now_seconds: int) -> list[PodObject]:
        """Pending pods for every gap."""
        made: list[PodObject] = []
        for key in self._dirty:
            workload = self.by_key[key]
            for _ in range(workload.desired - workload.active):
                pod = self._next_pod(workload, now_seconds)
                if pod is None:
                    break
                pod.managed = True
                self._objects.add_pod(pod)
                if self._members is not None:
                    workload.pods[pod] = None
                workload.active += 1
                made.append(pod)
        self._dirty.clear()
        return made

    def surplus(self) -> list[PodObject]:
        """Pods that a controller which wants fewer would delete.

        SOURCE: the order of ReplicaSets: pods without a node, then pending, then not ready, then the youngest.
        """
        pods: list[PodObject] = []
        for key in self._dirty:
            workload = self.by_key[key]
            over = workload.active - workload.desired
            if over > 0:
                active = [pod for pod in workload.pods if pod.active]
                active.sort(
                    key=lambda pod: (pod.node is not None, pod.phase is not PodPhase.PENDING, pod.ready, -pod.created, pod.name)
                )
                pods.extend(active[:over])
        return pods

    def _next_pod(self, workload: Workload, now_seconds: int) -> PodObject | None:
        """The pod for one gap, like one that left; None while the name that it must have is still taken."""
        kind, namespace, name = workload.key
        taken = self._objects.pods
        if kind == "StatefulSet":
            before = next((pod for pod in workload.vacant if (namespace, pod.name) not in taken), None)
            if before is None and workload.vacant:
                return None
            ordinals = (f"{name}-{ordinal}" for ordinal in range(len(taken) + 1))
            new_name = before.name if before else next(candidate for candidate in ordinals if (namespace, candidate) not in taken)
        else:
            before = workload.vacant[0] if workload.vacant else None
            new_name = self._new_name(namespace, name)
        if before is not None:
            workload.vacant.remove(before)
        shape, traits = (before.shape, before.traits) if before is not None else (workload.shape, workload.traits)
        pod = PodObject(namespace, new_name, f"uid-{namespace}-{new_name}", shape, traits, now_seconds)
        pod.replaces = before.key if before is not None else ""
        return pod

    def _new_name(self, namespace: str, name: str) -> str:
        while True:
            self._count += 1
            candidate = f"{name}-{_suffix(self._count)}"
            if (namespace, candidate) not in self._objects.pods:
                return candidate


def _suffix(number: int) -> str:
    letters = []
    for _ in range(5):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(reversed(letters))
