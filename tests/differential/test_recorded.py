"""What was written down is what kube-scheduler's plugins say."""

import pytest

from tests.differential.oracle import Oracle
from tests.differential.recorded import Recorded, asked, moved, moves, recorded


@pytest.mark.parametrize("known", recorded()[::9], ids=str)
def test_answers_are_still_given(oracle: Oracle, known: Recorded) -> None:
    """Otherwise `python -m tests.differential.recorded` asks everything again."""
    snapshot = known.snapshot()

    assert asked(oracle, snapshot) == known.first
    assert asked(oracle, moved(snapshot, moves(snapshot, known.first))) == known.second
