"""Nodes: shapes that equal nodes share, and what is true of one alone."""

from typing import Any

import pytest

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.values.resources import Resources
from tests.cluster.objects import Object, node, world_of


def shape(**rest: Any) -> NodeShape:
    return world_of(node(**rest)).node_shapes[0]


def only(**rest: Any) -> Node:
    return world_of(node(**rest)).nodes[0]


def test_equal_nodes_share_a_shape() -> None:
    """The hostname label is implied where it is the node's name, so that it separates nobody."""
    world = world_of(node("b"), node("a"), node("c", cpu="8"))
    assert [(item.name, item.shape) for item in world.nodes] == [("a", 0), ("b", 0), ("c", 1)]


def test_other_hostname_is_kept() -> None:
    """A hostname label that is not the node's name stays a label, and is known apart."""
    item = node("n1", labels={"kubernetes.io/hostname": "ip-10-0-0-1"})
    world = world_of(item)
    assert (world.nodes[0].hostname, world.node_shapes[0].label("kubernetes.io/hostname")) == ("ip-10-0-0-1", "ip-10-0-0-1")


def test_amounts() -> None:
    """Capacity and allocatable, extended resources among them; limits of attachable volumes apart."""
    status = {
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "2", "ephemeral-storage": "100Gi"},
        "allocatable": {
            "cpu": "3920m",
            "memory": "15Gi",
            "pods": "110",
            "nvidia.com/gpu": "2",
            "attachable-volumes-aws-ebs": "25",
        },
    }
    world = world_of(node(status=status))
    assert world.node_shapes[0].capacity == Resources(
        cpu_milli=4000, memory_bytes=16 << 30, ephemeral_bytes=100 << 30, pods=110, extended=(("nvidia.com/gpu", 2),)
    )
    assert world.node_shapes[0].allocatable == Resources(
        cpu_milli=3920, memory_bytes=15 << 30, pods=110, extended=(("nvidia.com/gpu", 2),)
    )
    assert world.nodes[0].attachable_limits == (("attachable-volumes-aws-ebs", 25),)


def test_allocatable_defaults_to_capacity() -> None:
    """As the API server fills it in."""
    assert shape(status={"allocatable": None}).allocatable.cpu_milli == 4000


def test_taints_and_cordon() -> None:
    """Taints are sorted and each is there once; a cordon is part of the shape."""
    taints = [
        {"key": "z", "effect": "NoExecute"},
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "z", "effect": "NoExecute"},
    ]
    found = shape(spec={"taints": taints, "unschedulable": True})
    assert found.taints == (Taint("a", "b", "NoSchedule"), Taint("z", "", "NoExecute"))
    assert found.unschedulable


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False)])
def test_ready(status: str, *, ready: bool) -> None:
    """Ready means True, since the last transition."""
    condition = {"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:01:00Z"}
    found = only(status={"conditions": [condition]})
    assert (found.ready, found.ready_seconds) == (ready, 60)


def test_node_without_conditions_is_unready_since_its_creation() -> None:
    """A node whose kubelet has not spoken yet."""
    found = only(status={"conditions": None}, meta={"creationTimestamp": "1970-01-01T00:00:05Z"})
    assert (found.ready, found.ready_seconds, found.created_seconds) == (False, 5, 5)


def test_row() -> None:
    """Name, uid, provider id, deletion, and only the annotations that decisions read."""
    annotations = {
        "cluster.x-k8s.io/machine": "m",
        "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
        "reconciler.dev/hold": "x",
        "node.alpha.kubernetes.io/ttl": "0",
    }
    meta: Object = {"uid": "u", "annotations": annotations, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    found = only(meta=meta, spec={"providerID": "aws:///a/i-1"})
    assert (found.uid, found.provider_id, found.deleting) == ("u", "aws:///a/i-1", True)
    assert [key for key, _ in found.annotations] == [
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "cluster.x-k8s.io/machine",
        "reconciler.dev/hold",
    ]


def test_amount_beyond_64_bits_is_reported() -> None:
    """A node that claims more than 64 bits hold is read with the most that they do, and reported once."""
    world = world_of(node("big", memory="99E"))
    assert world.node_shapes[0].allocatable.memory_bytes == 2**63 - 1
    assert [(item.code, item.object) for item in world.problems] == [("QuantityOutOfRange", "Node big")]


def test_declared_features() -> None:
    """Of what a kubelet declares only what a pod can need is kept, so that other news do not split shapes."""
    features = ["SomethingElse", "UserNamespacesHostNetworkSupport", "RestartAllContainersOnContainerExits"]
    wanted = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
    assert shape(status={"declaredFeatures": features}).declared_features == wanted
