"""Where a policy tree comes from. One kind of source at a time."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from reconciler.policy.neighbours import UnreadFile
from reconciler.policy.pace import GroupApproval
from reconciler.policy.problems.findings import Problem


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A tree as it stands at the source now.

    `revision` names it (a commit id; for sources without one `sha256:` over the files), `files` are its policy files by path
    relative to `root`, which is the place inside the source (empty: its top). `problems` make it unusable:
    submodules, what is too large together; `unread` are single files that were not read. `signer` is who signed it, empty when
    nobody was asked for. `approvals` are those that count there, `not_approved` sentences about those that do not.
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
    """Asks for the newest tree. `name` is what people read: the address and ref, without secrets."""

    @property
    def name(self) -> str:
        """For conditions, events and logs."""

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """The tree now, judged against the revision that is in force (None: none is), which was first seen at `last_seconds`
        (Unix time; 0: not known). Raises `SourceError`."""
