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


def test_pods_take_their_seats(rows: ModuleType) -> None:
    """The third and the first pod run, ready, on nodes 5 and 4; the second waits as before."""
    node, phase, flags, waited = array("i", [-1, -1, 0]), array("B", [0, 0, 1]), array("B", [0, 2, 0]), array("q", [9, 8, 0])
    rows.seat(array("i", [2, 0]), array("i", [5, 4]), 1, 1, node, phase, flags, waited)
    assert [list(column) for column in (node, phase, flags, waited)] == [[4, -1, 5], [1, 0, 1], [1, 2, 1], [0, 8, 0]]
