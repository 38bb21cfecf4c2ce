"""The open pull requests of one repository on a host."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from reconciler.gitops.pull_requests.comment import CommentHost

MOST_REQUESTS = 5_000
"""The most entries of a list that are read: fifty pages of a hundred, sixty times an hour, stay below GitHub's limit (5,000)."""
PAGE_REQUESTS = 100


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One pull or merge request. `head` is the commit. `ref` is where it can be fetched from the repository that it goes into,
    also if it comes from a fork. `branch` is its target."""

    number: int
    head: str
    ref: str
    branch: str
    fork: bool
    labels: tuple[str, ...] = ()


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """How much we may ask the host until `reset_seconds` (Unix time)."""

    remaining: int
    limit: int
    reset_seconds: int


class RequestHost(Protocol):
    """A repository. Everything may raise `HostError`."""

    def open_requests(self, branch: str) -> Iterator[OpenRequest]:
        """The requests for `branch`, page by page, the latest changed first: to hide one, somebody would have to keep pushing. A
        request that changes meanwhile may come twice."""

    def comments(self, number: int) -> CommentHost:
        """The comments of one."""

    def quota(self) -> Quota | None:
        """From the last answer; None if the host does not report it."""
