"""A state that outlives one look: nodes change and go, and every answer is that of a state which was made anew."""

import msgspec
import pytest

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.world import World
from reconciler.scheduling.lasting_state import LastingState
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder, amounts, selector
from tests.differential.ours import our_world
from tests.differential.recorded import Recorded, recorded

_CORDONED = Taint("maintenance", "", "NoSchedule")


def _altered(shape: NodeShape) -> NodeShape:
    """Tainted, cordoned, and with a cpu more."""
    size = msgspec.structs.replace(shape.allocatable, cpu_milli=shape.allocatable.cpu_milli + 1000)
    return msgspec.structs.replace(shape, taints=(*shape.taints, _CORDONED), unschedulable=True, allocatable=size)


def _names(state: SchedulingState, world: World, nodes: range) -> list[list[tuple[str, ...]]]:
    shapes = [shape for shape, value in enumerate(world.pod_shapes) if not value.volumes]
    return [[tuple(said.plugin for said in state.verdict(shape, node)) for node in nodes] for shape in shapes]


@pytest.mark.parametrize(
    "known",
    [known for known in recorded() if not known.promises and {"spread", "interPodAffinity", "taints"} & set(known.features)],
    ids=str,
)
def test_nodes_that_changed_and_went(known: Recorded) -> None:
    """The second node is cordoned and tainted, the first gets its first shape back, the last is gone: verdicts, and where
    pods go, are those of a state of the changed cluster, counts of domains included."""
    world = our_world(known.snapshot())
    last = len(world.nodes) - 1
    lasting = LastingState(world)
    _names(lasting, world, range(last + 1))
    first, second = lasting.shape_of(0), lasting.shape_of(1)
    assert lasting.alter(0, _altered(first))
    assert lasting.alter(1, _altered(second))
    assert lasting.alter(0, first)
    lasting.remove(last)

    fresh = SchedulingState(_changed(world, _altered(second), last))

    assert _names(lasting, world, range(last)) == _names(fresh, world, range(last))
    assert [lasting.used(node) for node in range(last)] == [fresh.used(node) for node in range(last)]
    for shape, value in enumerate(world.pod_shapes):
        if not value.volumes:
            marks = lasting.mark(), fresh.mark()
            assert lasting.place(shape, 5) == fresh.place(shape, 5)
            lasting.undo(marks[0])
            fresh.undo(marks[1])


def _changed(world: World, second: NodeShape, last: int) -> World:
    """The world with another shape of the second node and without the last one and its pods."""
    pods = world.pods
    kept = [pod for pod in range(len(pods)) if pods.node[pod] != last]
    changed = msgspec.structs.replace(world.nodes[1], shape=len(world.node_shapes))
    nodes = (world.nodes[0], changed, *world.nodes[2:last])
    table = type(pods)([pods[pod] for pod in kept])
    return msgspec.structs.replace(world, nodes=nodes, node_shapes=(*world.node_shapes, second), pods=table)


def test_other_labels_are_another_node() -> None:
    """What pods were counted by cannot change under them: the caller reads everything anew. An equal shape is no change."""
    cluster = ClusterBuilder()
    cluster.node("n", labels={"zone": "a"})
    state = LastingState(cluster.world())
    shape = state.shape_of(0)

    assert not state.alter(0, msgspec.structs.replace(shape, labels=(("zone", "b"),)))
    assert not state.alter(0, msgspec.structs.replace(shape, without_hostname=True))
    assert state.shape_of(0) == shape
    assert state.alter(0, msgspec.structs.replace(shape))


def test_a_resource_comes_with_a_changed_node() -> None:
    """A device plugin has come up: the node lists gpus that no node and no pod has named before."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="2")
    cluster.pods("web", 1, cpu="1", on="n")
    state = LastingState(cluster.world())
    shape = state.shape_of(0)
    wanted = msgspec.structs.replace(state.pod_shape(0), requests=amounts("1", "0", 1, gpu=1))

    assert state.alter(0, msgspec.structs.replace(shape, allocatable=amounts("2", "16Gi", 110, gpu=2)))

    assert state.used(0) == amounts("1", "0", 1)
    assert state.place(state.add_shape(wanted), 3, [0]) == ((0, 1),)


def test_a_closed_node_opens_again() -> None:
    """A lasting state closes nodes for good, not until an undo."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="2")
    cluster.pods("web", 1, cpu="1")
    state = LastingState(cluster.world())
    mark = state.mark()

    state.open_or_close(0, closed=True)
    state.undo(mark)
    assert state.place(0, 1) == ()
    state.open_or_close(0, closed=False)
    assert state.place(0, 1) == ((0, 1),)


def test_a_node_that_is_gone_takes_nothing() -> None:
    """Its index stays, empty; nodes that come later have indices of their own and count in their domains."""
    cluster = ClusterBuilder()
    cluster.node("n1", cpu="2")
    cluster.node("n2", cpu="2")
    cluster.pods("web", 1, cpu="1", on="n1")
    state = LastingState(cluster.world())

    state.remove(0)

    assert state.closed(0)
    assert state.bound(0) == ()
    assert state.place(0, 9) == ((1, 2),)
    assert state.place(0, 9, [0]) == ()
    assert state.node_count == 2


