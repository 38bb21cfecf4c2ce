"""What the tests of ownership facts say and read."""

from typing import Any

import pytest

from tests.testbed.api import ApiError
from tests.testbed.cluster_documents import Group, Shape, machine_deployment, machine_template
from tests.testbed.stand_in.behaviour import NODE
from tests.testbed.work_cluster import NAME, WorkCluster

Object = dict[str, Any]

OURS = "nodegroup-reconciler"
# Facts about replicas need no nodes, and machines without node are gone sooner.
NO_NODES = Shape(annotations={NODE: "Never"})


def only_replicas(item: Object, replicas: int | None, version: str = "") -> Object:
    """What we apply: the identity of an object, its replicas (None: not even those), the resourceVersion that it must have."""
    metadata = {"name": item["metadata"]["name"], "namespace": item["metadata"]["namespace"]}
    if version:
        metadata["resourceVersion"] = version
    spec = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata, "spec": spec}


def applied(cluster: WorkCluster, group: Group, manager: str = "kubectl") -> Object:
    """A MachineDeployment that somebody applies server-side."""
    if group.name not in {one["metadata"]["name"] for one in cluster.templates()}:
        cluster.api.create(machine_template(cluster.namespace, group.name, NO_NODES))
    return cluster.api.apply(machine_deployment(cluster.namespace, NAME, group, group.name), manager)


def machine_set_of(cluster: WorkCluster, group: str) -> Object:
    """The MachineSet that a MachineDeployment made, once it is there."""

    def of_group(items: list[Object]) -> list[Object]:
        return [one for one in items if one["metadata"]["labels"].get("cluster.x-k8s.io/deployment-name") == group]

    return of_group(cluster.api.wait(cluster.path("machinesets"), lambda items: bool(of_group(items)), "the MachineSet"))[0]


def refusal(cluster: WorkCluster, item: Object, replicas: int, manager: str = OURS) -> Object:
    """The answer to an apply of replicas that must be refused with 409."""
    with pytest.raises(ApiError) as refused:
        cluster.api.apply(only_replicas(item, replicas), manager)
    assert refused.value.status == 409
    return refused.value.body


def cause(answer: Object) -> tuple[str, str, str]:
    """Reason, field and message of the only cause in a refusal."""
    (one,) = answer["details"]["causes"]
    return one["reason"], one["field"], one["message"]
