"""The open pull requests of one repository, as a host tells them."""

from typing import Protocol

import msgspec

from reconciler.gitops.pull_requests.comment import CommentHost

MOST_REQUESTS = 500


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

    def open_requests(self, branch: str) -> tuple[OpenRequest, ...]:
        """Those that go into `branch`, the oldest first; at most `MOST_REQUESTS`."""

    def comments(self, number: int) -> CommentHost:
        """The comments of one."""

    def quota(self) -> Quota | None:
        """As the last answer said; None where the host does not tell."""
