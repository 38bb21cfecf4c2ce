"""The contract of a scheduling state, by small cases that can be followed by hand."""

from array import array

import msgspec
import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import ClaimUse, HostPort, PodPhase, PodShape
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection, Shortage, shortages_text
from tests.builders import ClusterBuilder, amounts

_OFFER = NodeShape(capacity=amounts("4", "8Gi", 10), allocatable=amounts("4", "8Gi", 10))


def _three_nodes() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("g", nodes=3, cpu="4", memory="8Gi", max_pods=10)
    return cluster


def test_pods_fill_the_first_nodes() -> None:
    """Nodes of 4 cpu take two pods of 1500m each; one is on the first node already."""
    cluster = _three_nodes()
    cluster.pods("web", 6, cpu="1500m", on=["g-1", None, None, None, None, None])
    state = SchedulingState(cluster.world())

    assert state.place(0, 9) == ((0, 1), (1, 2), (2, 2))
    assert state.used(0) == amounts("3", "0", 2)


def test_every_short_resource_is_named_with_numbers() -> None:
    """The verdict says what is needed, what is free and of how much."""
    cluster = _three_nodes()
    cluster.pods("web", 1, cpu="2800m", on="g-1")
    cluster.pods("big", 1, cpu="4", memory="16Gi")
    state = SchedulingState(cluster.world())

    (rejection,) = state.verdict(0, 0)

    assert rejection == Rejection("NodeResourcesFit", "needs 4 cpu (1.2 of 4 free) and 16Gi memory (8Gi of 8Gi free)")


@pytest.mark.parametrize(
    ("short", "others", "told"),
    [
        ([Shortage("cpu", 20_000, 3950, 4000)], 0, "needs 20 cpu (3.95 of 4 free)"),
        ([Shortage("cpu", 4001, 3999)], 0, "needs 4.001 cpu (3.999 free)"),
        ([Shortage("pods", 1, 0, 110), Shortage("memory", 8 << 30, 2 << 30, 4 << 30)], 0,
         "needs 1 pod slot (0 of 110 free) and 8Gi memory (2Gi of 4Gi free)"),
        ([Shortage("pods", 2, 1, 8), Shortage("cpu", 1000, -500, 4000), Shortage("fpga", 1, 0, 0)], 0,
         "needs 2 pod slots (1 of 8 free), 1 cpu (0 of 4 free) and 1 fpga (0 of 0 free)"),
        ([Shortage("fpga", 1, 0, 0)], 1, "needs 1 fpga (0 of 0 free) and 1 other resource that no node has"),
        ([Shortage("cpu", 1000, 0, 4000), Shortage("fpga", 1, 0, 0)], 3,
         "needs 1 cpu (0 of 4 free), 1 fpga (0 of 0 free) and 3 other resources that no node has"),
    ],
)  # fmt: skip
def test_shortages_are_one_clause(short: list[Shortage], others: int, told: str) -> None:
    """Each resource has its numbers in parentheses, so that several of them read as one list."""
    assert shortages_text(short, others) == told


def test_a_pod_that_names_many_unknown_resources_is_told_ten_of_them() -> None:
    """Anybody may invent resources: twelve of them are two more than a message names."""
    cluster = _three_nodes()
    cluster.pods("odd", 1, cpu="1", **{f"odd-{number:02}": 1 for number in range(12)})

    (rejection,) = SchedulingState(cluster.world()).verdict(0, 0)

    assert rejection.message.startswith("needs 1 odd-00 (0 of 0 free), 1 odd-01 (0 of 0 free), ")
    assert rejection.message.endswith(", 1 odd-09 (0 of 0 free) and 2 other resources that no node has")


def test_a_full_node_has_no_place_for_one_more_pod() -> None:
    """The number of pods is a resource, also for pods that request nothing."""
    cluster = ClusterBuilder()
    cluster.node("n", max_pods=1)
    cluster.pods("idle", 2, on=["n", None])

    (rejection,) = SchedulingState(cluster.world()).verdict(0, 0)

    assert rejection == Rejection("NodeResourcesFit", "needs 1 pod slot (0 of 1 free)")


def test_an_overcommitted_node_takes_pods_that_request_nothing() -> None:
    """A resource counts only for pods that request some of it."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1")
    cluster.pods("greedy", 1, cpu="3", on="n")
    cluster.pods("idle", 1)
    state = SchedulingState(cluster.world())

    assert [state.verdict(shape, 0) == () for shape in (0, 1)] == [False, True]


def test_a_resource_that_the_node_does_not_list_is_missing() -> None:
    """Zero of an extended resource are free where nobody registered any."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.pods("train", 1, gpu=1)

    (rejection,) = SchedulingState(cluster.world()).verdict(0, 0)

    assert rejection.message == "needs 1 nvidia.com/gpu (0 of 0 free)"


