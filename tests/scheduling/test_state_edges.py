"""Edges of a scheduling state: demands that nothing meets, names of nodes, device classes, full nodes, rows of batches."""

from array import array

import msgspec
import pytest

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.cluster.pods.pod import AffinityTerm, ClaimUse, HostPort, PodShape, SpreadConstraint
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.scheduling.filled_nodes import NOTHING_FILLED
from reconciler.scheduling.lasting_state import LastingState
from reconciler.scheduling.new_nodes import NO_SPREAD, Entries
from reconciler.scheduling.relocation import Places
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import Requirement
from tests.builders import ClusterBuilder, amounts, selector

# As many entries as make a list of nodes a long one.
_MANY = [0, 1, 2] * 9


def _alike(shape: dict[str, object], **pods: object) -> SchedulingState:
    """Nodes n0, n1, n2 of one shape, and a pod."""
    cluster = ClusterBuilder()
    for number in range(3):
        cluster.node(f"n{number}", labels={"zone": "a"})
    cluster.pods("web", 1, cpu="1", shape=shape, **pods)
    return SchedulingState(cluster.world())


def _named(operator: str, *names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((), (Requirement("metadata.name", operator, names),))


def _labelled(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement(key, "In", values),))


@pytest.mark.parametrize(
    ("terms", "nodes"),
    [
        (None, [0, 1, 2]),
        ((), []),
        ((NodeSelectorTerm(),), []),
        ((_labelled("zone", "a"),), [0, 1, 2]),
        ((_labelled("zone", "b"),), []),
        ((_named("In", "n1"),), [1]),
        ((_named("NotIn", "n1"),), [0, 2]),
        ((_named("In", "n1"), _labelled(HOSTNAME_LABEL, "n2")), [1, 2]),
        ((_labelled(HOSTNAME_LABEL, "n0", "n2"),), [0, 2]),
        ((_named("In", "n1"), _labelled("zone", "a")), [0, 1, 2]),
    ],
)
def test_nodes_that_terms_of_a_pod_mean(terms: tuple[NodeSelectorTerm, ...] | None, nodes: list[int]) -> None:
    """By each way to ask, though all nodes look alike but for their names."""
    state = _alike({"required_terms": terms})

    assert [node for node in range(3) if state.enters(0, node)] == nodes
    assert [node for node in range(3) if state.fits(0, node)] == nodes
    assert [node for node in range(3) if not state.verdict(0, node)] == nodes
    assert [node for node, names in enumerate(state.rejecting_plugins(0)) if not names] == nodes
    assert state.rejecting_plugins(0, 2) == state.rejecting_plugins(0)[:2]
    for order in (None, _MANY, [0, 1, 2]):
        mark = state.mark()
        assert state.place(0, 99, order) == tuple((node, 4) for node in nodes)
        state.undo(mark)


@pytest.mark.parametrize(("policy", "placed"), [("Honor", ((1, 4),)), ("Ignore", ((1, 1),))])
def test_hosts_that_terms_of_a_pod_exclude_are_no_hosts_of_its_spread(policy: str, placed: tuple[tuple[int, int], ...]) -> None:
    """The pod may run on n1 alone: with nodeAffinityPolicy Honor the other hosts hold it back by no skew."""
    spread = SpreadConstraint(topology_key=HOSTNAME_LABEL, max_skew=1, selector=selector(app="web"), node_affinity_policy=policy)
    state = _alike({"required_terms": (_named("In", "n1"),), "spread": (spread,)})

    assert state.place(0, 9) == placed


@pytest.mark.parametrize(
    ("resource", "plugin"),
    [
        ("example.com/other", "NotModelled"),
        ("deviceclass.resource.kubernetes.io/other", "NotModelled"),
        # Names that no device class can serve are plain amounts.
        ("hugepages-2Mi", "NodeResourcesFit"),
        ("kubernetes.io/batch", "NodeResourcesFit"),
        ("requests.example.com/x", "NodeResourcesFit"),
    ],
)
def test_what_a_device_may_serve_beside_what_the_node_lists(resource: str, plugin: str) -> None:
    """A pod asks for a card, which a class serves and the node lists, and for something that the node does not list."""
    cluster = ClusterBuilder()
    cluster.node("n0", **{"example.com/card": 1})
    cluster.pods("train", 1, **{"example.com/card": 1, resource: 1})
    classes = (DeviceClass(name="card", extended_resource="example.com/card"),)
    state = SchedulingState(cluster.world(device_classes=classes))

    (said,) = state.verdict(0, 0)

    assert said.plugin == plugin
    if plugin == "NotModelled":
        assert said.message == f"a device class may serve {resource} here (DynamicResources)"
    assert state.modelled(0) == ""


