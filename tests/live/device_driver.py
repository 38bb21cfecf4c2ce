"""A driver of devices for the nodes of one cluster of one test, and pods that claim them: real objects, and no kubelet."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tests.live.run_cluster import pod_spec
from tests.testbed.api import Object
from tests.testbed.work_cluster import WorkCluster

DRIVER = "gpu.example.com"
API = "resource.k8s.io/v1"
SLICES = f"/apis/{API}/resourceslices"


def claims_path(cluster: WorkCluster) -> str:
    """Where the claims of the cluster's pods are."""
    return f"/apis/{API}/namespaces/{cluster.namespace}/resourceclaims"


def resource_of(cluster: WorkCluster) -> str:
    """The extended resource that the cluster's class serves."""
    return f"gpu.example.com/{cluster.namespace}"


@contextmanager
def device_class(cluster: WorkCluster) -> Iterator[str]:
    """A DeviceClass of the driver's devices for the time of a test. It has no namespace, and so the cluster's name."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    made = {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": cluster.namespace},
        "spec": {"selectors": [selector], "extendedResourceName": resource_of(cluster)},
    }
    cluster.api.create(made)
    try:
        yield cluster.namespace
    finally:
        cluster.api.delete(made)


def is_model(model: str) -> Object:
    """A selector of devices of a model."""
    return {"cel": {"expression": f'device.attributes["{DRIVER}"].model == "{model}"'}}


def has_memory(quantity: str) -> Object:
    """A selector of devices with at least so much."""
    return {"cel": {"expression": f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{quantity}")) >= 0'}}


def of_class(cluster: WorkCluster, *selectors: Object, **rest: object) -> Object:
    """What a request asks of devices of the class."""
    return {"deviceClassName": cluster.namespace, "selectors": [*selectors], **rest}


def exactly(cluster: WorkCluster, model: str, count: int = 1) -> Object:
    """The devices of a claim: so many of a model with at least 40 Gi each."""
    asked = of_class(cluster, is_model(model), has_memory("40Gi"), count=count)
    return {"requests": [{"name": "gpu", "exactly": asked}]}


def claim_template(cluster: WorkCluster, name: str, devices: Object) -> None:
    """A ResourceClaimTemplate."""
    metadata = {"name": name, "namespace": cluster.namespace}
    spec = {"spec": {"devices": devices}}
    cluster.api.create({"apiVersion": API, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec})


def claiming(spec: Object, template: str) -> Object:
    """The spec of a pod, with a claim of the pod's own."""
    (container,) = spec["containers"]
    resources = container["resources"] | {"claims": [{"name": "gpu"}]}
    claims = [{"name": "gpu", "resourceClaimTemplateName": template}]
    return spec | {"containers": [container | {"resources": resources}], "resourceClaims": claims}


def claiming_deployment(cluster: WorkCluster, name: str, replicas: int, template: str) -> Object:
    """A Deployment of pods with such claims."""
    return _deployment(cluster, name, replicas, claiming(pod_spec(cluster, "100m"), template))


def asking_deployment(cluster: WorkCluster, name: str, replicas: int, count: int = 1) -> Object:
    """A Deployment of pods that ask for so many of the extended resource of the cluster's class."""
    spec = pod_spec(cluster, "100m")
    (container,) = spec["containers"]
    amounts = {resource_of(cluster): str(count)}
    asked = container["resources"] | {kind: container["resources"].get(kind, {}) | amounts for kind in ("requests", "limits")}
    return _deployment(cluster, name, replicas, spec | {"containers": [container | {"resources": asked}]})


def _deployment(cluster: WorkCluster, name: str, replicas: int, pod_spec: Object) -> Object:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": pod_spec}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    metadata = {"name": name, "namespace": cluster.namespace}
    return cluster.api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})[0]


def claiming_daemon_set(cluster: WorkCluster, name: str, template: str) -> Object:
    """A DaemonSet of such pods on all nodes of the cluster, which are scheduled before others."""
    labels = {"app": name}
    of_pod = claiming(pod_spec(cluster, "100m"), template) | {"priorityClassName": "system-node-critical"}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": of_pod}}
    metadata = {"name": name, "namespace": cluster.namespace}
    return cluster.api.create({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec})[0]


def gpus(stem: str, model: str, count: int, **numbers: int) -> list[Object]:
    """Devices `STEM-0` and so on, with 80 Gi each; `numbers` are more attributes."""
    more = {name: {"int": number} for name, number in numbers.items()}
    return [
        {
            "name": f"{stem}-{number}",
            "attributes": {"model": {"string": model}, "driverVersion": {"version": "13.0.1"}, **more},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for number in range(count)
    ]


def divided_gpu(slices: int) -> tuple[list[Object], list[Object]]:
    """`gpu-0`, whole or as so many parts `gpu-0-1g-N`, and its counter set."""
    devices: list[Object] = []
    for name, profile, amount in (("gpu-0", "whole", slices), *((f"gpu-0-1g-{number}", "1g", 1) for number in range(slices))):
        consumes = {"counterSet": "gpu-0-counters", "counters": {"slices": {"value": str(amount)}}}
        devices.append({"name": name, "attributes": {"profile": {"string": profile}}, "consumesCounters": [consumes]})
    return devices, [{"name": "gpu-0-counters", "counters": {"slices": {"value": str(slices)}}}]


def publish(cluster: WorkCluster, devices: Callable[[str], list[Object]], counter_sets: Sequence[Object] = ()) -> list[str]:
    """What a driver does on each node where it starts: one ResourceSlice of the `devices` of a node of this name, which the node
    owns, and one of counter sets if there are any. Nodes that have theirs are left alone. Returns the names of the others."""
    there = {item["spec"].get("nodeName") for item in cluster.api.items(SLICES)}
    new = [node for node in cluster.nodes() if node["metadata"]["name"] not in there]
    count = 2 if counter_sets else 1
    for node in new:
        cluster.api.create(_slice(node, "gpu", count, {"devices": devices(node["metadata"]["name"])}))
        if counter_sets:
            cluster.api.create(_slice(node, "counters", count, {"sharedCounters": [*counter_sets]}))
    return [node["metadata"]["name"] for node in new]


def _slice(node: Object, suffix: str, count: int, content: Object) -> Object:
    name = node["metadata"]["name"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"], "controller": True}
    pool = {"name": name, "generation": 1, "resourceSliceCount": count}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{suffix}", "ownerReferences": [owner]},
        "spec": {"driver": DRIVER, "nodeName": name, "pool": pool, **content},
    }
