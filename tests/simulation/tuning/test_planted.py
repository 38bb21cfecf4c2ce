"""Through the simulator: a planted best policy is found, and none is found in noise. `planted` searches more seeds."""

import random

import pytest

from tests.simulation.tuning.planted import KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_planted_is_found_and_noise_is_not(kind: str) -> None:
    """Of two fresh seeds at least one. In 95 of 100 it is right, so this test is wrong once in 400 runs at most."""
    first = random.SystemRandom().randrange(2**31)
    found = [KINDS[kind](seed) for seed in (first, first + 1)]
    assert any(right for right, _ in found), (first, found)
