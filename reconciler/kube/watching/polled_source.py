"""Targets that are not on an API server: polled from a cloud, and part of the same view."""

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.unread import Unread
from reconciler.kube.watching.reflector import StreamState

GARBAGE = (AttributeError, LookupError, TypeError, ValueError)
"""What is raised for an answer that is not of the form that the cloud documents."""

# The thread of a polled source: a round, a pause, and another round at once after a write.


class AskingThread:
    """`ask` makes one round and returns whether it brought news. `pause_seconds` then returns how long no news is expected."""

    def __init__(self, name: str, ask: Callable[[], bool], pause_seconds: Callable[[], float]) -> None:
        self._ask = ask
        self._pause_seconds = pause_seconds
        self._wake = threading.Event()
        self._stopping = False
        self._changed: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self, changed: Callable[[], None]) -> None:
        """Start to ask; `changed` is called after every round with news."""
        self._changed = changed
        self._thread.start()

    def stop(self) -> None:
        """Stop asking; the current round ends first."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def wake(self) -> None:
        """Begin the next round at once, or right after the current one."""
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
    """Answers of a cloud, in the form of a snapshot, so that the same code reads both."""

    def start(self, changed: Callable[[], None]) -> None:
        """Start to ask, in a thread of its own; `changed` is called after every answer with news."""

    def stop(self) -> None:
        """Stop asking, and end the thread."""

    def states(self) -> tuple[StreamState, ...]:
        """How far each kind of answer can be trusted now: Waiting before the first complete one, Broken while none comes."""

    def unread(self, doubtful: Mapping[str, str]) -> tuple[Unread, ...]:
        """What a view lacks, given which of the collections in `states` it goes on without, and why."""

    def documents(self) -> tuple[Document, ...]:
        """The last complete answers. Never half of one. Do not change them."""
