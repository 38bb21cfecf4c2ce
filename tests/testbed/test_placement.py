"""Our placement against the real kube-scheduler: the same pods on the same nodes, and what stays pending on either side.

Every app has a pool of nodes to itself, so that the number of its pods that find room hangs on nothing but its own rules.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from tests.testbed.capture import captured
from tests.testbed.control_plane import FAKE_NODE, ControlPlane
from tests.testbed.overlooked import until_seen_to

Object = dict[str, Any]

NAMESPACE = "placement"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def _nodes(pool: str, zones: str, taint: bool = False, **more: str) -> list[Object]:
    """One node of 4 cpus a letter of `zones`."""
    nodes = []
    for index, zone in enumerate(zones):
        name = f"placement-{pool}-{index}"
        amounts = {"cpu": "4", "memory": "16Gi", "pods": "10"} | more
        spec = {"taints": [{"key": "dedicated", "value": pool, "effect": "NoSchedule"}]} if taint else {}
        labels = {"pool": pool, HOST: name, ZONE: zone}
        metadata = {"name": name, "labels": labels, "annotations": FAKE_NODE}
        status = {"capacity": amounts, "allocatable": amounts}
        nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status})
    return nodes


def _pods(app: str, count: int, requests: dict[str, str], pool: str = "", ports: bool = False, **spec: object) -> list[Object]:
    container: Object = {"name": "main", "image": "x", "resources": {"requests": requests, "limits": requests}}
    if ports:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{app}-{index}", "namespace": NAMESPACE, "labels": {"app": app}},
            "spec": {
                "containers": [container],
                "nodeSelector": {"pool": pool or app},
                "schedulingGates": [{"name": "example.com/wait"}],
                **spec,
            },
        }
        for index in range(count)
    ]


def _apart(app: str, key: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(app: str) -> list[Object]:
    selector = {"matchLabels": {"app": app}}
    return [{"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]


_NODES = [
    *_nodes("cpu", "aab"),
    *_nodes("gpu", "ab", taint=True, **{"nvidia.com/gpu": "2"}),
    *_nodes("ports", "ab"),
    *_nodes("slots", "a", pods="3"),
    *_nodes("apart", "aab"),
    *_nodes("spread", "aab"),
    *_nodes("disks", "ab"),
]
_ONE = {"cpu": "1"}
_TOLERATES = [{"key": "dedicated", "operator": "Exists"}]
_PODS = [
    *_pods("cpu", 14, _ONE),  # 3 nodes of 4: 2 wait
    *_pods("gpu", 5, {"cpu": "1", "nvidia.com/gpu": "1"}, tolerations=_TOLERATES),  # 2 nodes of 2 cards: 1 waits
    *_pods("intolerant", 2, _ONE, pool="gpu"),  # nobody tolerates: both wait
    *_pods("ports", 3, _ONE, ports=True),  # 2 nodes: 1 waits
    *_pods("slots", 5, {"cpu": "10m"}),  # room for 3 pods: 2 wait
    *_pods("apart", 4, _ONE, affinity=_apart("apart", HOST)),  # 3 hosts: 1 waits
    *(
        pod
        | {"spec": pod["spec"] | {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": pod["metadata"]["name"]}}]}}
        for pod in _pods("disks", 3, _ONE)  # two disks for three claims: 1 waits
    ),
    *_pods("spread", 8, {"cpu": "2"}, topologySpreadConstraints=_spread("spread")),  # b takes 2, so a at most 3: 3 wait
]
_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "placement-local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}
_VOLUMES = [
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "placement-local",
            "local": {"path": "/disk"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [name]}]}]}
            },
        },
    }
    for name in ("placement-disks-0", "placement-disks-1")
]
_CLAIMS = [
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"disks-{index}", "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "placement-local",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    for index in range(3)
]
WAITING = {"cpu": 2, "gpu": 1, "intolerant": 2, "ports": 1, "slots": 2, "apart": 1, "spread": 3, "disks": 1}


class Outcome(NamedTuple):
    """What we could not place, app by app; the pods after kube-scheduler's decisions; the cluster as it then stands."""

    ours: Counter[str]
    pods: list[Object]
    settled: World


