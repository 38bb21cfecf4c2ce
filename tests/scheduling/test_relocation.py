"""Trials of moving pods: the same places as asking shape by shape, whatever earlier trials took."""

import random
from array import array

import pytest

from reconciler.scheduling.relocation import Places
from reconciler.scheduling.state import SchedulingState
from tests.benchmarks.mixed.situations import small


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
