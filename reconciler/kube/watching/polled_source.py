"""Targets that no API server keeps: asked of a cloud again and again, and part of the same view."""

import threading
from collections.abc import Callable
from typing import Protocol

from reconciler.cluster.snapshots.document import Document
from reconciler.kube.watching.reflector import StreamState

# The thread of a polled source: a round, a pause, and another round at once when something has been written.


class AskingThread:
    """`ask` makes one round and says whether it brought news; `pause_seconds` says after it how long nothing new is expected."""

    def __init__(self, name: str, ask: Callable[[], bool], pause_seconds: Callable[[], float]) -> None:
        self._ask = ask
        self._pause_seconds = pause_seconds
        self._wake = threading.Event()
        self._stopping = False
        self._changed: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self, changed: Callable[[], None]) -> None:
        """Ask from now on; `changed` is called after every round that brought news."""
        self._changed = changed
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; the round under way ends first."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def wake(self) -> None:
        """The next round begins at once, or right after the one under way."""
        self._wake.set()

    @property
    def woken(self) -> bool:
        """Whether the next round begins at once."""
        return self._wake.is_set()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            if self._ask():
                self._changed()
            self._wake.wait(self._pause_seconds())


class PolledSource(Protocol):
    """Answers of a cloud, kept in the form in which a snapshot holds them, so that both are read by the same code."""

    def start(self, changed: Callable[[], None]) -> None:
        """Begin to ask, in a thread of its own; `changed` is to be called after every answer that says something new."""

    def stop(self) -> None:
        """Ask no more, and end the thread."""

    def states(self) -> tuple[StreamState, ...]:
        """How far each kind of answer can be trusted now: Waiting before the first whole one, Broken while none comes."""

    def documents(self) -> tuple[Document, ...]:
        """The last whole answers. Never half of one; not to be changed afterwards."""
