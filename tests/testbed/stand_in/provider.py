"""The stand-in for the infrastructure, bootstrap and control-plane providers of Cluster API."""

import base64
import threading
from pathlib import Path

from tests.testbed.api import Object
from tests.testbed.build import KUBERNETES_VERSION
from tests.testbed.stand_in.agenda import Agenda
from tests.testbed.stand_in.client import Client
from tests.testbed.stand_in.kinds import BOOTSTRAP, CLUSTER, CONTROL_PLANE, MACHINE, MACHINE_POOL, MACHINE_TEMPLATE, SimKind
from tests.testbed.stand_in.machines import Machines
from tests.testbed.stand_in.nodes import template_status
from tests.testbed.stand_in.pools import Pools
from tests.testbed.stand_in.watching import GONE, Name, Watch

_WATCHED = (CLUSTER, CONTROL_PLANE, BOOTSTRAP, MACHINE, MACHINE_TEMPLATE, MACHINE_POOL)
_RETRY_SECONDS = 0.2


class Provider(threading.Thread):
    """Watches the Sim kinds and gives Cluster API what its contract asks for. The workload cluster of every Cluster is the
    management cluster itself, unless `workload_at` says otherwise: `workload_kubeconfig` says how Cluster API reaches it."""

    def __init__(self, kubeconfig: Path, workload_kubeconfig: Path) -> None:
        super().__init__(name="providers", daemon=True)
        self._client = Client(kubeconfig)
        self._workload = workload_kubeconfig
        self._agenda: Agenda[tuple[SimKind, Name]] = Agenda()
        self._watches = {kind: Watch(self._client.api, kind, self._changed) for kind in _WATCHED}
        self._machines = Machines(
            self._client,
            lambda: self._watches[MACHINE].objects,
            lambda: self._watches[MACHINE_TEMPLATE].objects,
            self._nodes,
        )
        self._pools = Pools(
            self._client, lambda: self._watches[MACHINE_POOL].objects, lambda: self._watches[MACHINE].objects, self._nodes
        )
        self._elsewhere: dict[str, tuple[Path, Client]] = {}
        self.failures: list[str] = []

    def workload_at(self, namespace: str, kubeconfig: Path) -> None:
        """The Clusters of a namespace, made after this, have their nodes on another API server, which this leads to."""
        self._elsewhere[namespace] = kubeconfig, Client(kubeconfig)

    def run(self) -> None:
        """Work until stopped; whatever the API server refuses is tried again."""
        for watch in self._watches.values():
            watch.start()
        while (item := self._agenda.next()) is not None:
            try:
                seconds = self._look_at(*item)
            except GONE as error:
                self.failures.append(f"{item[0].kind} {'/'.join(item[1])}: {error}")
                seconds = _RETRY_SECONDS
            if seconds is not None:
                self._agenda.add(item, seconds)

    def stop(self) -> None:
        """Stop all threads."""
        self._agenda.close()
        for watch in self._watches.values():
            watch.stop()
        self.join()
        self._client.close()
        for _, client in self._elsewhere.values():
            client.close()

    def _nodes(self, namespace: str) -> Client:
        return self._elsewhere[namespace][1] if namespace in self._elsewhere else self._client

    def _changed(self, kind: SimKind, name: Name) -> None:
        self._agenda.add((kind, name))

    def _look_at(self, kind: SimKind, name: Name) -> float | None:
        if kind == MACHINE:
            known = name in self._watches[MACHINE].objects
            seconds = self._machines.step(name)
            if not known:
                # What this one had is free for the others.
                self._wake_waiting(name[0])
            return seconds
        if kind == MACHINE_POOL:
            return self._pools.step(name)
        item = self._watches[kind].objects.get(name)
        if item is None or "deletionTimestamp" in item["metadata"]:
            return None
        if kind == MACHINE_TEMPLATE:
            self._wake_waiting(name[0])
        wanted = self._status(kind, item)
        if wanted is not None and wanted != {key: item.get("status", {}).get(key) for key in wanted}:
            self._provide(kind, name, item)
            self._client.merge_status(kind.named(*name), wanted)
        return None

    def _wake_waiting(self, namespace: str) -> None:
        for other in self._machines.waiting(namespace):
            self._agenda.add((MACHINE, other))

    def _status(self, kind: SimKind, item: Object) -> Object | None:
        """The status that the contract asks for; None while something is missing that Cluster API will add."""
        name = item["metadata"]["name"]
        if kind == CLUSTER:
            return {"initialization": {"provisioned": True}}
        if kind == BOOTSTRAP:
            return {"initialization": {"dataSecretCreated": True}, "dataSecretName": f"{name}-data"}
        if kind == MACHINE_TEMPLATE:
            spec = item["spec"]["template"]["spec"]
            return template_status(spec) if spec.get("publishCapacity", True) else None
        if _cluster(item) is None:
            return None
        version = item.get("spec", {}).get("version", KUBERNETES_VERSION)
        return {"initialization": {"controlPlaneInitialized": True}, "version": version, "externalManagedControlPlane": True}

    def _provide(self, kind: SimKind, name: Name, item: Object) -> None:
        """What has to be there before the status says so."""
        if kind == CLUSTER and "controlPlaneEndpoint" not in item.get("spec", {}):
            endpoint = {"host": "127.0.0.1", "port": 6443}
            self._client.merge(kind.named(*name), {"spec": {"controlPlaneEndpoint": endpoint}})
        elif kind == BOOTSTRAP:
            self._secret(item, f"{name[1]}-data", b"#cloud-config")
        elif kind == CONTROL_PLANE:
            kubeconfig = self._elsewhere[name[0]][0] if name[0] in self._elsewhere else self._workload
            self._secret(item, f"{_cluster(item)}-kubeconfig", kubeconfig.read_bytes())

    def _secret(self, owner: Object, name: str, value: bytes) -> None:
        metadata = owner["metadata"]
        namespace, cluster = metadata["namespace"], _cluster(owner)
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "cluster.x-k8s.io/secret",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {"cluster.x-k8s.io/cluster-name": cluster} if cluster else {},
                "ownerReferences": [reference],
            },
            "data": {"value": base64.b64encode(value).decode()},
        }
        self._client.create(f"/api/v1/namespaces/{namespace}/secrets", secret)


def _cluster(item: Object) -> str | None:
    name: str | None = item["metadata"].get("labels", {}).get("cluster.x-k8s.io/cluster-name")
    return name