def test_finished_pods_hold_nothing_terminating_ones_do() -> None:
    """Of a succeeded and a terminating pod of 1 cpu, only the terminating one is bound."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.pods("done", 1, cpu="1", on="n")
    cluster.pods("leaving", 1, cpu="1", on="n")
    world = cluster.world()
    world.pods.phase[0] = list(PodPhase).index(PodPhase.SUCCEEDED)
    world.pods.deletion_seconds[1] = cluster.now

    assert SchedulingState(world).used(0).cpu_milli == 1000


def test_only_chosen_pods_are_bound() -> None:
    """`pods` names the pods that count."""
    cluster = _three_nodes()
    cluster.pods("web", 3, cpu="1", on=["g-1", "g-1", "g-2"])

    state = SchedulingState(cluster.world(), pods=[2])

    assert [state.bound(node) for node in range(3)] == [(), ((0, 1),), ()]


def test_one_pod_with_a_host_port_on_each_node() -> None:
    """Equal pods with a host port take one node each, and the verdict names the port."""
    cluster = _three_nodes()
    cluster.pods("edge", 1, on="g-2", shape={"host_ports": (HostPort(443),)})
    state = SchedulingState(cluster.world())

    assert state.place(0, 9) == ((0, 1), (2, 1))
    assert state.verdict(0, 0) == (Rejection("NodePorts", "host port 443/TCP is taken"),)
    assert state.rejecting_plugins(0) == [("NodePorts",)] * 3


def test_a_new_node_has_its_daemonset_pods() -> None:
    """What is given with a node is bound to it without asking."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.daemonset("agent", cpu="500m")
    cluster.pods("web", 1, cpu="1")
    state = SchedulingState(cluster.world())

    node = state.add_node("new", _OFFER, [0])

    assert (node, state.name(node), state.node_count) == (1, "new", 2)
    assert state.bound(node) == ((0, 1),)
    assert state.place(1, 9, [node]) == ((1, 3),)


def test_several_new_nodes_at_once() -> None:
    """Three nodes of 4 cpu with a DaemonSet pod of 1 and a device that no node had before; each takes one pod of 2, and they
    go together."""
    cluster = _three_nodes()
    cluster.pods("web", 1, cpu="2")
    state = SchedulingState(cluster.world())
    agent = state.add_shape(PodShape(namespace="kube-system", labels=(("app", "agent"),), requests=amounts("1", "0", 1)))
    size = amounts("4", "8Gi", 10, **{"example.com/card": 2})
    mark = state.mark()

    added = state.add_nodes(["a", "b", "c"], NodeShape(capacity=size, allocatable=size), [agent])

    assert [state.name(node) for node in added] == ["a", "b", "c"]
    assert [state.bound(node) for node in added] == [((agent, 1),)] * 3
    assert state.place(0, 9, added) == ((3, 1), (4, 1), (5, 1))
    assert [state.used(node) for node in added] == [amounts("3", "0", 2)] * 3
    state.undo(mark)
    assert state.node_count == 3
    assert state.place(0, 9) == ((0, 2), (1, 2), (2, 2))


def test_a_closed_node_keeps_its_pods_and_takes_no_more() -> None:
    """`closed` is no plugin: the verdict stays as it is."""
    cluster = _three_nodes()
    cluster.pods("web", 2, cpu="1", on=["g-1", None])
    state = SchedulingState(cluster.world())

    state.close(0)

    assert not state.fits(0, 0)
    assert state.verdict(0, 0) == ()
    assert state.bound(0) == ((0, 1),)
    assert state.place(0, 1) == ((1, 1),)


def test_marks_nest() -> None:
    """Undoing the outer mark undoes what came after the inner one too; a mark can be returned to twice."""
    state = SchedulingState(_three_nodes().world())
    shape = state.add_shape(PodShape(namespace="x", requests=amounts("1", "0", 1)))
    outer = state.mark()
    state.place(shape, 2)
    inner = state.mark()
    state.add_node("new", _OFFER)
    state.close(1)
    state.place(shape, 9)

    state.undo(inner)
    assert [state.bound(node) for node in range(state.node_count)] == [((shape, 2),), (), ()]
    state.undo(outer)
    assert state.bound(0) == ()
    state.bind(shape, 2)
    state.undo(outer)
    assert state.bound(2) == ()
    assert state.fits(shape, 1)


def test_equal_shapes_get_one_index() -> None:
    """A shape of the World is found again, a new one is added once."""
    cluster = _three_nodes()
    cluster.pods("web", 1, cpu="1")
    world = cluster.world()
    state = SchedulingState(world)

    assert state.add_shape(world.pod_shapes[0]) == 0
    fresh = PodShape(namespace="x", requests=amounts("1", "0", 1, fpga=1))
    assert state.add_shape(fresh) == state.add_shape(fresh) == 1
    assert state.verdict(1, 0)[0].message == "needs 1 fpga (0 of 0 free)"


