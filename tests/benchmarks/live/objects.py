"""The seeded cluster of `make bench-live`: node groups of Cluster API, nodes for kwok, pods that are bound to them already."""

from random import Random

from tests.testbed import cluster_documents as documents
from tests.testbed.api import Object
from tests.testbed.cluster_documents import CORE, Group, Shape
from tests.testbed.control_plane import FAKE_NODE
from tests.testbed.crowd import pods

NAMESPACE, CLUSTER = "bench", "work"
MACHINE_GROUP = CORE.partition("/")[0]
ZONES = ("a", "b", "c")
_GROUPS, _PODS_OF_A_KIND = 20, 100
_CPU, _MEMORY = "8", "32Gi"


def group_names() -> list[str]:
    """The MachineDeployments, each with a group of its own name."""
    return [f"group-{number:02d}" for number in range(_GROUPS)]


def groups(nodes: int) -> list[Object]:
    """The Cluster, and the MachineDeployments with their templates: as many replicas in all as there are nodes."""
    made: list[Object] = [documents.plain_cluster(NAMESPACE, CLUSTER)[-1]]
    for number, name in enumerate(group_names()):
        shape = Shape(capacity={"cpu": _CPU, "memory": _MEMORY, "pods": "110"}, zone=_zone(number))
        replicas = len(range(number, nodes, _GROUPS))
        made.append(documents.machine_template(NAMESPACE, name, shape))
        made.append(documents.machine_deployment(NAMESPACE, CLUSTER, Group(name, replicas=replicas), name))
    return made


def machine_sets(deployments: list[Object]) -> list[Object]:
    """One MachineSet a MachineDeployment, as its controller would make it."""
    return [
        {
            "apiVersion": CORE,
            "kind": "MachineSet",
            "metadata": {
                "name": f"{item['metadata']['name']}-1",
                "namespace": NAMESPACE,
                "labels": item["spec"]["template"]["metadata"]["labels"],
                "ownerReferences": [_owner(item)],
            },
            "spec": {key: item["spec"][key] for key in ("clusterName", "replicas", "selector", "template")},
        }
        for item in deployments
    ]


def machines(sets: list[Object], nodes: int) -> list[Object]:
    """One Machine a node, with the node that it became."""
    found: list[Object] = []
    for number in range(nodes):
        owner = sets[number % _GROUPS]
        name = node_name(number)
        found.append(
            {
                "apiVersion": CORE,
                "kind": "Machine",
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "labels": owner["spec"]["template"]["metadata"]["labels"],
                    "ownerReferences": [_owner(owner)],
                },
                "spec": owner["spec"]["template"]["spec"] | {"providerID": f"sim://{name}"},
                "status": {"nodeRef": {"name": name}},
            }
        )
    return found


def nodes(count: int) -> list[Object]:
    """Nodes that kwok makes Ready."""
    amounts = {"cpu": _CPU, "memory": _MEMORY, "pods": "110", "ephemeral-storage": "100Gi"}
    found: list[Object] = []
    for number in range(count):
        name = node_name(number)
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/region": "bench",
            "topology.kubernetes.io/zone": _zone(number),
            "node.kubernetes.io/instance-type": "sim.large",
        }
        metadata = {"name": name, "labels": labels, "annotations": FAKE_NODE}
        spec = {"providerID": f"sim://{name}"}
        status = {"capacity": amounts, "allocatable": amounts}
        found.append({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status})
    return found


def controllers(count: int) -> list[Object]:
    """ReplicationControllers, of which nobody takes care on this control plane: their pods stay as they are made."""
    found: list[Object] = []
    for kind in range(-(-count // _PODS_OF_A_KIND)):
        name = f"app-{kind:03d}"
        template = {"metadata": {"labels": {"app": name}}, "spec": _pod_spec(kind, {"cpu": "1", "memory": "1Gi"})}
        spec = {"replicas": _PODS_OF_A_KIND, "selector": {"app": name}, "template": template}
        metadata = {"name": name, "namespace": NAMESPACE}
        found.append({"apiVersion": "v1", "kind": "ReplicationController", "metadata": metadata, "spec": spec})
    return found


def first_nodes(pods: int, nodes: int) -> int:
    """How many nodes are there before all others: as many in every group, with room for the first pod of every kind."""
    kinds, of_each = -(-pods // _PODS_OF_A_KIND), max(pods // nodes, 1)
    return min(nodes, -(-kinds // (of_each * _GROUPS)) * _GROUPS)


def bound_pods(owners: list[Object], count: int, nodes: int) -> list[Object]:
    """As many pods on every node, of kinds that differ in what they request; about three quarters of the cpu in all. The first
    of each kind is on one of the first nodes."""
    places = [node_name(number % nodes) for number in range(count)]
    Random("bench-live").shuffle(places)
    early = {node_name(number) for number in range(first_nodes(count, nodes))}
    near: list[str] = []
    far: list[str] = []
    for place in places:
        (near if place in early and len(near) < len(owners) else far).append(place)
    found: list[Object] = []
    for kind, owner in enumerate(owners):
        requests = {"cpu": f"{250 + kind % 7 * 50}m", "memory": f"{512 + kind % 5 * 256}Mi"}
        made = pods(NAMESPACE, owner["metadata"]["name"], min(_PODS_OF_A_KIND, count - len(found)), _pod_spec(kind, requests))
        for pod in made:
            pod["metadata"]["ownerReferences"] = [_owner(owner)]
            pod["spec"] = pod["spec"] | {"nodeName": (near if pod is made[0] else far).pop()}
            found.append(pod)
    return found


def pending_pods(count: int) -> list[Object]:
    """Pods that no node has room for: they ask for a new one in every loop."""
    return pods(NAMESPACE, "waiting", count, _pod_spec(0, {"cpu": "6", "memory": "20Gi"}))


def budgets(owners: list[Object]) -> list[Object]:
    """A PodDisruptionBudget for every tenth kind of pods."""
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": owner["metadata"]["name"], "namespace": NAMESPACE},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": owner["metadata"]["name"]}}},
        }
        for owner in owners[::10]
    ]


def node_name(number: int) -> str:
    """The name of a node and of its Machine."""
    return f"node-{number:05d}"


def zone_of(node: str) -> str:
    """The zone of a node, by its name."""
    return _zone(int(node.removeprefix("node-")))


def _zone(number: int) -> str:
    return ZONES[number % _GROUPS % len(ZONES)]


def _pod_spec(kind: int, requests: dict[str, str]) -> Object:
    variables = [{"name": f"SETTING_{number}", "value": f"value {number} of kind {kind}"} for number in range(8)]
    container: Object = {
        "name": "main",
        "image": f"registry.example.com/team/app-{kind:03d}:1.0",
        "env": variables,
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": requests, "limits": {"memory": requests["memory"]}},
    }
    return {"containers": [container], "automountServiceAccountToken": False}


def _owner(item: Object) -> Object:
    metadata = item["metadata"]
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
