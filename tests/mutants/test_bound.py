"""How few a sample may notice, by hand: of n, each noticed with 0.8, none is missed by chance but once in ten thousand."""

import pytest

from tests.mutants.campaign import least_noticed


@pytest.mark.parametrize(
    ("count", "least"),
    [
        (1, 0),  # none of one: 0.2
        (5, 0),  # none of five: 0.2^5 = 0.00032
        (6, 1),  # none of six: 0.000064; at most one: 0.0016
        (8, 2),  # at most one of eight: 0.0000026 + 8 * 0.8 * 0.2^7 = 0.000085; at most two: 0.0012
    ],
)
def test_the_bound_of_a_small_sample(count: int, least: int) -> None:
    """The tail up to the bound is the first above 0.0001."""
    assert least_noticed(count) == least


@pytest.mark.parametrize("count", [20, 60, 100, 300])
def test_the_bound_of_a_larger_one(count: int) -> None:
    """Below 80 percent by about four standard deviations, of n * 0.8 * 0.2 in variance."""
    deviation = (count * 0.8 * 0.2) ** 0.5
    assert 3.5 * deviation < 0.8 * count - least_noticed(count) < 5.0 * deviation
