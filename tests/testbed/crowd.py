"""A seeded crowd: nodes of several shapes, nearly full once the pods are on them, and many equal pods of many kinds."""

from random import Random
from typing import NamedTuple

from tests.differential.generator.draft import HOSTNAME, ZONE, ZONES, Draft, Object
from tests.testbed.control_plane import FAKE_NODE

_CARD = "example.com/card"
_SPOT = "example.com/spot"
_POOLS = ("general", "memory", "compute", "slots", "cards", "spot", "edge")


class Crowd(NamedTuple):
    """Objects to create; pods of one kind follow each other."""

    nodes: list[Object]
    pods: list[Object]


def node(name: str, labels: dict[str, str], amounts: dict[str, str], **spec: object) -> Object:
    """A node for kwok."""
    metadata = {"name": name, "labels": {HOSTNAME: name} | labels, "annotations": FAKE_NODE}
    status = {"capacity": amounts, "allocatable": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def pods(namespace: str, kind: str, count: int, spec: Object, labels: dict[str, str] | None = None) -> list[Object]:
    """Equal pods."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{kind}-{index:02d}", "namespace": namespace, "labels": {"app": kind} | (labels or {})},
            "spec": spec,
        }
        for index in range(count)
    ]


def node_local_crowd(namespace: str, kinds: int, of_each: int) -> Crowd:
    """About 200 nodes in seven pools, and pods that look at nothing but the node: no rule of any of them counts others,
    ports and room aside."""
    draft = Draft(Random(f"node-local:{kinds}:{of_each}"))
    nodes = [
        *_pool(draft, "general", 80, cpu="4", memory="16Gi"),
        *_pool(draft, "memory", 20, cpu="4", memory="64Gi", **{"hugepages-2Mi": "512Mi"}),
        *_pool(draft, "compute", 20, cpu="16", memory="32Gi"),
        *_pool(draft, "slots", 16, cpu="8", memory="32Gi", pods="6"),
        *_pool(draft, "cards", 20, cpu="8", memory="32Gi", **{_CARD: "4"}),
        *_pool(draft, "spot", 20, cpu="8", memory="16Gi", **{"ephemeral-storage": "20Gi"}),
        *_pool(draft, "edge", 18, cpu="8", memory="16Gi"),
    ]
    return Crowd(
        nodes, [pod for index in range(kinds) for pod in pods(namespace, f"kind-{index:02d}", of_each, _pod_spec(draft, index))]
    )


def _pool(draft: Draft, pool: str, count: int, **amounts: str) -> list[Object]:
    made = []
    for index in range(count):
        labels = {"pool": pool, ZONE: ZONES[index % 3], "generation": draft.random.choice(("1", "7", "12"))}
        taints = []
        if pool == "cards" or (pool == "general" and draft.chance(10)):
            taints.append({"key": _CARD, "value": draft.random.choice(("small", "large")), "effect": "NoSchedule"})
        if pool == "spot":
            taints.append({"key": _SPOT, "effect": draft.random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))})
        spec: Object = {"taints": taints} if taints else {}
        if draft.chance(4):
            spec["unschedulable"] = True
        full = {"pods": "30", "ephemeral-storage": "100Gi"} | amounts
        made.append(node(f"crowd-{pool}-{index:02d}", labels, full, **spec))
    return made


def _pod_spec(draft: Draft, index: int) -> Object:
    container: Object = {"name": "main", "image": "x", "resources": _resources(draft)}
    spec: Object = {"containers": [container]}
    if _CARD in container["resources"]["limits"]:
        spec["tolerations"] = [{"key": _CARD, "operator": "Exists"}]
    if draft.chance(20):
        spec["initContainers"] = [_init_container(draft)]
    if draft.chance(50):
        spec |= _choice(draft)
    if draft.chance(50):
        spec["tolerations"] = [_toleration(draft) for _ in range(draft.random.randint(1, 2))]
    if index % 5 == 0:
        # More pods than nodes that they may go to, so that some wait for nothing but a port.
        container["ports"] = [_port(draft, number) for number in draft.subset((80, 443, 5353), 1, 2)]
        spec["nodeSelector"] = {"pool": draft.random.choice(("edge", "edge", "memory"))}
        spec.pop("affinity", None)
    return spec


def _resources(draft: Draft) -> Object:
    requests = {
        "cpu": draft.random.choice(("50m", "100m", "250m", "333m", "0.5", "1")),
        "memory": draft.random.choice(("64Mi", "256Mi", "1Gi", "1500M", "3Gi")),
    }
    limits: dict[str, str] = {}
    if draft.chance(10):
        requests = {}
    if draft.chance(15):
        limits[_CARD] = draft.random.choice(("1", "2"))
    if draft.chance(8):
        limits["hugepages-2Mi"] = draft.random.choice(("100Mi", "200Mi"))
        requests = {"cpu": "100m"}
    if draft.chance(10):
        requests["ephemeral-storage"] = draft.random.choice(("2Gi", "9Gi"))
    return {"requests": requests | limits, "limits": limits}


def _init_container(draft: Draft) -> Object:
    requests = {"cpu": draft.random.choice(("10m", "750m")), "memory": draft.random.choice(("10Mi", "2Gi"))}
    container: Object = {"name": "first", "image": "x", "resources": {"requests": requests}}
    return container | ({"restartPolicy": "Always"} if draft.chance(50) else {})


def _choice(draft: Draft) -> Object:
    pool = draft.random.choice(_POOLS)
    if draft.chance(40):
        return {"nodeSelector": {"pool": pool} | ({ZONE: draft.random.choice(ZONES)} if draft.chance(40) else {})}
    terms: list[Object] = [
        {"matchExpressions": [_expression(draft) for _ in range(draft.random.randint(1, 2))]} for _ in range(2)
    ]
    if draft.chance(15):
        terms[0] = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"crowd-{pool}-03"]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}


def _expression(draft: Draft) -> Object:
    operator = draft.random.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "generation", "operator": operator, "values": [draft.random.choice(("1", "7", "11"))]}
    if operator in ("Exists", "DoesNotExist"):
        return {"key": draft.random.choice(("pool", "no-such-label")), "operator": operator}
    return {"key": "pool", "operator": operator, "values": draft.subset(_POOLS, 1, 3)}


def _toleration(draft: Draft) -> Object:
    if draft.chance(10):
        return {"operator": "Exists"}
    key = draft.random.choice((_CARD, _CARD, _SPOT))
    if key == _SPOT:
        return {"key": key, "operator": "Exists"} | ({"effect": "NoSchedule"} if draft.chance(50) else {})
    return {"key": key, "operator": "Equal", "value": draft.random.choice(("small", "large")), "effect": "NoSchedule"}


def _port(draft: Draft, number: int) -> Object:
    port: Object = {"containerPort": number, "hostPort": number, "protocol": draft.random.choice(("TCP", "TCP", "UDP"))}
    address = draft.random.choice(("", "", "127.0.0.1", "10.0.0.7"))
    return port | ({"hostIP": address} if address else {})
