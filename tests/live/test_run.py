"""`reconciler run` on a real control plane: demand becomes nodes, and an orderly end leaves nothing behind."""

import signal
from pathlib import Path
from typing import Any

from tests.live.reconciler_process import Reconciler, policy_text
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]


def pods(cluster: WorkCluster, count: int, cpu: str) -> None:
    """Pods of this cluster's nodes only: other tests' nodes carry other names."""
    cluster.api.create(
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"p{number}", "namespace": cluster.namespace},
                "spec": {
                    "nodeSelector": {"test": cluster.namespace},
                    "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
                },
            }
            for number in range(count)
        )
    )


def bound(items: list[Object]) -> bool:
    return all(item["spec"].get("nodeName") for item in items)


def test_pending_pods_become_nodes_and_all_are_bound(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Six pods of 3 CPUs on nodes of 4 need six nodes, from zero; the real scheduler binds every pod."""
    cluster = new_cluster()
    labels = {"capacity.cluster-autoscaler.kubernetes.io/labels": f"test={cluster.namespace}"}
    cluster.machine_deployment(Group("general", replicas=0, annotations=labels), Shape(labels={"test": cluster.namespace}))
    (tmp_path / "policy.yaml").write_text(policy_text("grow", cluster.namespace, {"general": (0, 10)}))
    pods(cluster, 6, "3")
    with Reconciler(control_plane.kubeconfig, tmp_path, f"--namespace={cluster.namespace}") as process:
        process.said("Resize")
        cluster.api.wait(f"/api/v1/namespaces/{cluster.namespace}/pods", bound, "all pods being bound")
        assert len(cluster.nodes()) == 6
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
