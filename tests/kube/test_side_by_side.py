"""Calls under way at once."""

import threading

import pytest

from reconciler.kube.connection.side_by_side import AT_ONCE, side_by_side


def test_calls_wait_beside_each_other_and_answers_keep_their_order() -> None:
    """So many calls wait for each other: one after the other none would end."""
    together = threading.Barrier(AT_ONCE, timeout=30)

    def call(item: int) -> int:
        together.wait()
        return item * item

    assert side_by_side(call, range(2 * AT_ONCE)) == [item * item for item in range(2 * AT_ONCE)]


def test_one_call_needs_no_thread() -> None:
    """It is made where it is asked for."""
    assert side_by_side(lambda _: threading.current_thread(), ["one"]) == [threading.current_thread()]


def test_the_first_error_comes_out_after_all_that_began() -> None:
    """Nothing is under way any more when it does."""
    ended = []

    def call(item: int) -> None:
        if item == 1:
            raise ValueError(item)
        ended.append(item)

    with pytest.raises(ValueError, match="1"):
        side_by_side(call, [0, 1, 2])
    assert 0 in ended
