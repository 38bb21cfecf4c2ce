"""Where a policy tree comes from. One kind of source at a time."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from reconciler.policy.neighbours import UnreadFile
from reconciler.policy.pace import GroupApproval
from reconciler.policy.problems.problem import Problem


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A tree as it is at the source now.

    `revision` names it: a commit id, or for sources without commits `sha256:` over the files. `files` are its policy files by
    path relative to `root`, the place inside the source (empty: its top). `problems` make it unusable: submodules, or files that
    are too large together. `unread` are single files that were not read. `signer` signed it, empty if no signature was required.
    `approvals` are those that count at this revision; `not_approved` has a sentence about each of the others.
    """

    revision: str
    root: str
    files: Mapping[str, bytes]
    problems: tuple[Problem, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    signer: str = ""
    approvals: tuple[GroupApproval, ...] = ()
    not_approved: tuple[str, ...] = ()


class Source(Protocol):
    """Asks for the newest tree. `name` is for people: the address and ref, without secrets."""

    @property
    def name(self) -> str:
        """For conditions, events and logs."""

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """The tree now, judged against the revision in force (None: none is), which was first seen at `last_seconds` (Unix time;
        0: unknown). Raises `SourceError`."""
