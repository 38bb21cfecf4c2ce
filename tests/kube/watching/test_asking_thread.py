"""The thread of what is polled: a round at once, another when it is woken, none after its end."""

import threading

from reconciler.kube.watching.asking_thread import AskingThread

_PATIENCE_SECONDS = 30


def test_rounds() -> None:
    """Only a round that brings news is told; a wake ends the pause, and the end does too."""
    rounds, told, next_round = [], threading.Event(), threading.Semaphore(0)

    def ask() -> bool:
        rounds.append(len(rounds))
        next_round.release()
        return len(rounds) == 2

    thread = AskingThread("test", ask, lambda: 3600)
    thread.start(told.set)
    assert next_round.acquire(timeout=_PATIENCE_SECONDS)
    assert not told.is_set()
    thread.wake()
    assert next_round.acquire(timeout=_PATIENCE_SECONDS)
    assert told.wait(_PATIENCE_SECONDS)
    thread.stop()
    assert rounds == [0, 1]


def test_an_end_before_the_beginning() -> None:
    """A process that fails to start ends what it never began."""
    AskingThread("test", lambda: True, lambda: 0).stop()