@pytest.fixture(scope="module")
def outcome(control_plane: ControlPlane) -> Iterator[Outcome]:
    """Ready nodes and gated pods; we place them on paper, then the gates open and kube-scheduler places them."""
    api = control_plane.api
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *_NODES)
    api.create(_CLASS, *_VOLUMES)
    api.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", bool, "the default service account")
    until_seen_to(api, "/api/v1/nodes", lambda nodes: all(map(_usable, _ours(nodes))), "all nodes being ready")
    # A volume counts for the scheduler once its controller has made it Available.
    api.wait("/api/v1/persistentvolumes", lambda found: _available(found) >= len(_VOLUMES), "all volumes being available")
    # The claims come last: the volume controller binds a claim at once while its cache does not hold the claim's class yet, and
    # that cache lags when the API server was restarted. A volume is then Bound and never Available.
    api.create(*_CLAIMS, *_PODS)
    ours = _waiting_on_paper(read_snapshot(captured(api)))
    for pod in _PODS:
        path = f"{PODS}/{pod['metadata']['name']}"
        api.call("PATCH", path, {"spec": {"schedulingGates": None}}, "application/merge-patch+json")
    # A pod that was refused at first, for a volume that another one was getting, is looked at again.
    pods = api.wait(PODS, lambda found: _decided(found) and _waiting(found) == WAITING, "a last decision about every pod")
    yield Outcome(ours, pods, read_snapshot(captured(api)))
    for item in (*_PODS, *_CLAIMS, *_VOLUMES, _CLASS, *_NODES):
        api.delete(item)
    until_seen_to(api, PODS, lambda pods: not pods, "deletion of the pods")
    api.wait("/api/v1/nodes", lambda nodes: not _ours(nodes), "deletion of the nodes")


def _ours(nodes: list[Object]) -> list[Object]:
    return [node for node in nodes if node["metadata"]["name"].startswith("placement-")]


def _available(volumes: list[Object]) -> int:
    names = {item["metadata"]["name"] for item in _VOLUMES}
    return sum(1 for item in volumes if item["metadata"]["name"] in names and item["status"].get("phase") == "Available")


def _usable(node: Object) -> bool:
    conditions = {item["type"]: item["status"] for item in node["status"].get("conditions") or ()}
    taints = {taint["key"] for taint in node["spec"].get("taints") or ()}
    return conditions.get("Ready") == "True" and taints <= {"dedicated"}


def _decided(pods: list[Object]) -> bool:
    def one(pod: Object) -> bool:
        conditions = pod["status"].get("conditions") or ()
        refused = any(item["type"] == "PodScheduled" and item.get("reason") == "Unschedulable" for item in conditions)
        return "nodeName" in pod["spec"] or refused

    return all(map(one, pods))


def _waiting(pods: list[Object]) -> Counter[str]:
    return Counter(pod["metadata"]["labels"]["app"] for pod in pods if "nodeName" not in pod["spec"])


def _waiting_on_paper(world: World) -> Counter[str]:
    """How many pods of each app stay pending when we place them one after the other, by name."""
    state = SchedulingState(world)
    left: Counter[str] = Counter()
    for pod in world.pods:
        if pod.namespace == NAMESPACE and not state.place(pod.shape, 1):
            left[pod.name.rpartition("-")[0]] += 1
    return left


def test_the_same_pods_stay_pending(outcome: Outcome) -> None:
    """What we cannot place is what kube-scheduler cannot place, app by app, and as many as arithmetic says."""
    theirs = _waiting(outcome.pods)
    assert theirs == WAITING
    assert outcome.ours == theirs


def test_what_stays_pending_fits_nowhere(outcome: Outcome) -> None:
    """After kube-scheduler has placed what it can, our verdict is no for every pending pod on every node."""
    answers = [answer for answer in fit(outcome.settled) if answer.pod.startswith(f"{NAMESPACE}/")]
    assert len(answers) == sum(WAITING.values())
    assert [(answer.pod, node.node) for answer in answers for node in answer.nodes if not node.rejections] == []
