"""The open pull requests of one repository, as a host tells them."""

from collections.abc import Iterator
from typing import Protocol

import msgspec

from reconciler.gitops.pull_requests.comment import CommentHost

MOST_REQUESTS = 5_000
"""So many of a list are looked at: fifty pages of a hundred, sixty times an hour, stay below the rate limit of GitHub (5,000)."""
PAGE_REQUESTS = 100


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One pull or merge request. `head` is the commit as the host says, `ref` where it can be fetched from the repository that it
    goes into, also when it comes from a fork; `branch` is where it goes."""

    number: int
    head: str
    ref: str
    branch: str
    fork: bool
    labels: tuple[str, ...] = ()


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """What the host lets us ask until `reset_seconds` (Unix time)."""

    remaining: int
    limit: int
    reset_seconds: int


class RequestHost(Protocol):
    """A repository. Everything may raise `HostError`."""

    def open_requests(self, branch: str) -> Iterator[OpenRequest]:
        """Those that go into `branch`, page by page, those that moved last first: who wants to hide one must go on pushing. One
        that moves meanwhile may come twice."""

    def comments(self, number: int) -> CommentHost:
        """The comments of one."""

    def quota(self) -> Quota | None:
        """As the last answer said; None where the host does not tell."""
