"""Nodes that have joined and are not ready for pods count as on their way, until their start takes too long."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.plan.plan import NodeState, Plan
from reconciler.policy.documents import PolicySet, TaintSpec, Template
from reconciler.simulation.embedded.cluster import SimulatedCluster
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy, selector, taint
from tests.decisions.deciding import group, node, plan_of

AGENT = "node.cilium.io/agent-not-ready"
STARTUP = 900
ZONE = "topology.kubernetes.io/zone"
WAITS = pytest.mark.parametrize("waits_for", ["Ready", "taint", "device"])


def _plan(waits_for: str, age_seconds: int, *, listed: bool = True, named: str = AGENT) -> Plan:
    return plan_of(_world(waits_for, age_seconds), _rules(named if listed else ""))


def _rules(named: str) -> PolicySet:
    template = Template(startup_taints=(TaintSpec(key=named, effect="NoExecute"),) if named else ())
    return policy(node_group("cards", template=template))


def _world(waits_for: str, age_seconds: int) -> World:
    """One node of one that was asked for, of that age, and the pod for which it was bought."""
    cluster = ClusterBuilder()
    (name,) = cluster.group("cards", nodes=1, gpu=1, created=NOW - age_seconds)
    cluster.pods("train", 1, cpu="1", gpu=1)
    assert name == "cards-1"
    return _late(cluster.world(), waits_for)


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


@pytest.mark.parametrize("waits_for", ["Ready", "taint"])
def test_a_node_that_starts_is_one_host(waits_for: str) -> None:
    """Four pods spread over two hosts of 4 cpu, which start, two on each: neither host counts twice, once without any."""
    cluster = ClusterBuilder()
    cluster.group("cards", nodes=2, created=NOW - 60)
    spread = SpreadConstraint(topology_key="kubernetes.io/hostname", max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 4, cpu="1", shape={"spread": (spread,)})
    world = cluster.world()
    if waits_for == "taint":
        shapes = [msgspec.structs.replace(shape, taints=(taint(f"{AGENT}=true:NoExecute"),)) for shape in world.node_shapes]
        world = msgspec.structs.replace(world, node_shapes=tuple(shapes))
    else:
        world = msgspec.structs.replace(world, nodes=tuple(msgspec.structs.replace(one, ready=False) for one in world.nodes))
    plan = plan_of(world, _rules(AGENT))
    assert [line.outcome.value for line in plan.pods] == ["FitsUpcoming"] * 4
    assert not plan.actions


@pytest.mark.parametrize(("cpu", "outcome"), [("2", "TriggersScaleUp"), ("1", "FitsUpcoming")])
def test_pods_that_run_on_a_node_that_starts_hold_their_room(cpu: str, outcome: str) -> None:
    """It lacks its device, and nothing keeps pods away from it: one of 3 cpu is there already, of 4."""
    cluster = ClusterBuilder()
    cluster.group("cards", nodes=1, gpu=1, created=NOW - 60)
    cluster.pods("early", 1, cpu="3", on="cards-1")
    cluster.pods("train", 1, cpu=cpu, gpu=1)
    plan = plan_of(_late(cluster.world(), "device"), _rules(AGENT))
    assert [line.outcome.value for line in plan.pods] == [outcome]


def test_a_node_that_starts_has_the_labels_that_it_shows() -> None:
    """Nothing tells the zone of the next node: this one has its own."""
    cluster = ClusterBuilder()
    size = amounts("4", "16Gi", 110)
    ref = cluster.target("cards", 3, template=TargetTemplate(capacity=size, allocatable=size, origins=("annotations",)))
    for number, zone in enumerate("abc"):
        node = cluster.node(f"cards-{number}", labels={ZONE: zone}, ready=zone == "a", created=NOW - 60)
        cluster.machine(node, ref, node=node, created=NOW - 60)
    cluster.pods("zonal", 2, cpu="3", node_selector={ZONE: "b"})
    plan = plan_of(cluster.world(), _rules(AGENT))
    assert [line.outcome.value for line in plan.pods] == ["FitsUpcoming", "Unplaceable"]


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


@pytest.mark.parametrize(("key", "starts"), [("node.cilium.io/*", True), ("node.cilium.io/agent-*", True), ("cilium*", False)])
def test_a_start_is_known_by_the_beginning_of_its_taint(key: str, *, starts: bool) -> None:
    plan = _plan("taint", 1, named=key)
    assert (node(plan, "cards-1").state is NodeState.NOT_STARTED) is starts
    assert [line.outcome.value for line in plan.pods] == ["FitsUpcoming" if starts else "Unplaceable"]


@pytest.mark.parametrize(("taints", "left"), [((f"{AGENT}=true:NoExecute", "dedicated:NoSchedule"), ("dedicated:NoSchedule",)),
                                             (("readiness.k8s.io/net:NoSchedule",), ())])  # fmt: skip
def test_what_a_simulated_start_takes_off(taints: tuple[str, ...], left: tuple[str, ...]) -> None:
    """What the policy names by its beginning, and what everybody knows."""
    cluster = ClusterBuilder()
    cluster.group("cards", nodes=1, taints=taints, created=NOW - 1)
    rules = _rules("node.cilium.io/*")
    simulated = SimulatedCluster(cluster.world(), rules, NOW)
    (one,) = simulated.objects.nodes.values()
    (found,) = effective_groups(cluster.world(), rules, NOW)
    assert found.template is not None
    simulated.finish_start(one, found.template, found.startup_taints)
    assert simulated.objects.shape_of(one).taints == tuple(taint(text) for text in left)


def test_a_taint_in_the_way_names_the_key_of_the_policy() -> None:
    """Where it is all that speaks against the pod, and the policy has not said itself which taints nodes have."""
    (line,) = _plan("taint", 1, listed=False).pods
    told = line.reasons[-1].message
    assert (
        "untolerated taint node.cilium.io/agent-not-ready=true:NoExecute (if nodes lose such a taint once they are set up" in told
    )
    assert told.endswith("name it in template.startupTaints) [TaintToleration]")
    cluster = ClusterBuilder()
    cluster.group("written", nodes=0)
    cluster.pods("web", 1, cpu="1")
    template = Template(taints=(TaintSpec(key="dedicated", effect="NoSchedule"),))
    (line,) = plan_of(cluster.world(), policy(node_group("written", template=template))).pods
    assert line.reasons[-1].message == "written: untolerated taint dedicated:NoSchedule [TaintToleration]"


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


def test_several_young_nodes_without_devices_do_not_outvote_the_one_that_has_them() -> None:
    """Nothing but the nodes tells of the device: the three that came for six pods are waited for, and nothing else is bought."""
    cluster = ClusterBuilder()
    ref = cluster.target("cards", 4)
    for number in range(4):
        young = {"created": NOW - 60} if number else {"gpu": 2}
        name = cluster.node(f"cards-{number}", **young)
        cluster.machine(name, ref, node=name)
    cluster.pods("trains", 2, cpu="1", gpu=1, on="cards-0")
    cluster.pods("waits", 6, cpu="1", gpu=1)
    plan = plan_of(cluster.world(), policy(node_group("cards", max=9)))
    assert [line.outcome.value for line in plan.pods] == 6 * ["FitsUpcoming"]
    assert not plan.actions
