"""Objects for tests of the live view: custom resources of Cluster API's form, without its controllers."""

from typing import Any

Object = dict[str, Any]

GROUP, INFRASTRUCTURE = "capi.kube-tests.dev", "infrastructure.kube-tests.dev"
KINDS = {
    "MachineDeployment": "machinedeployments",
    "MachineSet": "machinesets",
    "MachinePool": "machinepools",
    "Machine": "machines",
    "Cluster": "clusters",
}


def definition(group: str, kind: str, plural: str, version: str = "v1beta2") -> Object:
    """A namespaced kind that takes anything."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def definitions() -> list[Object]:
    """All kinds that objects here are of."""
    found = [definition(GROUP, kind, plural) for kind, plural in KINDS.items()]
    return [*found, definition(INFRASTRUCTURE, "TestMachineTemplate", "testmachinetemplates")]


def machine_deployment(namespace: str, name: str, replicas: int, template: str = "small") -> Object:
    """A MachineDeployment with an infrastructure template."""
    reference = {"apiGroup": INFRASTRUCTURE, "kind": "TestMachineTemplate", "name": template}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {f"{GROUP}/cluster-name": "c"}},
        "spec": {"clusterName": "c", "replicas": replicas, "template": {"spec": {"infrastructureRef": reference}}},
    }


def machine_template(namespace: str, name: str) -> Object:
    """What one new machine offers."""
    return {
        "apiVersion": f"{INFRASTRUCTURE}/v1beta2",
        "kind": "TestMachineTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi"}},
    }


def machine(namespace: str, name: str, owner_set: str) -> Object:
    """A Machine of a MachineSet."""
    owner = {"apiVersion": f"{GROUP}/v1beta2", "kind": "MachineSet", "name": owner_set, "uid": "1", "controller": True}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner]},
        "spec": {"clusterName": "c", "providerID": f"test:///{name}"},
    }


def pod(namespace: str, name: str, cpu: str = "100m", **spec: object) -> Object:
    """A pod with one container."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def node(name: str, **spec: object) -> Object:
    """A node that nobody runs: with room for ten cores."""
    amounts = {"cpu": "10", "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "pool": "kube-tests"}},
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:00Z"}],
        },
    }
