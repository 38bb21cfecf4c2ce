"""The Node that a SimMachine becomes, as a kubelet with cloud provider would register it."""

from tests.testbed.api import Object
from tests.testbed.build import KUBERNETES_VERSION

# Cluster API takes this taint away once it has put its labels on the Node.
_UNINITIALIZED = {"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}
_DEFAULT_CAPACITY = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def provider_id(machine: Object) -> str:
    """The identity of the instance behind a SimMachine."""
    return f"sim:///{machine['metadata']['namespace']}/{machine['metadata']['name']}"


def template_status(spec: Object) -> Object:
    """What a template tells about machines that do not exist yet (Cluster API's contract for scaling from zero)."""
    info = {"architecture": spec.get("architecture", "amd64"), "operatingSystem": "linux"}
    return {"capacity": spec.get("capacity", _DEFAULT_CAPACITY), "nodeInfo": info}


def node_of(machine: Object, *, ready: bool) -> Object:
    """The Node of a SimMachine; kwok keeps it ready, or nobody does."""
    spec, name = machine["spec"], machine["metadata"]["name"]
    told = template_status(spec)
    capacity, architecture = told["capacity"], told["nodeInfo"]["architecture"]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": architecture,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": spec.get("instanceType", "sim.large"),
        "topology.kubernetes.io/region": "sim-1",
        **({"topology.kubernetes.io/zone": spec["zone"]} if "zone" in spec else {}),
        **spec.get("labels", {}),
    }
    # kwok fills in what is missing here, its own version for the kubelet's too, which Cluster API would take for out of date.
    info = told["nodeInfo"] | {"kubeletVersion": KUBERNETES_VERSION} | dict.fromkeys(_UNKNOWN, "")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"} if ready else {}},
        "spec": {"providerID": provider_id(machine), "taints": [_UNINITIALIZED, *spec.get("taints", ())]},
        "status": {"capacity": capacity, "allocatable": capacity | spec.get("allocatable", {}), "nodeInfo": info},
    }


_UNKNOWN = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeProxyVersion")
