"""Amounts as rows of numbers."""

from array import array

import pytest

from reconciler.cluster.values.resources import Resources
from reconciler.scheduling.columns import SAFE_AMOUNT, SAFE_SUM, ResourceColumns, largest_amount, widened

_FIXED = ("pods", "cpu_milli", "memory_bytes", "ephemeral_bytes")


def test_fixed_columns_first_then_as_they_come() -> None:
    """Pods, cpu, memory, ephemeral storage; a name has one column however often it is learned."""
    columns = ResourceColumns()
    assert columns.learn(Resources(extended=(("gpu", 1), ("nic", 2))))
    assert not columns.learn(Resources(extended=(("nic", 9),)))
    assert columns.learn(Resources(extended=(("card", 1),)))

    amounts = Resources(pods=1, cpu_milli=2, memory_bytes=3, ephemeral_bytes=4, extended=(("card", 7), ("gpu", 5)))
    assert columns.width == 7
    assert list(columns.row(amounts)) == [1, 2, 3, 4, 5, 0, 7]
    assert columns.resources(columns.row(amounts)) == amounts


def test_amounts_above_the_largest_count_as_that() -> None:
    """Each of them, whichever it is; what equals the largest stays."""
    columns = ResourceColumns(10)
    columns.learn(Resources(extended=(("gpu", 1),)))
    above = Resources(pods=11, cpu_milli=12, memory_bytes=13, ephemeral_bytes=14, extended=(("gpu", 15),))

    assert list(columns.row(above)) == [10, 10, 10, 10, 10]
    for column in range(4):
        amounts = [11 if index == column else index for index in range(4)]
        row = columns.row(Resources(**dict(zip(_FIXED, amounts, strict=True))))
        assert list(row) == [10 if index == column else index for index in range(4)] + [0]


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
