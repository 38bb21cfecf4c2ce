"""Sets of indices as bits answer as sets of Python do."""

import random
import secrets

import pytest

from reconciler.scheduling.index_sets.index_set import EMPTY, IndexSet


@pytest.mark.parametrize("run", range(200))
def test_answers_are_those_of_plain_sets(run: int) -> None:
    """Whatever is drawn: members, size, union, intersection, difference, and equality of equal sets."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    one, other = (
        {rng.randrange(rng.choice((1, 70, 300))) + rng.choice((0, 7, 500)) for _ in range(rng.randrange(40))} for _ in "ab"
    )
    these, those = IndexSet.of([*one, *one]), IndexSet.of([*other])

    assert list(these) == sorted(one)
    assert len(these) == len(one)
    assert bool(these) == bool(one)
    assert [index for index in range(900) if index in these] == sorted(one)
    assert these & those == IndexSet.of(list(one & other))
    assert these - those == IndexSet.of(list(one - other))
    assert IndexSet.union_of((these, EMPTY, those)) == IndexSet.of(list(one | other))
    assert hash(these & those) == hash(IndexSet.of(list(one & other)))


def test_packed_has_a_bit_each_from_the_first_on() -> None:
    """3, 4 and 11: bits 0, 1 and 8 from 3 on."""
    assert IndexSet.of([11, 3, 4]).packed() == bytearray([0b11, 0b1])
    assert EMPTY.packed() == bytearray()
