"""Targets that no API server keeps: asked of a cloud again and again, and part of the same view."""

from collections.abc import Callable
from typing import Protocol

from reconciler.cluster.snapshots.document import Document
from reconciler.kube.watching.stream_state import StreamState


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
