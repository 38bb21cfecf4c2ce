"""Rows and traits of pods."""

from typing import Any

import pytest

from reconciler.cluster.pods.pod import Owner, Pod, PodPhase, PodTraits
from reconciler.cluster.snapshots.snapshot import SnapshotError
from tests.cluster.objects import Object, node, owner, pod, world_of


def row(item: Object) -> Pod:
    return world_of(node("n1"), item).pods[0]


def traits(meta: Object | None = None, **spec: Any) -> PodTraits:
    return world_of(pod(meta=meta, **spec)).pod_traits[0]


def test_row() -> None:
    """A row tells where the pod is, how it fares, and since when."""
    status = {
        "phase": "Running",
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
        "nominatedNodeName": "n1",
    }
    meta = {"uid": "u", "deletionTimestamp": "1970-01-01T00:01:40Z", "creationTimestamp": "1970-01-01T00:00:10Z"}
    assert row(pod("a", meta=meta, status=status, nodeName="n1")) == Pod(
        namespace="shop",
        name="a",
        uid="u",
        shape=0,
        traits=0,
        node=0,
        phase=PodPhase.RUNNING,
        ready=True,
        created_seconds=10,
        deletion_seconds=100,
        nominated=0,
    )


def test_pending_since() -> None:
    """The instant at which the scheduler gave up is kept."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": "1970-01-01T00:00:42Z",
    }
    assert row(pod(status={"phase": "Pending", "conditions": [condition]})).unschedulable_seconds == 42


def test_gated() -> None:
    """A pod behind a gate was not looked at by the scheduler yet."""
    assert row(pod(schedulingGates=[{"name": "example.com/wait"}])).gated
    assert not row(pod(schedulingGates=[])).gated


def test_node_outside_the_view() -> None:
    """A pod on a node that was not captured is on no node of this view, and says which one it names."""
    found = row(pod(nodeName="gone"))
    assert (found.node, found.unknown_node) == (-1, "gone")


def test_no_status_is_pending() -> None:
    """A pod as it is before any component wrote a status."""
    item = pod()
    del item["status"]
    assert row(item).phase is PodPhase.PENDING


def test_unknown_phase_is_refused() -> None:
    """A phase that does not exist is refused rather than read as some other."""
    with pytest.raises(SnapshotError, match="'Runing' is not a phase"):
        row(pod(status={"phase": "Runing"}))


def test_canonical_order() -> None:
    """Pods by namespace and name; shapes and traits in the order of first use."""
    world = world_of(pod("b", "z"), pod("b", "a", priority=1), pod("a", "a", priority=2))
    assert [item.key for item in world.pods] == ["a/a", "a/b", "z/b"]
    assert [shape.priority for shape in world.pod_shapes] == [2, 1, 0]
    assert list(world.pods.traits) == [0, 0, 1]


def test_controller() -> None:
    """The owner with controller true is the one that counts."""
    references = [{**owner("Other", "x"), "controller": False}, owner("ReplicaSet", "web-1", "apps/v1")]
    assert traits({"ownerReferences": references}).controller == Owner("apps", "ReplicaSet", "web-1", "uid-web-1")


def test_marks_of_drains() -> None:
    """Annotations that decide about eviction are kept as they are, lists split and trimmed."""
    prefix = "cluster-autoscaler.kubernetes.io/"
    annotations = {
        f"{prefix}safe-to-evict": "false",
        f"{prefix}safe-to-evict-local-volumes": " b , a,,b",
        f"{prefix}pod-scale-up-delay": "5m",
        "reconciler.dev/do-not-disrupt": "4h",
        "karpenter.sh/do-not-disrupt": "true",
        "kubernetes.io/config.mirror": "x",
        "noise": "y",
    }
    assert traits({"annotations": annotations}, terminationGracePeriodSeconds=7, restartPolicy="Never") == PodTraits(
        namespace="shop",
        safe_to_evict="false",
        safe_local_volumes=("a", "b"),
        mirror=True,
        restart_policy="Never",
        grace_seconds=7,
        annotations=(
            (f"{prefix}pod-scale-up-delay", "5m"),
            ("karpenter.sh/do-not-disrupt", "true"),
            ("reconciler.dev/do-not-disrupt", "4h"),
        ),
    )


@pytest.mark.parametrize(
    ("meta", "is_daemon"),
    [
        ({"ownerReferences": [owner("DaemonSet", "d", "apps/v1")]}, True),
        ({"ownerReferences": [owner("DaemonSet", "d", "example.com/v1")]}, False),
        ({"annotations": {"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"}}, True),
        ({"annotations": {"cluster-autoscaler.kubernetes.io/daemonset-pod": "false"}}, False),
    ],
    ids=["apps", "another group", "annotation", "annotation false"],
)
def test_daemonset(meta: Object, *, is_daemon: bool) -> None:
    """DaemonSets of the apps group and pods that are marked as if they were of one."""
    assert traits(meta).daemonset is is_daemon


def test_local_volumes() -> None:
    """hostPath and emptyDir hold data of the node; memory, claims and projections do not."""
    volumes = [
        {"name": "z", "emptyDir": {}},
        {"name": "a", "hostPath": {"path": "/x"}},
        {"name": "m", "emptyDir": {"medium": "Memory"}},
        {"name": "p", "projected": {"sources": []}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
    ]
    assert traits(volumes=volumes).local_volumes == ("a", "z")


def test_same_pod_twice_counts_once() -> None:
    """A pod that two files hold is one pod."""
    assert len(world_of(pod("a"), pod("a")).pods) == 1


def test_two_states_of_one_pod_contradict() -> None:
    """Files that were captured at different times and differ are refused, naming both places."""
    with pytest.raises(SnapshotError) as refused:
        world_of(pod("a"), pod("b"), pod("a", status={"phase": "Running"}))
    assert str(refused.value) == (
        "all.json: item 3 (Pod shop/a): the same name with other content is in all.json, item 1 (Pod shop/a)"
    )


@pytest.mark.parametrize(
    ("meta", "spec"),
    [
        ({"ownerReferences": [owner("ReplicaSet", "r", "apps/v1")]}, {}),
        ({"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}, {}),
        ({}, {"terminationGracePeriodSeconds": 5}),
        ({}, {"restartPolicy": "Never"}),
        ({}, {"volumes": [{"name": "v", "emptyDir": {}}]}),
    ],
    ids=["owner", "annotation", "grace", "restart", "local volume"],
)
def test_what_a_drain_reads_makes_other_traits(meta: Object, spec: Object) -> None:
    """Two pods that differ in anything that a drain reads never share their traits."""
    assert len(world_of(pod("a"), pod("b", meta={"annotations": {"noise": "x"}})).pod_traits) == 1
    assert len(world_of(pod("a"), pod("b", meta=meta, **spec)).pod_traits) == 2


def test_nodes_that_pods_of_some_shapes_run_on() -> None:
    """Pods that are finished, or wait, or are on a node that is not there, are on none."""
    table = world_of(
        node("n1"),
        node("n2"),
        node("n3"),
        pod("a-run", nodeName="n1", status={"phase": "Running"}),
        pod("b-done", nodeName="n2", status={"phase": "Succeeded"}),
        pod("c-failed", nodeName="n2", status={"phase": "Failed"}),
        pod("d-wait", status={"phase": "Pending"}),
        pod("e-lost", nodeName="n9", status={"phase": "Running"}),
        pod("f-starts", nodeName="n3", status={"phase": "Pending"}),
    ).pods
    every = max(table.shape) + 1
    assert table.nodes_running(b"\1" * every) == {0, 2}
    assert table.nodes_running(b"\0" * every) == frozenset()
