"""Targets that are not on an API server: polled from a cloud, and part of the same view."""

from collections.abc import Callable, Mapping
from typing import Protocol

from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.unread import Unread
from reconciler.kube.watching.stream_state import StreamState

GARBAGE = (AttributeError, LookupError, TypeError, ValueError)
"""What is raised for an answer that is not of the form that the cloud documents."""


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
