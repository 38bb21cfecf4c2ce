"""The loops over the rows of pods that move, by hand, in both builds."""

from array import array
from types import ModuleType

import pytest

from reconciler.scheduling import kernels
from tests.kernels.builds import interpreted

SUCCEEDED, FAILED = 2, 3


@pytest.fixture(params=["interpreted", "in charge"])
def rows(request: pytest.FixtureRequest) -> ModuleType:
    """Each build in turn."""
    return interpreted("rows") if request.param == "interpreted" else kernels.rows


@pytest.mark.parametrize(("ending", "expected"), [(False, [1, 5]), (True, [2, 3, 4])])
def test_pods_on_nodes_that_leave(rows: ModuleType, ending: bool, expected: list[int]) -> None:
    """One of seven pods is elsewhere, one waits; of the five on node 1 one is of a DaemonSet, one succeeded and one failed."""
    node, traits = array("i", [0, 1, 1, 1, 1, 1, -1]), array("i", [0, 0, 1, 0, 0, 0, 0])
    phase, found = array("B", [1, 1, 1, SUCCEEDED, FAILED, 0, 1]), array("i", bytes(28))
    many = rows.rows_on(node, traits, phase, bytearray((0, 1)), bytearray((0, 1)), SUCCEEDED, FAILED, ending, found)
    assert list(found[:many]) == expected


def test_seats_stand_by_shape(rows: ModuleType) -> None:
    """Shape 0 has one place on node 3, shape 1 two on node 2 and one on node 0; node 1 leaves, and shape 2 is not asked for."""
    nodes, shapes, counts = array("i", [2, 1, 3, 0, 0]), array("i", [1, 0, 0, 1, 2]), array("i", [2, -5, 1, 1, 4])
    starts, found = array("i", bytes(16)), array("i", bytes(16))
    assert rows.seats(nodes, shapes, counts, bytearray((1, 0, 1, 1)), starts, found) == 4
    assert (list(found), list(starts[:3])) == ([3, 2, 2, 0], [0, 1, 4])


def test_a_node_that_stays_may_lose_none(rows: ModuleType) -> None:
    """One pod less on node 0 is no seat."""
    one = array("i", [0])
    assert rows.seats(one, one, array("i", [-1]), bytearray(b"\1"), array("i", bytes(12)), array("i", bytes(4))) == -1


def test_more_seats_than_were_asked_for_are_counted_alone(rows: ModuleType) -> None:
    """Nothing is written where three do not go into room for two."""
    one, found = array("i", [0]), array("i", [7, 7])
    assert rows.seats(one, one, array("i", [3]), bytearray(b"\1"), array("i", bytes(12)), found) == 3
    assert list(found) == [7, 7]


def test_pods_take_their_seats(rows: ModuleType) -> None:
    """The third and the first pod run, ready, on nodes 5 and 4; the second waits as before."""
    node, phase, flags, waited = array("i", [-1, -1, 0]), array("B", [0, 0, 1]), array("B", [0, 2, 0]), array("q", [9, 8, 0])
    rows.seat(array("i", [2, 0]), array("i", [5, 4]), 1, 1, node, phase, flags, waited)
    assert [list(column) for column in (node, phase, flags, waited)] == [[4, -1, 5], [1, 0, 1], [1, 2, 1], [0, 8, 0]]


def test_nodes_get_new_numbers(rows: ModuleType) -> None:
    """Node 0 is gone and node 1 takes its number; who waits, waits."""
    node = array("i", [1, 0, -1])
    rows.renumber(node, array("i", [-1, 0]))
    assert list(node) == [0, -1, -1]
