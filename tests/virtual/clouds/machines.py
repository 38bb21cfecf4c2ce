"""MachineDeployments of Cluster API and MachineSets of OpenShift for a world: objects on its API server, and what their
controllers do with them."""

from collections import Counter

import msgspec

from reconciler.kube.connection.api import ContentType
from reconciler.kube.watching.collection import Served
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.platforms.openshift.writing.dialect import MachineApiDialect
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.machines.targets import MachineTargets
from reconciler.values.instant import instant_text
from tests.virtual.clouds.cloud import Surroundings, machine_name
from tests.virtual.cluster import Machine, Object
from tests.virtual.process import Parts, Process

_CPU, _MEMORY = "capacity.cluster-autoscaler.kubernetes.io/cpu", "capacity.cluster-autoscaler.kubernetes.io/memory"
_HEARD_SECONDS = 0.25


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two: the API, and how it tells what became of a Machine."""

    group: str
    version: str
    target: str
    plural: str
    namespace: str
    policy: str
    marks: tuple[str, ...]

    def path(self, plural: str, name: str = "") -> str:
        return f"/apis/{self.group}/{self.version}/namespaces/{self.namespace}/{plural}/{name}"


_CAPI = _Kind(
    group="cluster.x-k8s.io",
    version="v1beta2",
    target="MachineDeployment",
    plural="machinedeployments",
    namespace="capi",
    policy="clusterAPI: {kind: MachineDeployment, namespace: capi, name: %s}",
    marks=("cluster.x-k8s.io/delete-machine",),
)
_OPENSHIFT = _Kind(
    group="machine.openshift.io",
    version="v1beta1",
    target="MachineSet",
    plural="machinesets",
    namespace="openshift-machine-api",
    policy="openshift: {namespace: openshift-machine-api, machineSet: %s}",
    marks=("machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine"),
)


class _Machine:
    """What is behind a Machine."""

    def __init__(self, group: str, zone: str, cpu: int, since: float) -> None:
        self.group, self.zone, self.cpu, self.since = group, zone, cpu, since
        self.provisioned = self.joined = self.broken = False
        self.ends: float | None = None


class MachinesCloud:
    """Three groups of ours in two zones, and one of others."""

    names: tuple[str, ...] = ("spot", "general", "general-b")
    sizes: tuple[int, ...] = (4, 2, 8)
    calls_a_minute = 600
    kind: _Kind

    def __init__(self, around: Surroundings) -> None:
        self.around, self.others, self._api = around, Counter[str](), around.server
        self._zones = {"spot": "za", "general": "za", "general-b": "zb", "strangers": "za"}
        self._most = dict(zip(self.names, around.shape.most, strict=True))
        self._cpus = dict.fromkeys(self._zones, self.sizes[0])
        self._left: dict[tuple[str, str], int] = {}
        self._machines: dict[str, _Machine] = {}
        self._ending: list[str] = []
        self._number = 0
        self._changed: dict[str, tuple[int, float]] = {}
        """The replicas that a controller acts on, and since when they are told of."""
        self._serve()
        for name in self._zones:
            item = self._target(name, 2 if name == "strangers" else 0)
            # Nobody owns the replicas.
            item["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:metadata": {}}}]
            self._api.put(self.kind.path(self.kind.plural, name), item)
        self.settle()

    def _serve(self) -> None:
        for plural, kind in ((self.kind.plural, self.kind.target), ("machines", "Machine")):
            self._api.serve(f"/apis/{self.kind.group}/{self.kind.version}/{plural}", kind)

    def _target(self, name: str, replicas: int) -> Object:
        raise NotImplementedError

    def _machine(self, name: str, one: _Machine) -> Object:
        raise NotImplementedError

    def _status(self, one: _Machine, name: str, *, refused: bool) -> Object:
        raise NotImplementedError

    def target(self, name: str) -> str:
        return f"target: {{{self.kind.policy % name}}}"

    def settle(self) -> None:
        now = self.around.agenda.now
        for name, one in list(self._machines.items()):
            self._moved_on(name, one, now)
        for name in self._zones:
            item = self._api.objects[self.kind.path(self.kind.plural, name)]
            wanted = item["spec"]["replicas"]
            known, since = self._changed.get(name, (wanted, now))
            if known != wanted:
                since = now
            self._changed[name] = wanted, since
            if now >= since + self.around.shape.acts_seconds or name == "strangers":
                self._size(name, wanted, now)

    def _size(self, name: str, wanted: int, now: float) -> None:
        living = [key for key, one in self._machines.items() if one.group == name and one.ends is None]
        for _ in range(wanted - len(living)):
            self._number += 1
            key = machine_name(name, self._number)
            one = self._machines[key] = _Machine(name, self._zones[name], self._cpus[name], now)
            if name == "strangers":
                one.provisioned = one.joined = True
            self._api.put(self.kind.path("machines", key), self._machine(key, one))
        surplus = len(living) - wanted
        for key in sorted(living, key=self._rank)[: max(0, surplus)]:
            self._end(key, now)

    def _rank(self, key: str) -> tuple[int, str]:
        """Who goes first. SOURCE: both controllers: what is marked; then what has failed or has no node; then any."""
        item, one = self._api.objects[self.kind.path("machines", key)], self._machines[key]
        marked = any(mark in item["metadata"].get("annotations", {}) for mark in self.kind.marks)
        # The last part of the name only makes the choice among equals the same in each run.
        return (0 if marked else 1 if not one.joined else 2), key[::-1]

    def _end(self, key: str, now: float) -> None:
        one, path = self._machines[key], self.kind.path("machines", key)
        one.ends = now + self.around.shape.ends_seconds
        stamp = {"deletionTimestamp": instant_text(int(now)), "finalizers": ["machine"]}
        item = self._api.objects[path]
        self._api.put(path, item | {"metadata": item["metadata"] | stamp})
        if one.joined:
            self._ending.append(key)

    def _moved_on(self, name: str, one: _Machine, now: float) -> None:
        path = self.kind.path("machines", name)
        if path not in self._api.objects:
            # Somebody has deleted it: its controller ends the machine.
            del self._machines[name]
            return
        item = self._api.objects[path]
        if one.ends is not None:
            if now >= one.ends:
                del self._machines[name]
                self._api.put(
                    path, item | {"metadata": {key: part for key, part in item["metadata"].items() if key != "finalizers"}}
                )
                self._api.remove(path)
            return
        if item["metadata"].get("deletionTimestamp"):
            self._end(name, now)
            return
        refused = False
        if not one.provisioned and now >= one.since + self.around.shape.joins_seconds / 2:
            left = self._left.get((one.group, one.zone))
            refused = left is not None and left <= 0
            if not refused:
                one.provisioned = True
                if left is not None:
                    self._left[one.group, one.zone] = left - 1
        if one.provisioned and now >= one.since + self.around.shape.joins_seconds:
            one.joined = True
        status = self._status(one, name, refused=refused)
        spec = item["spec"] | ({"providerID": f"sim:///{name}"} if one.provisioned else {})
        if (status, spec) != (item.get("status"), item["spec"]):
            self._api.put(path, item | {"status": status, "spec": spec})

    def machines(self) -> list[Machine]:
        return [
            Machine(
                node=name, group=one.group if one.group != "strangers" else "", provider_id=f"sim:///{name}", zone=one.zone,
                cpu=one.cpu, ready=not one.broken,
            )
            for name, one in self._machines.items()
            if one.joined
        ]  # fmt: skip

    def ending(self) -> list[str]:
        found, self._ending = self._ending, []
        return found

    def size(self, name: str) -> int:
        return int(self._api.objects[self.kind.path(self.kind.plural, name)]["spec"]["replicas"])

    def most(self, name: str) -> int:
        return self._most[name]

    def zones(self, name: str) -> tuple[str, ...]:
        return (self._zones[name],)

    def cpu(self, name: str) -> int:
        return self._cpus[name]

    def declared(self, name: str) -> int:
        return int(self._api.objects[self.kind.path(self.kind.plural, name)]["metadata"]["annotations"][_CPU])

    def has_stock(self, name: str, zone: str) -> bool:
        return self._left.get((name, zone), 1) > 0

    def stock(self, name: str, zone: str, left: int | None) -> None:
        if left is None:
            self._left.pop((name, self._zones[name]), None)
        else:
            self._left[name, self._zones[name]] = left

    def template(self, name: str, cpu: int) -> None:
        """New machines are of that size. Who has changed it has changed the annotation only half of the time."""
        self._cpus[name] = cpu
        if self._number % 2:
            path = self.kind.path(self.kind.plural, name)
            item = self._api.objects[path]
            annotations = item["metadata"]["annotations"] | self._capacity(cpu)
            self._api.put(path, item | {"metadata": item["metadata"] | {"annotations": annotations}})

    def _capacity(self, cpu: int) -> dict[str, str]:
        return {_CPU: str(cpu), _MEMORY: f"{4 * cpu - 1}Gi"}

    def shift(self, name: str, zone: str | None) -> None:
        """There are none."""

    def by_hand(self, name: str, size: int) -> None:
        self.others[name] += max(0, self.size(name) - size)
        self._api.write(
            "PATCH", self.kind.path(self.kind.plural, name), {"spec": {"replicas": max(size, 0)}},
            content_type=ContentType.MERGE_PATCH, query={"fieldManager": "kubectl-edit"},
        )  # fmt: skip

    def breaks(self, number: int) -> None:
        running = [one for one in self._machines.values() if one.joined and not one.broken and one.group != "strangers"]
        if running:
            running[number % len(running)].broken = True

    def heals(self) -> None:
        self._left.clear()
        for one in self._machines.values():
            one.broken = False


class ClusterApiCloud(MachinesCloud):
    """MachineDeployments, each with one MachineSet."""

    kind = _CAPI

    def _serve(self) -> None:
        super()._serve()
        for plural, kind in (("machinesets", "MachineSet"), ("machinepools", "MachinePool"), ("clusters", "Cluster")):
            self._api.serve(f"/apis/{self.kind.group}/{self.kind.version}/{plural}", kind)
        cluster = {"metadata": {"name": "c", "namespace": "capi"}, "spec": {}}
        self._api.put(self.kind.path("clusters", "c"), self._whole("Cluster", cluster))

    def _whole(self, kind: str, item: Object) -> Object:
        return {"apiVersion": f"{self.kind.group}/{self.kind.version}", "kind": kind, **item}

    def _target(self, name: str, replicas: int) -> Object:
        own: Object = {
            "metadata": {"name": f"{name}-1", "namespace": "capi", "uid": f"set-{name}"},
            "spec": {"replicas": replicas},
        }
        owner = self._owner("MachineDeployment", name)
        own["metadata"] |= {"ownerReferences": [owner], "labels": self._labels(name)}
        self._api.put(self.kind.path("machinesets", f"{name}-1"), self._whole("MachineSet", own))
        spec: Object = {
            "clusterName": "c", "replicas": replicas,
            "template": {"spec": {"failureDomain": self._zones[name], "clusterName": "c"}},
        }  # fmt: skip
        meta = {"name": name, "namespace": "capi", "uid": f"uid-{name}", "annotations": self._capacity(self.sizes[0])}
        return self._whole("MachineDeployment", {"metadata": meta, "spec": spec})

    def _labels(self, name: str) -> dict[str, str]:
        return {"cluster.x-k8s.io/deployment-name": name, "cluster.x-k8s.io/cluster-name": "c"}

    def _owner(self, kind: str, name: str) -> Object:
        return {
            "apiVersion": f"{self.kind.group}/{self.kind.version}", "kind": kind, "name": name, "uid": f"uid-{name}",
            "controller": True,
        }  # fmt: skip

    def _machine(self, name: str, one: _Machine) -> Object:
        meta = {
            "name": name, "namespace": "capi", "labels": self._labels(one.group),
            "creationTimestamp": instant_text(int(one.since)), "ownerReferences": [self._owner("MachineSet", f"{one.group}-1")],
        }  # fmt: skip
        spec = {"clusterName": "c", "failureDomain": one.zone}
        return self._whole("Machine", {"metadata": meta, "spec": spec, "status": self._status(one, name, refused=False)})

    def _status(self, one: _Machine, name: str, *, refused: bool) -> Object:
        if one.joined:
            return {"phase": "Running", "nodeRef": {"name": name}}
        if one.provisioned:
            return {"phase": "Provisioned"}
        words = {"reason": "InstanceProvisionFailed", "message": "no capacity in this zone"}
        if refused and self.around.shape.fails_hard:
            return {"phase": "Failed", "failureReason": "CreateError", "failureMessage": words["message"]}
        failing = [{"type": "InfrastructureReady", "status": "False", "severity": "Error", **words}]
        return {"phase": "Provisioning", **({"conditions": failing} if refused else {})}

    def parts(self, process: Process) -> Parts:
        version = ClusterApiVersion()
        provider = ClusterApiProvider(process.api, version, "prod", hearing=PlatformHearing(_HEARD_SECONDS))
        served = Served(platform="clusterAPI", group=version.group, version=version.version)
        return Parts({MACHINE_DEPLOYMENT: provider}, served=(served,))


class OpenShiftCloud(MachinesCloud):
    """MachineSets."""

    kind = _OPENSHIFT

    def _serve(self) -> None:
        super()._serve()
        self._api.serve("/apis/autoscaling.openshift.io/v1beta1/machineautoscalers", "MachineAutoscaler")
        self._api.serve("/apis/autoscaling.openshift.io/v1/clusterautoscalers", "ClusterAutoscaler")

    def _target(self, name: str, replicas: int) -> Object:
        spec: Object = {
            "replicas": replicas,
            "template": {"spec": {"metadata": {"labels": {"topology.kubernetes.io/zone": self._zones[name]}}}},
        }
        return {
            "apiVersion": f"{self.kind.group}/{self.kind.version}", "kind": "MachineSet", "spec": spec,
            "metadata": {
                "name": name, "namespace": self.kind.namespace, "uid": f"uid-{name}", "annotations": self._capacity(self.sizes[0])
            },
        }  # fmt: skip

    def _machine(self, name: str, one: _Machine) -> Object:
        api_version = f"{self.kind.group}/{self.kind.version}"
        owner = {
            "apiVersion": api_version,
            "kind": "MachineSet",
            "name": one.group,
            "uid": f"uid-{one.group}",
            "controller": True,
        }
        meta = {
            "name": name, "namespace": self.kind.namespace, "creationTimestamp": instant_text(int(one.since)),
            "ownerReferences": [owner], "labels": {"machine.openshift.io/cluster-api-machineset": one.group},
        }  # fmt: skip
        return {
            "apiVersion": api_version, "kind": "Machine", "metadata": meta, "spec": {},
            "status": self._status(one, name, refused=False),
        }  # fmt: skip

    def _status(self, one: _Machine, name: str, *, refused: bool) -> Object:
        if one.joined:
            return {"phase": "Running", "nodeRef": {"kind": "Node", "name": name}}
        if one.provisioned:
            return {"phase": "Provisioned"}
        words = {"errorReason": "InsufficientResources", "errorMessage": "no capacity in this zone"} if refused else {}
        return {"phase": "Failed" if refused and self.around.shape.fails_hard else "Provisioning", **words}

    def parts(self, process: Process) -> Parts:
        groups = (("machine.openshift.io", "v1beta1"), ("autoscaling.openshift.io", "v1beta1"))
        served = tuple(Served(platform="openshift", group=group, version=version) for group, version in groups)
        targets = MachineTargets(process.api, MachineApiDialect(served))
        return Parts({MACHINE_SET: MachineProvider(targets, "prod", PlatformHearing(_HEARD_SECONDS))}, served=served)