def test_claims_come_before_devices_in_what_is_not_modelled() -> None:
    """Such a pod says so of every node, and a pod of neither says nothing."""
    state = _alike({"claims": (ClaimUse(name="gpu", claim="gpu"),)})

    (said,) = state.verdict(0, 1)
    assert said.message == "DynamicResources (DeviceClass, ResourceClaim, ResourceSlice not captured)"


@pytest.mark.parametrize("nodes", [None, _MANY, [0, 1, 2]])
def test_a_full_node_takes_no_pod_with_a_host_port(nodes: list[int] | None) -> None:
    """A free port is no room: n0 is full, n1 and n2 take one pod each."""
    cluster = ClusterBuilder()
    for number, cpu in enumerate("124"):
        cluster.node(f"n{number}", cpu=cpu)
    cluster.pods("full", 1, cpu="1", on="n0")
    cluster.pods("web", 1, cpu="1", shape={"host_ports": (HostPort(80),)})

    assert SchedulingState(cluster.world()).place(1, 9, nodes) == ((1, 1), (2, 1))


@pytest.mark.parametrize("nodes", [None, _MANY, [0, 1, 2]])
def test_pods_go_on_where_others_have_left(nodes: list[int] | None) -> None:
    """Six pods of a spread over three hosts of different size: one each, a second one each where there is room."""
    spread = SpreadConstraint(topology_key=HOSTNAME_LABEL, max_skew=2, selector=selector(app="web"))
    cluster = ClusterBuilder()
    for number, cpu in enumerate("313"):
        cluster.node(f"n{number}", cpu=cpu)
    cluster.pods("web", 1, cpu="1", shape={"spread": (spread,)})

    assert dict(SchedulingState(cluster.world()).place(0, 9, nodes)) == {0: 3, 1: 1, 2: 3}


def test_new_nodes_with_daemons_are_undone_whole() -> None:
    """Two nodes with two DaemonSet pods each, one after the other and both at once: the same, and nothing is left of them."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1")
    cluster.pods("agent", 1, cpu="250m")
    cluster.pods("proxy", 1, cpu="500m")
    state = SchedulingState(cluster.world())
    offer, mark = NodeShape(capacity=amounts("2", "1Gi", 9), allocatable=amounts("2", "1Gi", 9)), state.mark()

    assert [state.add_node(name, offer, (0, 1)) for name in ("x", "y")] == [1, 2]
    single = [(state.bound(node), state.used(node)) for node in (1, 2)]
    state.undo(mark)
    assert list(state.add_nodes(("x", "y"), offer, (0, 1))) == [1, 2]
    assert (
        [(state.bound(node), state.used(node)) for node in (1, 2)] == single == [(((0, 1), (1, 1)), amounts("750m", "0", 2))] * 2
    )
    state.undo(mark)
    assert (state.node_count, state.stack_size) == (1, 0)


def test_a_node_that_goes_before_anybody_asked() -> None:
    """Pods of a kind were counted by zone; a node comes and goes for good before the next question."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={"zone": "a"})
    term = AffinityTerm(topology_key="zone", selector=selector(app="web"), namespaces=("shop",))
    cluster.pods("web", 1, shape={"anti_affinity": (term,)})
    state = LastingState(cluster.world())
    assert state.verdict(0, 0) == ()
    other = msgspec.structs.replace(state.shape_of(0), labels=(("zone", "b"),))

    state.remove(state.add_node("x", other))

    assert state.place(0, 9) == ((0, 1),)
    state.add_node("y", other)
    assert state.place(0, 9) == ((2, 1),)