def test_resource_claims_are_not_modelled_where_devices_were_not_captured() -> None:
    """Such a shape never fits, is never placed, and says so."""
    cluster = _three_nodes()
    cluster.pods("train", 1, shape={"claims": (ClaimUse(name="gpu", claim="gpu"),)})
    state = SchedulingState(cluster.world())

    missing = "DeviceClass, ResourceClaim, ResourceSlice not captured"
    assert state.modelled(0) == f"DynamicResources ({missing})"
    assert not state.fits(0, 0)
    assert state.place(0, 1) == ()
    assert [said.plugin for said in state.verdict(0, 0)] == ["NotModelled"]


def test_equal_pods_go_where_their_labels_let_them() -> None:
    """Node selectors, taints and names exclude nodes; what is left is filled in the order given."""
    cluster = ClusterBuilder()
    cluster.node("a", labels={"zone": "x"})
    cluster.node("b", labels={"zone": "y"}, taints=["t=1:NoSchedule"])
    cluster.node("c", labels={"zone": "y"}, cordoned=True)
    cluster.node("d", labels={"zone": "y"})
    cluster.pods("any", 1, cpu="1")
    cluster.pods("host", 1, cpu="1", node_selector={"kubernetes.io/hostname": "d"})
    cluster.pods("zone", 1, cpu="1", node_selector={"zone": "y"}, tolerations=["t"])
    state = SchedulingState(cluster.world())

    assert state.place(0, 2, [3, 2, 1, 0]) == ((3, 2),)
    assert state.place(1, 9) == ((3, 2),)
    assert state.place(2, 9) == ((1, 4),)
    assert [said.plugin for said in state.verdict(0, 2)] == ["NodeUnschedulable"]


def test_a_node_that_comes_twice_is_asked_once() -> None:
    """Repeating a node in the list gives it no second pod with the same host port."""
    cluster = _three_nodes()
    cluster.pods("edge", 1, shape={"host_ports": (HostPort(443),)})

    assert SchedulingState(cluster.world()).place(0, 9, [1] * 20) == ((1, 1),)


def test_what_was_said_of_an_undone_node_is_forgotten() -> None:
    """Another node in the place of an undone one is judged by its own name."""
    cluster = _three_nodes()
    cluster.pods("host", 1, node_selector={"kubernetes.io/hostname": "new-2"})
    state = SchedulingState(cluster.world())
    mark = state.mark()
    first = state.add_node("new-1", _OFFER)
    assert not state.fits(0, first)
    state.undo(mark)

    assert state.fits(0, state.add_node("new-2", _OFFER))


def test_two_new_nodes_are_two() -> None:
    """Each has its own room, and the nodes can be named as any numbers."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1")
    cluster.pods("web", 1, cpu="1")
    state = SchedulingState(cluster.world())
    mark = state.mark()

    assert list(state.add_nodes(("x", "y"), state.shape_of(0))) == [1, 2]
    assert [state.name(node) for node in range(state.node_count)] == ["n", "x", "y"]
    assert state.place(0, 9, array("q", (2, 1, 0, *range(3), *range(3)))) == ((2, 1), (1, 1), (0, 1))
    state.undo(mark)
    assert state.place(0, 9) == ((0, 1),)
    state.undo(mark)
    assert state.place(0, 0) == state.place(0, 9, []) == ()


def test_a_batch_follows_shapes_and_nodes_that_came() -> None:
    """Shapes and node shapes that are added between two batches are judged like those that were there."""
    cluster = ClusterBuilder()
    cluster.node("n1", cpu="2", labels={"pool": "a"})
    cluster.pods("web", 1, cpu="1", node_selector={"pool": "a"})
    cluster.pods("zoo", 1, cpu="1", node_selector={"pool": "b"})
    state = SchedulingState(cluster.world())

    assert _batch(state, (0, 1)) == ([(0, 0)], 1)
    third = state.add_shape(msgspec.structs.replace(state.pod_shape(0), node_selector=(), priority=7))
    assert _batch(state, (third, 1)) == ([(third, 0)], 1)
    other = msgspec.structs.replace(state.shape_of(0), labels=(("pool", "b"),))
    node = state.add_node("n2", other)
    assert _batch(state, (1, third)) == ([(1, node), (third, 0)], 2)
    fourth = state.add_shape(msgspec.structs.replace(state.pod_shape(1), priority=7))
    assert _batch(state, (fourth, 1, 0)) == ([(fourth, node), (1, node), (0, 0)], 3)


def _batch(state: SchedulingState, shapes: tuple[int, ...]) -> tuple[list[tuple[int, int]], int]:
    """(shape, node) of one pod a shape, and the first entry that lacks a place; undone."""
    mark, size, many = state.mark(), state.stack_size, len(shapes)
    wanted, every = array("i", shapes), array("i", range(state.node_count))
    cursor, reached = array("i", bytes(4 * state.shape_count)), array("i", bytes(4 * many))
    stopped, _ = state.fit_each(wanted, array("i", (1,)) * many, 0, many, array("i"), every, cursor, reached)
    nodes, found, _ = state.bound_since(size)
    state.undo(mark)
    return list(zip(found, nodes, strict=True)), stopped
