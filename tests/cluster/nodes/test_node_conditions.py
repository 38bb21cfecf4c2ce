"""Conditions of nodes: those that say more than that all is well."""

from reconciler.cluster.nodes.node import NodeCondition
from reconciler.cluster.values.instant import unix_seconds_or_zero
from tests.cluster.objects import CREATED, Object, node, world_of

SINCE = unix_seconds_or_zero(CREATED)


def _conditions(*conditions: Object) -> tuple[NodeCondition, ...]:
    return world_of(node("n1", status={"conditions": list(conditions)})).nodes[0].conditions


def test_what_the_kubelet_says_of_a_healthy_node() -> None:
    """It is left out."""
    names = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
    assert _conditions({"type": "Ready", "status": "True"}, *({"type": name, "status": "False"} for name in names)) == ()


def test_all_others_have_a_time() -> None:
    """That of their last transition, else of the node."""
    gpu = {"type": "AcceleratedHardwareReady", "status": "False", "lastTransitionTime": "2026-11-21T01:00:00Z"}
    found = _conditions({"type": "Ready", "status": "Unknown"}, {"type": "DiskPressure", "status": "True"}, gpu)
    assert found == (
        NodeCondition("AcceleratedHardwareReady", "False", unix_seconds_or_zero("2026-11-21T01:00:00Z")),
        NodeCondition("DiskPressure", "True", SINCE),
        NodeCondition("Ready", "Unknown", SINCE),
    )
