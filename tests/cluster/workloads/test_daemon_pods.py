"""What the pods of a DaemonSet request: as those that run, else as the API server makes them of the template."""

import json

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.daemons import daemon_shapes

MI = 1 << 20


def _daemon_set(**spec: object) -> dict[str, object]:
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c"}], **spec}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": _named("agent", "ops"), "spec": {"template": template}}


def _named(name: str, namespace: str = "") -> dict[str, object]:
    return {"name": name, "namespace": namespace, "creationTimestamp": "2026-11-25T08:00:00Z"}


def _range(name: str, namespace: str = "ops", **item: object) -> dict[str, object]:
    limits = [{"type": "Container", **item}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": _named(name, namespace), "spec": {"limits": limits}}


def _pod(name: str, node: str, cpu: str, created: str, **status: object) -> dict[str, object]:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**_named(name, "ops"), "creationTimestamp": created, "ownerReferences": [owner], **status},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"},
    }


def _node(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": _named(name), "spec": {}, "status": {"capacity": {"cpu": "4"}}}


def _world(*items: dict[str, object]) -> World:
    return read_snapshot({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}).encode()})


def _requests(*items: dict[str, object]) -> Resources:
    world = _world(*items)
    return world.pod_shapes[world.daemon_pods[0].shape].requests


KATA = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": _named("kata"),
    "handler": "kata",
    "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
    "scheduling": {"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
}
SIZED = [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]
LIMITED = [{"name": "c", "resources": {"limits": {"cpu": "300m"}}}]
BOTH = {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "1500m", "memory": "10Mi"}}
OLD, NEW = "2026-11-25T09:00:00Z", "2026-11-25T10:00:00Z"
CASES = {
    "nothing is written": ([_daemon_set()], (0, 0)),
    "defaults of a limit range": ([_daemon_set(), _range("a", **BOTH)], (1500, 10 * MI)),
    "of another namespace": ([_daemon_set(), _range("a", "other", **BOTH)], (0, 0)),
    "only what the container leaves out": ([_daemon_set(containers=SIZED), _range("a", **BOTH)], (100, 10 * MI)),
    "a limit is a request first": ([_daemon_set(containers=LIMITED), _range("a", **BOTH)], (300, 10 * MI)),
    "the first of two limit ranges": (
        [_daemon_set(), _range("b", defaultRequest={"cpu": "5"}), _range("a", defaultRequest={"cpu": "1"})],
        (1000, 0),
    ),
    "a range for pods as a whole": ([_daemon_set(), _range("a", type="Pod", **BOTH)], (0, 0)),
    "each container": ([_daemon_set(containers=[{"name": "a"}, {"name": "b"}]), _range("a", **BOTH)], (3000, 20 * MI)),
    "overhead of the runtime class": ([_daemon_set(runtimeClassName="kata", containers=SIZED), KATA], (350, 64 * MI)),
    "of another runtime class": ([_daemon_set(runtimeClassName="other", containers=SIZED), KATA], (100, 0)),
    "a limit of the pod": ([_daemon_set(resources={"limits": {"cpu": "700m"}})], (700, 0)),
    "a limit of the pod, and what its container requests": (
        [_daemon_set(containers=SIZED, resources={"limits": {"cpu": "700m"}})],
        (100, 0),
    ),
    "as its newest pod": (
        [_daemon_set(containers=SIZED), _node("n1"), _node("n2"), _pod("x", "n1", "2", OLD), _pod("a", "n2", "1", NEW)],
        (1000, 0),
    ),
    "not as a pod that goes": (
        [_daemon_set(containers=SIZED), _node("n1"), _pod("x", "n1", "2", OLD, deletionTimestamp=NEW)],
        (100, 0),
    ),
    "not as a pod of no node": ([_daemon_set(containers=SIZED), _pod("x", "", "2", OLD)], (100, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_requests(name: str) -> None:
    items, expected = CASES[name]
    found = _requests(*items)
    assert (found.cpu_milli, found.memory_bytes) == expected


def test_a_runtime_class_says_where_its_pods_run() -> None:
    world = _world(_daemon_set(runtimeClassName="kata", nodeSelector={"disk": "fast"}), KATA)
    shape = world.pod_shapes[world.daemon_pods[0].shape]
    assert shape.node_selector == (("disk", "fast"), ("kata", "yes"))
    assert "kata" in {toleration.key for toleration in shape.tolerations}


def test_other_requests_are_kept_too() -> None:
    world = _world(_daemon_set(), _node("n1"), _node("n2"), _pod("x", "n1", "2", OLD), _pod("a", "n2", "1", NEW))
    (daemon,) = world.daemon_pods
    assert [world.pod_shapes[shape].requests.cpu_milli for shape in daemon.others] == [2000]


def test_pods_of_a_group_count_first_on_its_nodes() -> None:
    """One group's node has the pod of 2 cpu, the other's the newer one of 1; a third group has none."""
    world = _world(_daemon_set(), _node("n1"), _node("n2"), _pod("x", "n1", "2", OLD), _pod("a", "n2", "1", NEW))
    found = daemon_shapes(world, [0, 1])
    cpu = {key: world.pod_shapes[shape].requests.cpu_milli for key, shape in found.items()}
    assert cpu == {("ops", "agent", 0): 2000, ("ops", "agent", 1): 1000}
    assert world.pod_shapes[world.daemon_pods[0].shape].requests.cpu_milli == 1000
