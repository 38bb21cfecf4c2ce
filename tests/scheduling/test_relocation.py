"""Trials of moving pods: the same places as asking shape by shape, whatever earlier trials took."""

import random
from array import array
from itertools import pairwise

import pytest

from reconciler.cluster.pods.pod import HostPort
from reconciler.scheduling.relocation import Places, is_too_much
from reconciler.scheduling.state import SchedulingState
from tests.benchmarks.mixed.situations import small
from tests.builders import ClusterBuilder


@pytest.mark.parametrize("seed", range(12))
def test_equals_asking_shape_by_shape(seed: int) -> None:
    """Node after node, some trials kept and some undone, against `place` over the same order in a second state."""
    rng = random.Random(seed)
    world, _, _ = small(seed)
    quick, plain = SchedulingState(world), SchedulingState(world)
    nodes = list(range(len(world.nodes)))
    rng.shuffle(nodes)
    places, order = Places(quick, nodes), array("i", nodes)
    for node in nodes:
        moving = [shape for shape, _ in plain.bound(node)]
        rng.shuffle(moving)
        counts = [dict(plain.bound(node))[shape] for shape in moving]
        marks = quick.mark(), plain.mark()
        for state in (quick, plain):
            state.close(node)
            for shape, count in zip(moving, counts, strict=True):
                state.unbind(shape, node, count)
        found = places.fit(moving, counts)
        expected, short = [], None
        for shape, count in zip(moving, counts, strict=True):
            placed = plain.place(shape, count, order)
            expected += [(to, shape, many) for to, many in placed]
            if sum(many for _, many in placed) < count:
                short = shape
                break
        assert (
            _merged(found.nodes, found.shapes, found.counts) == _merged(*zip(*expected, strict=True))
            if expected
            else not found.nodes
        )
        assert found.short == short
        if short is None and rng.random() < 0.7:
            places.keep(found)
            continue
        quick.undo(marks[0])
        plain.undo(marks[1])
        if short is not None:
            places.skip_full(short)


def test_what_was_undone_has_its_room_again() -> None:
    """A place that a trial filled is no full place once the trial is undone."""
    world, _, _ = small(4)
    state = SchedulingState(world)
    shape = next(s for s in range(state.shape_count) if state.node_local(s))
    places = Places(state, range(len(world.nodes)))
    assert places.looked == 0
    mark = state.mark()
    first = places.fit((shape,), (1,))
    state.undo(mark)
    again = places.fit((shape,), (1,))
    assert list(first.nodes) == list(again.nodes) != []


def _merged(nodes, shapes, counts) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for node, shape, many in zip(nodes, shapes, counts, strict=True):
        found[node, shape] = found.get((node, shape), 0) + many
    return found


def _rooms(*rooms: int, ports: bool = False) -> Places:
    """Nodes that have room for so many pods of one cpu, and one shape of such a pod."""
    cluster = ClusterBuilder()
    for number, room in enumerate(rooms):
        cluster.node(f"n{number}", cpu=str(room))
    cluster.pods("web", 1, cpu="1", shape={"host_ports": (HostPort(80),)} if ports else {})
    return Places(SchedulingState(cluster.world()), range(len(rooms)))


def test_places_that_are_known_to_be_full_are_passed_over() -> None:
    """Rooms of 1 and 2: a place is known to be full once a pod was turned away there, and is not looked at after that."""
    places, looked = _rooms(1, 2), [0]
    for _ in range(4):
        places.keep(places.fit((0,), (1,)))
        looked.append(places.looked)

    assert [after - before for before, after in pairwise(looked)] == [1, 2, 1, 1]


def test_a_place_with_room_for_one_is_kept_for_one() -> None:
    """Two pods find one place between them, so that none of them moves; a single pod asked for later still finds it."""
    places = _rooms(0, 1)
    state = places._state
    mark = state.mark()
    assert places.fit((0,), (2,)).short == 0
    state.undo(mark)

    places.skip_full(0)

    assert state.bound(1) == ()
    found = places.fit((0,), (1,))
    assert (list(found.nodes), list(found.counts), found.short) == ([1], [1], None)


@pytest.mark.parametrize(
    ("before", "pods", "nodes", "looked", "short"),
    [
        ((2,), 1, [2], 1, None),
        ((2,), 2, [2, 0], 1 + 3, None),
        ((), 2, [0, 1], 3, None),
        ((2,), 4, [2, 0, 1], 1 + 3, 0),
    ],
)
def test_pods_that_mind_other_pods_are_placed_one_kind_at_a_time(
    before: tuple[int, ...], pods: int, nodes: list[int], looked: int, short: int | None
) -> None:
    """One pod a node because of its host port: first the nodes named before all others, which are looked at only for pods that
    are left."""
    places = _rooms(4, 4, 4, ports=True)

    found = places.fit((0,), (pods,), array("i", before))

    assert (list(found.nodes), found.short, places.looked) == (nodes, short, looked)


@pytest.mark.parametrize(
    ("amounts", "free", "too_much"),
    [
        ([2, 0], [2, 0], False),
        ([2, 0], [1, 0], True),
        ([0, 1], [-1, 1], False),
        ([0, 1], [5, 0], True),
        ([1, 0, 9], [1, 0], False),
    ],
)
def test_what_is_not_requested_is_not_lacked(amounts: list[int], free: list[int], too_much: bool) -> None:
    """A node may have less than nothing of a resource, which only those who request some of it meet; what a node has no column
    for is asked later."""
    assert is_too_much(amounts, free) is too_much
