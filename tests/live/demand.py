"""Pods for the nodes of one cluster of one test: they carry its namespace as a label, which its groups' nodes have."""

import json
import socket
import threading
from types import TracebackType

from tests.testbed.api import Object
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.overlooked import until_seen_to
from tests.testbed.work_cluster import WorkCluster

NODE_LABEL = "test"


def own_nodes(cluster: WorkCluster, name: str, replicas: int) -> Object:
    """A MachineDeployment of so many nodes of 4 CPUs, whose replicas nobody holds and whose nodes take the pods of this
    cluster."""
    labels = {"capacity.cluster-autoscaler.kubernetes.io/labels": f"{NODE_LABEL}={cluster.namespace}"}
    # Left unset with both size annotations, replicas are the minimum.
    made = Group(name, min_size=replicas, max_size=20, annotations=labels)
    return cluster.machine_deployment(made, Shape(labels={NODE_LABEL: cluster.namespace}))


def deployment(cluster: WorkCluster, name: str, replicas: int, cpu: str, *, beside: int = 0) -> Object:
    """A Deployment of pods that prefer to be apart. Returns it once all of its pods run, and `beside` others of its namespace."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    spec: Object = {
        "nodeSelector": {NODE_LABEL: cluster.namespace},
        "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
        "terminationGracePeriodSeconds": 0,
        "topologySpreadConstraints": [constraint],
    }
    made: Object = cluster.api.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": cluster.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
            },
        }
    )[0]
    until_running(cluster, replicas + beside)
    return made


def until_running(cluster: WorkCluster, count: int) -> list[Object]:
    """The pods of the namespace once exactly so many are there and all are healthy."""
    path = f"/api/v1/namespaces/{cluster.namespace}/pods"

    def running(pods: list[Object]) -> bool:
        return len(pods) == count and all(map(healthy, pods))

    return until_seen_to(cluster.api, path, running, f"{count} pods running")


def budget(cluster: WorkCluster, name: str, app: str, *, max_unavailable: int) -> Object:
    """A PodDisruptionBudget, once the controller has counted its pods."""
    spec = {"maxUnavailable": max_unavailable, "selector": {"matchLabels": {"app": app}}}
    metadata = {"name": name, "namespace": cluster.namespace}
    cluster.api.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    path = f"/apis/policy/v1/namespaces/{cluster.namespace}/poddisruptionbudgets"
    return cluster.api.wait(
        path, lambda items: any(one.get("status", {}).get("expectedPods") for one in items), "the budget being counted"
    )[0]


def healthy(pod: Object) -> bool:
    """As a disruption budget counts: Ready and not being deleted."""
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ())
    return ready and "deletionTimestamp" not in pod["metadata"]


class HealthWatcher:
    """Counts the healthy pods of one namespace after every change that the server tells, from outside of the product.
    `fewest` is the smallest number since it began."""

    def __init__(self, cluster: WorkCluster) -> None:
        self._path = f"/api/v1/namespaces/{cluster.namespace}/pods"
        answer = cluster.api.get(self._path)
        self._healthy = {item["metadata"]["uid"]: healthy(item) for item in answer["items"]}
        self.fewest = self.now = sum(self._healthy.values())
        self._connection = cluster.api.connect(seconds=600)
        self._connection.request("GET", f"{self._path}?watch=true&resourceVersion={answer['metadata']['resourceVersion']}")
        self._lines = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "HealthWatcher":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._connection.close()

    def _read(self) -> None:
        try:
            for line in self._lines:
                event = json.loads(line)
                pod = event["object"]
                self._healthy[pod["metadata"]["uid"]] = event["type"] != "DELETED" and healthy(pod)
                self.now = sum(self._healthy.values())
                self.fewest = min(self.fewest, self.now)
        except (OSError, ValueError):
            return
