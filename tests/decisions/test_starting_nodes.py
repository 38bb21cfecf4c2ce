"""Nodes that have joined and are not ready for pods count as on their way, until their start takes too long."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.plan.plan import NodeState, Plan
from reconciler.policy.documents import TaintSpec, Template
from tests.builders import NOW, ClusterBuilder, node_group, policy, taint
from tests.decisions.deciding import group, node, plan_of

AGENT = "node.cilium.io/agent-not-ready"
STARTUP = 900
WAITS = pytest.mark.parametrize("waits_for", ["Ready", "taint", "device"])


def _plan(waits_for: str, age_seconds: int, *, listed: bool = True) -> Plan:
    """One node of one that was asked for, of that age, and the pod for which it was bought."""
    cluster = ClusterBuilder()
    (name,) = cluster.group("cards", nodes=1, gpu=1, created=NOW - age_seconds)
    cluster.pods("train", 1, cpu="1", gpu=1)
    world = _late(cluster.world(), waits_for)
    template = Template(startup_taints=(TaintSpec(key=AGENT, effect="NoExecute"),) if listed else ())
    assert name == "cards-1"
    return plan_of(world, policy(node_group("cards", template=template)))


def _late(world: World, waits_for: str) -> World:
    """The node lacks what it waits for; the target's template has it."""
    (shape,), (one,) = world.node_shapes, world.nodes
    if waits_for == "taint":
        shape = msgspec.structs.replace(shape, taints=(taint(f"{AGENT}=true:NoExecute"),))
    elif waits_for == "device":
        bare = msgspec.structs.replace(shape.allocatable, extended=())
        shape = msgspec.structs.replace(shape, allocatable=bare, capacity=bare)
    else:
        one = msgspec.structs.replace(one, ready=False)
    return msgspec.structs.replace(world, node_shapes=(shape,), nodes=(one,))


@WAITS
def test_a_node_that_starts_is_bought_once(waits_for: str) -> None:
    """A second before `maxNodeStartupTime` (15m): no second purchase."""
    plan = _plan(waits_for, STARTUP - 1)
    assert node(plan, "cards-1").state is NodeState.NOT_STARTED
    assert [line.outcome.value for line in plan.pods] == ["FitsUpcoming"]
    assert not plan.actions


@WAITS
def test_a_node_that_does_not_start_in_time_is_waited_for_no_longer(waits_for: str) -> None:
    """From then on the pod gets another node."""
    plan = _plan(waits_for, STARTUP)
    assert node(plan, "cards-1").state is not NodeState.NOT_STARTED
    assert group(plan, "cards").desired == 2


def test_a_taint_that_is_not_listed_is_no_start() -> None:
    """Nobody says that it will go, and what the node shows a new one would have as well: no place, and nothing is bought."""
    plan = _plan("taint", 1, listed=False)
    assert node(plan, "cards-1").state is not NodeState.NOT_STARTED
    assert [line.outcome.value for line in plan.pods] == ["Unplaceable"]
    assert not plan.actions


@pytest.mark.parametrize(
    "key",
    [
        "node.cluster.x-k8s.io/uninitialized",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/network-unavailable",
        "startup-taint.cluster-autoscaler.kubernetes.io/agent",
    ],
)
def test_a_ready_node_that_is_not_usable_yet_is_not_bought_twice(key: str) -> None:
    """The platform's own taints go a moment after the node is Ready, whether or not the policy lists them."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, created=NOW - 5)
    cluster.pods("web", 1, cpu="1")
    world = cluster.world()
    (shape,) = world.node_shapes
    tainted = msgspec.structs.replace(shape, taints=(taint(f"{key}:NoSchedule"),))
    plan = plan_of(msgspec.structs.replace(world, node_shapes=(tainted,)), policy(node_group("general")))
    assert node(plan, "general-1").state is NodeState.NOT_STARTED
    assert [line.outcome.value for line in plan.pods] == ["FitsUpcoming"]
    assert not plan.actions
