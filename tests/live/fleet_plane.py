"""A management cluster with Cluster API, and workload clusters that are real API servers of their own."""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path

from tests.live import rights
from tests.testbed.api import Api, ApiError, Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import MASTERS, ControlPlane, running_control_plane
from tests.testbed.work_cluster import NAME, WorkCluster

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: fleet}
spec:
  mode: Enforce
  adoptFrom: [testbed]
  humanHoldTime: 0s
  pace: {delayAfterAdd: 0s, delayAfterFailure: 0s}
  budgets: [{nodes: 10}]
  discovery: [{name: all, clusterAPI: {}}]
  defaults: {scaleDown: {unneededTime: 1h, utilizationThresholdPercent: 50}}
"""


class Workload:
    """One workload cluster: its Cluster object is `NAME` in `namespace`, its nodes are on `plane`."""

    def __init__(self, management: ClusterApi, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self.title = f"{namespace}/{NAME}"
        self._management = management
        rights.grant(plane)
        self.kubeconfig = plane.kubeconfig_of("fleet-reconciler", rights.GROUP)
        management.provider.workload_at(namespace, plane.kubeconfig_of("cluster-api-remote", MASTERS))
        self.cluster = WorkCluster(management.api, namespace)
        self.cluster.machine_deployment(Group("general", replicas=0, min_size=0, max_size=5), Shape())
        self.rotate()

    def rotate(self, kubeconfig: Path | None = None) -> None:
        """Write new credentials into the Secret: those of a user with the reconciler's rights."""
        path = kubeconfig or self.plane.kubeconfig_of("fleet-reconciler", rights.GROUP)
        write_kubeconfig_secret(self._management.api, self.namespace, path.read_bytes())

    def pods(self, stem: str, count: int, cpu: str = "1") -> None:
        """Pods that no node has room for yet."""
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        self.plane.api.create(
            *(
                {
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": f"{stem}-{number}", "namespace": "default"},
                    "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
                }
                for number in range(count)
            )
        )  # fmt: skip

    def replicas(self) -> int:
        """What the MachineDeployment asks for now."""
        return int(self._management.api.get(f"{self.cluster.path('machinedeployments')}/general")["spec"]["replicas"])

    def until_bound(self, count: int) -> None:
        """Until so many pods of the default namespace have a node."""

        def bound(items: Sequence[Object]) -> bool:
            return sum(bool(item["spec"].get("nodeName")) for item in items) == count

        self.plane.api.wait("/api/v1/namespaces/default/pods", bound, f"{count} pods being bound")


def write_kubeconfig_secret(api: Api, namespace: str, kubeconfig: bytes) -> None:
    """The Secret of the reconciler's own beside that of Cluster API, which stays as it is: made, or written anew."""
    data = {"value": base64.b64encode(kubeconfig).decode()}
    metadata = {"name": f"{NAME}-reconciler-kubeconfig", "namespace": namespace}
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    try:
        api.create(secret | {"type": "cluster.x-k8s.io/secret", "data": data})
    except ApiError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise
        api.merge(secret, {"data": data})


@contextmanager
def workloads(management: ClusterApi, names: Sequence[str]) -> Iterator[list[Workload]]:
    """One for each name, removed in the end."""
    with ExitStack() as stack:
        made = [Workload(management, stack.enter_context(running_control_plane()), name) for name in names]
        yield made
        for one in made:
            one.cluster.delete()


def fleet_leases(management: ClusterApi, namespace: str) -> dict[str, str]:
    """Who holds the loop of each cluster, by the label of the cluster."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    found = management.api.items(path)
    return {
        item["metadata"]["labels"]["reconciler.dev/cluster"]: item["spec"].get("holderIdentity") or ""
        for item in found
        if item["metadata"].get("labels", {}).get("reconciler.dev/fleet") == "loop"
    }


def statuses(body: str) -> dict[str, dict[str, object]]:
    """The clusters of the page /fleet."""
    return {one["cluster"]: one for one in json.loads(body)["clusters"]}