def _apart(*zones: str) -> LastingState:
    cluster = ClusterBuilder()
    for number, zone in enumerate(zones):
        cluster.node(f"n{number}", labels={"zone": zone})
    term = AffinityTerm(topology_key="zone", selector=selector(app="web"), namespaces=("shop",))
    cluster.pods("web", 1, shape={"anti_affinity": (term,)})
    state = LastingState(cluster.world())
    state.verdict(0, 0)
    return state


@pytest.mark.parametrize(
    ("zones", "gone", "placed"),
    [
        ("aaa", 2, ((0, 1),)),
        ("aaab", 0, ((1, 1), (3, 1))),
        ("aa", 0, ((1, 1),)),
        ("ab", 0, ((1, 1),)),
        ("aab", 2, ((0, 1),)),
    ],
)
def test_zones_are_shared_by_those_that_are_left(zones: str, gone: int, placed: tuple[tuple[int, int], ...]) -> None:
    """Pods that keep apart by zone take one node of each zone, whoever has gone from it."""
    state = _apart(*zones)

    state.remove(gone)

    assert state.place(0, 9) == placed
    assert state.place(0, 9) == ()


def test_zones_of_nodes_that_were_undone() -> None:
    """New nodes in zones that are there and in a new one come, take pods, and are taken back."""
    state = _apart("a", "b")
    for names, zone, placed in ((("x",), "a", ((0, 1), (1, 1))), (("x", "y"), "c", ((0, 1), (1, 1), (2, 1)))):
        mark = state.mark()
        state.add_nodes(names, msgspec.structs.replace(state.shape_of(0), labels=(("zone", zone),)))
        assert state.place(0, 9) == placed
        state.undo(mark)
        assert state.place(0, 9) == ((0, 1), (1, 1))
        state.undo(mark)


def test_pods_of_a_shared_zone_count_after_an_undo() -> None:
    """One node of two goes back: the other one is alone in its zone and takes one pod."""
    state = _apart("a", "b")
    shape = msgspec.structs.replace(state.shape_of(0), labels=(("zone", "c"),))
    state.add_node("x", shape)
    mark = state.mark()
    state.add_node("y", shape)
    state.verdict(0, 3)
    state.undo(mark)
    assert state.place(0, 9) == ((0, 1), (1, 1), (2, 1))


def test_a_zone_is_shared_again() -> None:
    """A node comes into a zone, goes, and comes again: one pod for the zone each time; two that stay share it too."""
    shape = _apart("a").shape_of(0)
    state = _apart("a")
    mark = state.mark()
    state.add_node("x", shape)
    state.verdict(0, 1)
    state.undo(mark)
    state.add_node("x", shape)
    assert state.place(0, 9) == ((0, 1),)

    state = _apart("a", "a")
    mark = state.mark()
    state.add_node("x", shape)
    state.verdict(0, 2)
    state.undo(mark)
    assert state.place(0, 9) == ((0, 1),)


def test_a_new_node_may_change_before_anybody_asks() -> None:
    """It is tainted while pods of its kind were counted by taints only on the nodes before it."""
    cluster = ClusterBuilder()
    cluster.node("n", labels={"zone": "a"})
    spread = SpreadConstraint(topology_key="zone", max_skew=1, selector=selector(app="web"), node_taints_policy="Honor")
    cluster.pods("web", 1, shape={"spread": (spread,)})
    state = LastingState(cluster.world())
    shape = state.shape_of(0)
    assert state.verdict(0, 0) == ()

    node = state.add_node("x", msgspec.structs.replace(shape, labels=(("zone", "b"),)))
    assert state.alter(node, msgspec.structs.replace(shape, labels=(("zone", "b"),), taints=(_CORDONED,)))

    assert state.place(0, 3) == ((0, 3),)


@pytest.mark.parametrize(
    ("zone", "placed"),
    # A zone behind a taint holds nobody back any more; a node without a zone is in none before and after.
    [("b", ((0, 4),)), (None, ((0, 4),))],
)
def test_a_node_that_is_tainted_counts_no_more(zone: str | None, placed: tuple[tuple[int, int], ...]) -> None:
    """Pods that are spread over zones which they tolerate, n0 in zone a; n1 gets a taint, loses it and gets it again."""
    cluster = ClusterBuilder()
    cluster.node("n0", labels={"zone": "a"})
    cluster.node("n1", labels={"zone": zone} if zone else {})
    spread = SpreadConstraint(topology_key="zone", max_skew=1, selector=selector(app="web"), node_taints_policy="Honor")
    cluster.pods("web", 1, cpu="1", shape={"spread": (spread,)})
    state = LastingState(cluster.world())
    open_shape = state.shape_of(1)
    before = (((0, 4), (1, 4)) if zone else placed, placed)
    state.verdict(0, 0)

    for shape, expected in zip(
        (_altered(open_shape), open_shape, _altered(open_shape)), (before[1], before[0], before[1]), strict=True
    ):
        assert state.alter(1, shape)
        mark = state.mark()
        assert state.place(0, 9) == expected
        state.undo(mark)