def test_pods_that_others_have_counted_since_are_local_no_more() -> None:
    """A batch of two shapes: asking whether the second is local makes a spread that counts the first."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={"zone": "a"})
    cluster.node("n1", labels={"zone": "b"})
    cluster.pods("a-web", 1, cpu="1", labels={"app": "web"})
    spread = SpreadConstraint(topology_key="zone", max_skew=1, selector=selector(app="web"))
    cluster.pods("b-other", 1, cpu="1", labels={"app": "web", "is": "other"}, shape={"spread": (spread,)})
    state = SchedulingState(cluster.world())

    assert state.node_local(0)
    assert not state.node_local(1)
    assert state.node_local_until([0], 0) == 0
    assert not state.node_local(0)


def test_a_batch_knows_shapes_and_nodes_that_were_added_since() -> None:
    """Rows of what may run where grow with new shapes, and are made anew with new kinds of nodes."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={"pool": "a"})
    cluster.pods("web", 1, cpu="1", node_selector={"pool": "a"})
    state = SchedulingState(cluster.world())
    web = state.pod_shape(0)
    assert list(Places(state, (0,)).fit((0,), (1,)).nodes) == [0]

    alike = state.add_shape(msgspec.structs.replace(web, priority=9))
    there = state.add_shape(msgspec.structs.replace(web, node_selector=(("pool", "b"),)))
    node = state.add_node("n1", msgspec.structs.replace(state.shape_of(0), labels=(("pool", "b"),)))
    found = Places(state, (0, node)).fit((alike, there, 0), (1, 1, 1))

    assert list(zip(found.shapes, found.nodes, strict=True)) == [(alike, 0), (there, node), (0, 0)]
    assert found.short is None


def test_places_of_shapes_with_huge_requests_are_counted_in_whole_pods() -> None:
    """Room for two and a half pods is room for two."""
    cluster = ClusterBuilder()
    cluster.node("n0", cpu="5")
    cluster.pods("web", 1, cpu="2")
    state = SchedulingState(cluster.world())
    for nodes in (None, _MANY[:1] * 9, [0]):
        mark = state.mark()
        assert state.place(0, 9, nodes) == ((0, 2),)
        state.undo(mark)


def test_entries_without_room_open_no_node() -> None:
    """A pod larger than the node: nothing is opened, as in a filling of nothing."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1")
    cluster.pods("web", 1, cpu="2")
    state = SchedulingState(cluster.world())

    filled, _ = state.fill_new(0, Entries(array("i", (0,)), array("i", (2,)), [[]], bytearray(1), [NO_SPREAD]), 9)

    assert filled == NOTHING_FILLED
    assert (NOTHING_FILLED.opened, len(NOTHING_FILLED), list(NOTHING_FILLED)) == (0, 0, [])


def test_what_was_bound_since() -> None:
    """Columns of what came after a point, in order; counts below zero take off."""
    state = _alike({})
    state.bind(0, 2)
    size = state.stack_size
    state.bind_list(array("i", (0, 1)), array("i", (0, 0)), array("i", (3, 1)))
    state.unbind(0, 0, 2)
    state.bind(0, 1, 0)

    assert [list(column) for column in state.bound_since(size)] == [[0, 1, 0], [0, 0, 0], [3, 1, -2]]
    assert [state.bound(node) for node in range(3)] == [((0, 1),)] * 3


def test_a_shape_counts_itself_once_it_is_there() -> None:
    """Headroom of an app that keeps apart by host, added later: it meets the pods that were there."""
    cluster = ClusterBuilder()
    cluster.node("n0")
    cluster.node("n1")
    cluster.pods("web", 1, on="n0")
    state = SchedulingState(cluster.world())
    term = AffinityTerm(topology_key=HOSTNAME_LABEL, selector=selector(app="web"), namespaces=("shop",))
    own = state.add_shape(PodShape(namespace="shop", labels=(("app", "web"),), anti_affinity=(term,)))

    assert state.place(own, 9) == ((1, 1),)
    assert [said.plugin for said in state.verdict(0, 1)] == ["InterPodAffinity"]
