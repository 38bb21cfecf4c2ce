"""Where the reconciler finds its two clusters: in files or as a pod, in one control plane or in two."""

import copy
from pathlib import Path

import msgspec

from tests.live import rights
from tests.live.run_cluster import LABELS, Object, pod_spec
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape, namespace
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.work_cluster import WorkCluster

_MOVABLE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}


class Identity(msgspec.Struct, frozen=True):
    """One user on one control plane: the name that the audit log knows, and how a process becomes it."""

    plane: ControlPlane
    name: str
    kubeconfig: Path | None = None
    environment: dict[str, str] = {}

    def wrote(self) -> set[str]:
        """`verb resource` of what it asked to change."""
        return {f"{one.verb} {one.resource}" for one in self.plane.audit(self.name) if not one.resource.endswith("reviews")}

    def read(self) -> set[str]:
        """The resources that it read."""
        return {one.resource for one in self.plane.audit(self.name, mutating=False) if one.verb in ("get", "list", "watch")}


def by_file(plane: ControlPlane, name: str) -> Identity:
    """A user whose kubeconfig says who it is."""
    rights.grant(plane)
    return Identity(plane, name, plane.kubeconfig_of(name, rights.GROUP))


def as_pod(plane: ControlPlane, place: str, name: str, directory: Path) -> Identity:
    """A service account in a namespace that is there, as the kubelet shows it to a pod: token and authority as files, the address
    of the API server in the environment."""
    rights.grant(plane)
    metadata = {"name": name, "namespace": place}
    top = "rbac.authorization.k8s.io"
    plane.api.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": f"{top}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": top, "kind": "ClusterRole", "name": rights.GROUP},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    )
    request: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = plane.api.call("POST", f"/api/v1/namespaces/{place}/serviceaccounts/{name}/token", request)
    (directory / "token").write_text(answer["status"]["token"])
    (directory / "ca.crt").write_bytes(plane.authority.certificate.read_bytes())
    host, _, port = plane.server.removeprefix("https://").partition(":")
    pod = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "SERVICE_ACCOUNT": str(directory)}
    return Identity(plane, f"system:serviceaccount:{place}:{name}", environment=pod)


class Side:
    """One Cluster API Cluster on `management` whose nodes and pods are on `workload`, and its groups."""

    def __init__(self, cluster_api: ClusterApi, workload: ControlPlane, name: str) -> None:
        self.management = cluster_api.plane
        self.workload = workload
        if workload is not self.management:
            cluster_api.provider.workload_at(name, workload.kubeconfig_of("cluster-api-remote", MASTERS))
            workload.api.create(namespace(name))
        self.cluster = WorkCluster(cluster_api.api, name)
        self.far = copy.copy(self.cluster)
        """The same Cluster, looked at where its nodes and pods are."""
        self.far.api = workload.api

    def group(self, name: str, replicas: int) -> None:
        """A MachineDeployment of nodes of 4 CPUs for pods that ask for this group."""
        labels = {"test": self.cluster.namespace, "case": name}
        told = ",".join(f"{key}={value}" for key, value in labels.items())
        self.cluster.machine_deployment(Group(name, replicas=replicas, annotations={LABELS: told}), Shape(labels=labels))

    def nodes(self, name: str, count: int) -> list[str]:
        """The names of a group's nodes, once so many are ready."""
        found: list[str] = []

        def ready(items: list[Object]) -> bool:
            mine = [item for item in items if item["metadata"]["labels"].get("case") == name]
            found[:] = sorted(item["metadata"]["name"] for item in mine)
            return len(mine) == count and all(_ready(item) for item in mine)

        self.workload.api.wait("/api/v1/nodes", ready, f"{count} nodes of {name}")
        return found

    def pod(self, group: str, name: str, cpu: str, node: str = "") -> None:
        """A pod for the nodes of a group; on one of them already when that is named."""
        spec = pod_spec(self.cluster, cpu, case=group)
        if node:
            spec["nodeName"] = node
        metadata = {"name": name, "namespace": self.cluster.namespace, "annotations": _MOVABLE}
        self.workload.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def until_bound(self, name: str) -> str:
        """The node of a pod, once the scheduler has bound it."""
        path = f"/api/v1/namespaces/{self.cluster.namespace}/pods"
        found: list[str] = []

        def bound(items: list[Object]) -> bool:
            found[:] = [item["spec"].get("nodeName", "") for item in items if item["metadata"]["name"] == name]
            return any(found)

        self.workload.api.wait(path, bound, f"{name} being bound")
        return found[0]


def _ready(node: Object) -> bool:
    conditions = node["status"].get("conditions") or ()
    keys = {taint["key"] for taint in node["spec"].get("taints") or ()}
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions) and not any(
        key.startswith(("node.cluster.x-k8s.io/", "node.kubernetes.io/")) for key in keys
    )
