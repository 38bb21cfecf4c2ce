"""MachinePools on a Cluster of a test: the stand-in makes an instance for each replica, with a Machine or without."""

from tests.testbed.api import Object
from tests.testbed.build import KUBERNETES_VERSION
from tests.testbed.cluster_documents import CORE, Group
from tests.testbed.stand_in.kinds import MACHINE_POOL, VERSION
from tests.testbed.work_cluster import NAME, WorkCluster

_CAPACITY = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def machine_pool(cluster: WorkCluster, group: Group, *, machines: bool = True) -> Object:
    """Make a MachinePool and what stands behind it, both named after the group."""
    metadata = {"name": group.name, "namespace": cluster.namespace}
    instances = {
        "apiVersion": f"{MACHINE_POOL.group}/{VERSION}",
        "kind": MACHINE_POOL.kind,
        "metadata": {**metadata, "labels": {"cluster.x-k8s.io/cluster-name": NAME}},
        "spec": {"machines": machines, "capacity": _CAPACITY},
    }
    machine = {
        "clusterName": NAME,
        "version": KUBERNETES_VERSION,
        "bootstrap": {"dataSecretName": "given"},
        "infrastructureRef": {"apiGroup": MACHINE_POOL.group, "kind": MACHINE_POOL.kind, "name": group.name},
    }
    pool = {
        "apiVersion": CORE,
        "kind": "MachinePool",
        "metadata": {**metadata, "annotations": group.all_annotations()},
        "spec": {"clusterName": NAME, "template": {"metadata": {"labels": {"group": group.name}}, "spec": machine}},
    }
    return cluster.api.create(instances, pool)[1]
