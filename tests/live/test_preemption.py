"""kube-scheduler makes room for a pod of higher priority: what the plan counts on comes true."""

from collections.abc import Callable, Iterator

import pytest

from reconciler.plan.plan import PodLine
from tests.live.demand import own_nodes, until_running
from tests.live.own_loop import OwnLoop, group
from tests.live.run_cluster import pod_spec
from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

URGENT = "urgent-in-preemption"
STAY = "test.reconciler.dev/stays"


def _pod(cluster: WorkCluster, name: str, *, finalizers: tuple[str, ...] = (), **spec: object) -> Object:
    """A pod of 3 of the 4 cores that a node has."""
    metadata = {"name": name, "namespace": cluster.namespace, "finalizers": list(finalizers)}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(cluster, "3") | spec}
    return cluster.api.create(document)[0]


def _until(cluster: WorkCluster, name: str, holds: Callable[[Object], object], what: str) -> Object:
    path = f"/api/v1/namespaces/{cluster.namespace}/pods"
    items = cluster.api.wait(path, lambda found: any(one["metadata"]["name"] == name and holds(one) for one in found), what)
    return next(one for one in items if one["metadata"]["name"] == name)


@pytest.fixture
def urgent(control_plane: ControlPlane) -> Iterator[str]:
    """A priority class above all pods without one."""
    api = control_plane.api
    api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": URGENT}, "value": 100})
    yield URGENT
    api.call("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{URGENT}")


def test_a_pod_that_others_give_way_for_buys_nothing(new_cluster: NewCluster, control_plane: ControlPlane, urgent: str) -> None:
    """The scheduler deletes the pod on the only node, which is long in ending, and nominates the node: no node is asked for,
    and when the pod is gone the other one runs where the plan said."""
    cluster = new_cluster()
    own_nodes(cluster, "g", 1)
    (node,) = cluster.until_nodes(1)
    victim = _pod(cluster, "low", finalizers=(STAY,))
    until_running(cluster, 1)
    try:
        _pod(cluster, "high", priorityClassName=urgent)
        _until(cluster, "high", lambda one: one["status"].get("nominatedNodeName"), "the nomination")
        with OwnLoop(control_plane, cluster.namespace, group("g", cluster.namespace)) as loop:
            report = loop.until(lambda one: one.plan is not None and one.plan.pods, "the pod being seen")
            writes = loop.writes()
    finally:
        cluster.api.merge(victim, {"metadata": {"finalizers": None}})
    assert report.plan is not None
    (line,) = (one for one in report.plan.pods if one.pod == f"{cluster.namespace}/high")
    assert _told(line) == ("FitsExisting", node["metadata"]["name"], ["RoomAfterOthers"])
    assert writes == []
    running = _until(cluster, "high", lambda one: one["spec"].get("nodeName"), "the pod being bound")
    assert running["spec"]["nodeName"] == line.node


def _told(line: PodLine) -> tuple[str, str | None, list[str]]:
    return line.outcome.value, line.node, [reason.code for reason in line.reasons]
