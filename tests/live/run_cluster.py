"""What tests of the running loop put into a cluster, and what they read of it: groups, pods that ask for nodes, the Lease."""

from typing import Any

from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]
LABELS = "capacity.cluster-autoscaler.kubernetes.io/labels"


def group(cluster: WorkCluster, name: str, replicas: int = 0, *, zone: str = "", **behaviour: str) -> Object:
    """A MachineDeployment whose nodes of 4 CPUs carry this cluster's label: other tests' pods stay away from them, and these
    pods from other tests' nodes. `behaviour` is the stand-in's, `_` for `-`."""
    labels = {"test": cluster.namespace}
    annotations = {f"sim.reconciler.dev/{key.replace('_', '-')}": value for key, value in behaviour.items()}
    shape = Shape(zone=zone, labels=labels, annotations=annotations)
    if zone:
        labels = labels | {"topology.kubernetes.io/zone": zone}
    told = ",".join(f"{key}={value}" for key, value in labels.items())
    return cluster.machine_deployment(Group(name, replicas=replicas, annotations={LABELS: told}), shape)


def pod_spec(cluster: WorkCluster, cpu: str, **selector: str) -> Object:
    """The spec of a pod for this cluster's nodes."""
    return {
        "nodeSelector": {"test": cluster.namespace, **selector},
        "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
        "terminationGracePeriodSeconds": 0,
    }


def pods(
    cluster: WorkCluster, stem: str, count: int, cpu: str, *, selector: dict[str, str] | None = None, **metadata: object
) -> list[str]:
    """Pods of their own, named after `stem`; their names."""
    names = [f"{stem}-{number}" for number in range(count)]
    spec = pod_spec(cluster, cpu, **(selector or {}))
    cluster.api.create(
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": cluster.namespace, **metadata},
                "spec": spec,
            }
            for name in names
        )
    )
    return names


def deployment(cluster: WorkCluster, name: str, replicas: int, cpu: str) -> Object:
    """A Deployment of such pods."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(cluster, cpu)}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, "namespace": cluster.namespace}
    return cluster.api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})[0]


def all_bound(cluster: WorkCluster, count: int) -> list[Object]:
    """The pods of this cluster's namespace, once there are so many and the scheduler has bound every one."""

    def bound(items: list[Object]) -> bool:
        there = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return len(there) == count and all(item["spec"].get("nodeName") for item in there)

    return cluster.api.wait(f"/api/v1/namespaces/{cluster.namespace}/pods", bound, f"{count} pods being bound")


def lease_holder(cluster: WorkCluster, policy: str) -> str:
    """Who has the Lease of one policy; empty when nobody has."""
    found = cluster.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases/reconciler-{policy}")
    return str(found["spec"].get("holderIdentity") or "")


def replicas(cluster: WorkCluster, name: str) -> int:
    """What a MachineDeployment asks for now."""
    return int(cluster.api.get(f"{cluster.path('machinedeployments')}/{name}")["spec"]["replicas"])
