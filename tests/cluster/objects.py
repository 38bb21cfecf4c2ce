"""Kubernetes objects by short calls, as the API returns them, and the World that they make."""

import json
from typing import Any

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World

Object = dict[str, Any]

CAPI = "cluster.x-k8s.io"
MIN = f"{CAPI}/cluster-api-autoscaler-node-group-min-size"
MAX = f"{CAPI}/cluster-api-autoscaler-node-group-max-size"
CREATED = "2026-11-21T00:16:25Z"
MANAGED: list[Object] = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:metadata": {}}}]


def obj(kind: str, api_version: str, name: str, namespace: str = "", **body: Any) -> Object:
    """Any object; `meta` adds to its metadata."""
    meta = {"name": name, "creationTimestamp": CREATED, **body.pop("meta", {})}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **body}


def container(cpu: str | None = None, memory: str | None = None, name: str = "main", **rest: Any) -> Object:
    """A container with requests."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": name, "resources": {"requests": requests} if requests else {}, **rest}


def pod(
    name: str = "web-1", namespace: str = "shop", *, meta: Object | None = None, status: Object | None = None, **spec: Any
) -> Object:
    """A pod; keyword arguments are fields of its spec."""
    spec.setdefault("containers", [container("100m", "64Mi")])
    return obj(
        "Pod", "v1", name, namespace, meta=meta or {}, spec=spec, status={"phase": "Pending"} if status is None else status
    )


def node(name: str = "n1", cpu: str = "4", memory: str = "16Gi", **rest: Any) -> Object:
    """A ready node."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
    meta = {"labels": {"kubernetes.io/hostname": name, **rest.pop("labels", {})}, **rest.pop("meta", {})}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready], **rest.pop("status", {})}
    return obj("Node", "v1", name, meta=meta, spec=rest.pop("spec", {}), status=status)


def scalable(
    kind: str = "MachineDeployment", name: str = "pool", *, annotations: dict[str, str] | None = None, **rest: Any
) -> Object:
    """A MachineDeployment, MachineSet or MachinePool in namespace capi of cluster c1, whose replicas nobody owns."""
    meta = {"annotations": annotations or {}, "managedFields": MANAGED, **rest.pop("meta", {})}
    template = rest.pop(
        "template", {"spec": {"infrastructureRef": {"apiGroup": "infra.example.com", "kind": "XMachineTemplate", "name": "t"}}}
    )
    spec = {"clusterName": "c1", "replicas": 3, "template": template, **rest.pop("spec", {})}
    return obj(kind, f"{CAPI}/v1beta2", name, "capi", meta=meta, spec=spec, **rest)


def owner(kind: str, name: str, api_version: str = f"{CAPI}/v1beta2") -> Object:
    """A controlling owner reference."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


def files_of(*objects: Object) -> dict[str, bytes]:
    """One file with one List."""
    return {"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()}


def world_of(*objects: Object, version: str = "") -> World:
    """The World of some objects, of a cluster of this version of Kubernetes (empty: nobody knows)."""
    told = {"snapshot.yaml": f'formatVersion: "1.0"\nkubernetesVersion: {version}\n'.encode()} if version else {}
    return read_snapshot(files_of(*objects) | told)
