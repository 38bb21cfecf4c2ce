"""Amounts as rows of numbers."""

from array import array

import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.scheduling.columns import SAFE_AMOUNT, SAFE_SUM, ResourceColumns, largest_amount, widened
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder

_FIXED = ("pods", "cpu_milli", "memory_bytes", "ephemeral_bytes")


def test_fixed_columns_first_then_as_they_come() -> None:
    """Pods, cpu, memory, ephemeral storage; a name has one column however often it is learned."""
    columns = ResourceColumns()
    assert columns.learn(Resources(extended=(("gpu", 1), ("nic", 2))))
    assert not columns.learn(Resources(extended=(("nic", 9),)))
    assert columns.learn(Resources(extended=(("card", 1),)))

    amounts = Resources(pods=1, cpu_milli=2, memory_bytes=3, ephemeral_bytes=4, extended=(("card", 7), ("gpu", 5)))
    assert columns.width == 8
    assert list(columns.row(amounts)) == [1, 2, 3, 4, 0, 5, 0, 7]
    assert columns.resources(columns.row(amounts)) == amounts


def test_amounts_above_the_largest_count_as_that() -> None:
    """Each of them, whichever it is; what equals the largest stays."""
    columns = ResourceColumns(10)
    columns.learn(Resources(extended=(("gpu", 1),)))
    above = Resources(pods=11, cpu_milli=12, memory_bytes=13, ephemeral_bytes=14, extended=(("gpu", 15),))

    assert list(columns.row(above)) == [10, 10, 10, 10, 0, 10]
    for column in range(4):
        amounts = [11 if index == column else index for index in range(4)]
        row = columns.row(Resources(**dict(zip(_FIXED, amounts, strict=True))))
        assert list(row) == [10 if index == column else index for index in range(4)] + [0, 0]


def test_what_no_node_has_shares_a_column() -> None:
    """However many names pods write: a number of such resources, until a node has one of them."""
    columns = ResourceColumns()
    amounts = Resources(pods=1, extended=(("a", 7), ("b", 8), ("none", 0)))
    assert (columns.width, list(columns.row(amounts))) == (5, [1, 0, 0, 0, 2])
    assert columns.unknown(amounts) == (("a", 7), ("b", 8))

    assert columns.learn(Resources(extended=(("b", 1),)))
    assert list(columns.row(amounts)) == [1, 0, 0, 0, 1, 8]
    assert columns.unknown(amounts) == (("a", 7),)


@pytest.mark.parametrize("undone", [True, False])
def test_a_node_may_come_with_what_no_node_had(undone: bool) -> None:
    """What runs already and requests it counts as before, where it runs and once it is gone; what fits, fits."""
    cluster = ClusterBuilder()
    node = cluster.node("old")
    wants = {"requests": Resources(pods=1, extended=(("card", 3), ("nic", 1)))}
    cluster.pods("bound", 2, on=node, shape=wants)
    cluster.pods("waiting", 1, shape={"requests": Resources(pods=1, extended=(("card", 2),))})
    state = SchedulingState(cluster.world())
    bound, waiting = (state.add_shape(shape) for shape in cluster.world().pod_shapes)
    assert [said.message for said in state.verdict(waiting, 0)] == ["needs 2 card (0 of 0 free)"]

    mark = state.mark()
    card = NodeShape(allocatable=Resources(pods=9, extended=(("card", 4),)))
    new = state.add_node("new", card)
    assert state.used(0).get("card") == 6
    assert state.place(waiting, 3) == ((new, 2),)
    assert state.verdict(bound, new)[0].message == "needs 3 card (0 of 4 free) and 1 nic (0 of 0 free)"
    if undone:
        state.undo(mark)
    state.unbind(bound, 0, 2)
    assert state.used(0) == Resources()
    assert not state.fits(waiting, 0)


@pytest.mark.parametrize(
    ("amounts", "counts", "largest"),
    [
        ([Resources(memory_bytes=SAFE_AMOUNT)], [(0, 1 << 30)], SAFE_SUM),
        ([Resources(memory_bytes=SAFE_AMOUNT + 1)], [(0, 1)], SAFE_SUM),
        ([Resources(memory_bytes=SAFE_SUM)], [(0, 1)], SAFE_SUM),
        ([Resources(memory_bytes=SAFE_SUM)], [(0, 2)], SAFE_AMOUNT),
        ([Resources(memory_bytes=SAFE_SUM), Resources()], [(0, 1), (1, 9)], SAFE_SUM),
        ([Resources(ephemeral_bytes=SAFE_SUM), Resources(cpu_milli=1)], [(0, 1), (1, 1)], SAFE_AMOUNT),
        ([Resources(cpu_milli=SAFE_AMOUNT + 1)], [(0, 1 << 10)], SAFE_AMOUNT),
        ([Resources(extended=(("gpu", SAFE_AMOUNT + 1), ("nic", 1)))], [(0, 1 << 10)], SAFE_AMOUNT),
    ],
)
def test_how_large_amounts_may_be(amounts: list[Resources], counts: list[tuple[int, int]], largest: int) -> None:
    """Exact up to an EiB as long as the sum of all pods stays below it; else each counts as 4 PiB at most."""
    assert largest_amount(amounts, lambda: counts) == largest


def test_wider_rows_end_with_zeros() -> None:
    assert list(widened(array("q", (1, 2, 3, 4)), 2, 3)) == [1, 2, 0, 3, 4, 0]


def test_the_bounds_themselves() -> None:
    """4 PiB for each of any number of pods, 1 EiB for all of them together."""
    assert SAFE_AMOUNT == 4 * 1024**5
    assert SAFE_SUM == 1024**6
