"""Calls under way at once."""

import threading

import pytest

from reconciler.kube.connection import side_by_side as module
from reconciler.kube.connection.side_by_side import AT_ONCE, side_by_side


def test_calls_wait_beside_each_other_and_answers_keep_their_order() -> None:
    """So many calls wait for each other: one after the other none would end."""
    together = threading.Barrier(AT_ONCE, timeout=30)

    def call(item: int) -> int:
        together.wait()
        return item * item

    assert side_by_side(call, range(2 * AT_ONCE)) == [item * item for item in range(2 * AT_ONCE)]


def test_two_calls_wait_beside_each_other() -> None:
    """Already two are quicker so."""
    together = threading.Barrier(2, timeout=30)
    assert sorted(side_by_side(lambda _: together.wait(), "ab")) == [0, 1]


@pytest.mark.parametrize(("items", "threads"), [(2, 2), (8, 8), (9, 8), (100, 8)])
def test_no_more_threads_than_calls_and_eight(monkeypatch: pytest.MonkeyPatch, items: int, threads: int) -> None:
    """Many more would be refused by the server's own priorities."""
    made: list[int] = []
    pool = module.ThreadPoolExecutor
    monkeypatch.setattr(module, "ThreadPoolExecutor", lambda max_workers: (made.append(max_workers), pool(max_workers))[1])
    assert side_by_side(lambda item: item, range(items)) == list(range(items))
    assert made == [threads]


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
