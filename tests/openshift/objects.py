"""Machine API objects as its server prints them."""

import json

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World

NAMESPACE = "openshift-machine-api"
GROUP = "machine.openshift.io"
Object = dict[str, object]


def owners(manager: str, operation: str, subresource: str = "") -> Object:
    """One managedFields entry that holds spec.replicas."""
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": f"{GROUP}/v1beta1",
        "time": "2026-11-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        **({"subresource": subresource} if subresource else {}),
    }


def machine_set(name: str, replicas: int | None = 1, **parts: object) -> Object:
    """`annotations`, `labels`, `managed`, `value` (providerSpec), `spec`, `status`, `role`, `node_labels`, `taints`."""
    spec: Object = {
        "template": {
            "metadata": {"labels": {f"{GROUP}/cluster-api-machine-role": str(parts.get("role", "worker"))}},
            "spec": {
                "metadata": {"labels": parts.get("node_labels", {})},
                "taints": parts.get("taints"),
                "providerSpec": {"value": parts.get("value", {})},
            },
        },
        **parts.get("spec", {}),  # type: ignore[dict-item]
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "MachineSet",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "generation": 3,
            "resourceVersion": "7",
            "annotations": parts.get("annotations", {}),
            "labels": parts.get("labels", {}),
            "managedFields": parts.get("managed", [owners("machineset-controller", "Update", "status") | {"fieldsV1": {}}]),
        },
        "spec": spec,
        "status": parts.get("status", {}),
    }


def machine(name: str, owner: str, **parts: object) -> Object:
    """`phase`, `node`, `error`, `annotations`, `deleting`, `hooks`, `labels`."""
    status: Object = {"phase": parts.get("phase", "Running")}
    if parts.get("node"):
        status["nodeRef"] = {"kind": "Node", "name": parts["node"]}
    if parts.get("error"):
        status |= {"errorReason": "InvalidConfiguration", "errorMessage": parts["error"]}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "annotations": parts.get("annotations", {}),
            "labels": {f"{GROUP}/cluster-api-machine-role": "worker", **parts.get("labels", {})},  # type: ignore[dict-item]
            "ownerReferences": [
                {"apiVersion": f"{GROUP}/v1beta1", "kind": "MachineSet", "name": owner, "uid": "1", "controller": True}
            ],
            **({"deletionTimestamp": "2026-11-02T00:00:00Z"} if parts.get("deleting") else {}),
        },
        "spec": {"lifecycleHooks": parts.get("hooks", {}), "providerSpec": {}},
        "status": status,
    }


def machine_autoscaler(name: str, target: str, low: int, high: int) -> Object:
    """A MachineAutoscaler."""
    return {
        "apiVersion": "autoscaling.openshift.io/v1beta1",
        "kind": "MachineAutoscaler",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "minReplicas": low,
            "maxReplicas": high,
            "scaleTargetRef": {"apiVersion": f"{GROUP}/v1beta1", "kind": "MachineSet", "name": target},
        },
    }


def world(*items: Object) -> World:
    """What a snapshot of these objects holds; MachineAutoscalers were captured, also where there is none."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    captured = b"formatVersion: '1.0'\nkinds: [MachineAutoscaler]\n"
    return read_snapshot({"all.json": json.dumps(listed).encode(), "snapshot.yaml": captured})


def only(*items: Object) -> TargetFacts:
    """The facts of the only set among the objects."""
    (found,) = world(*items).targets
    return found
