"""Policy from a remote git repository: one ref, one place in its tree."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from reconciler.gitops.git.cache import Bounds, GitCache
from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.git.git_command import GitError
from reconciler.gitops.git.remote import Remote, remote_ref
from reconciler.gitops.git.remote_access import Access, check_access
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.signature import Signers, verified
from reconciler.gitops.git.tree_names import checked_root, object_id
from reconciler.gitops.git.tree_refusals import refusals
from reconciler.gitops.sources.commit_approvals import Approvals, CommitApprovals
from reconciler.gitops.sources.source import Fetched

_BOUNDS = Bounds()


class GitAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What is followed: `ref` is a branch, `refs/…` or a whole commit id; `path` is the place of the policies in the tree.
    `signers` may sign what comes into force (None: anybody). `approvers` may sign approvals (None: nobody)."""

    remote: Remote
    ref: str
    path: str = ""
    access: Access = Access()
    signers: Signers | None = None
    approvers: Signers | None = None
    allow_rewind: bool = False


class GitSource:
    """Fetches into a bare cache and reads trees there at a commit: nothing is checked out.

    Keys count as they were when a commit was first seen. For the revision in force, that time is known across restarts. For
    others, it is known only within the process, so a restart can only be stricter.
    """

    def __init__(
        self, address: GitAddress, cache_directory: Path, bounds: Bounds = _BOUNDS, executable: str = "git",
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        """`clock` returns Unix time. Raises `RefusedNameError` or `AccessError` for wrong configuration."""
        check_access(address.remote, address.access)
        self._address = address
        self._ref = remote_ref(address.ref)
        self._root = checked_root(address.path)
        self._cache = GitCache(cache_directory, address.remote, address.access, bounds, executable)
        self._executable = executable
        self._clock = clock
        self._tip_seen: tuple[str, int] = ("", 0)
        self._approvals = (
            CommitApprovals(self._cache.directory, address.approvers, executable) if address.approvers is not None else None
        )

    @property
    def name(self) -> str:
        """`https://host/path main:clusters/prod`."""
        return f"{self._address.remote.url} {self._address.ref}" + (f":{self._root}" if self._root else "")

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """The tree at the tip of the ref. Raises `SourceError`.

        The order of the checks is the order of trust: history, signature, content. If a tip does not descend from the revision in
        force, the history was rewritten. Such a tip is refused, unless that is allowed. It stays refused until the branch is
        restored or somebody deliberately gives up the policy in force.
        """
        tip = self._cache.fetch(self._ref)
        known = object_id(last_revision or "")
        if known and not self._address.allow_rewind and not self._cache.descends(tip, known, self._ref):
            raise failed(
                FaultCode.NOT_FAST_FORWARD,
                f"{self._address.ref} went to {tip[:12]}, which does not descend from {known[:12]}, the revision in force",
                "restore the branch, or allow it once with --allow-rewind",
                tip,
            )
        signer = ""
        if self._address.signers is not None:
            seen_seconds = self._seen(tip, known, last_seconds)
            signer = verified(self._cache.directory, tip, self._address.signers, seen_seconds, self._executable).who
        try:
            policy_files = Repository(self._cache.directory, self._executable).policy_files(tip, self._root)
        except (RepositoryError, GitError) as error:
            raise failed(FaultCode.DAMAGED, str(error), revision=tip) from None
        if not policy_files.exists:
            raise failed(FaultCode.PATH_NOT_FOUND, f"{self._root} is not in commit {tip[:12]}", "check --path", tip)
        above = self._root.rpartition("/")[0] if policy_files.alone else self._root
        problems = refusals(policy_files.problems, self._root, alone=policy_files.alone)
        approvals = self._approvals.at(tip, int(self._clock())) if self._approvals is not None else Approvals()
        return Fetched(
            revision=tip, root=above, files=policy_files.files, problems=problems, unread=policy_files.unread, signer=signer,
            approvals=approvals.counted, not_approved=approvals.refused,
        )  # fmt: skip

    def _seen(self, tip: str, known: str | None, known_seconds: int) -> int:
        """When a tip was first seen here, if known; else now."""
        if tip != self._tip_seen[0]:
            self._tip_seen = (tip, known_seconds if tip == known and known_seconds > 0 else int(self._clock()))
        return self._tip_seen[1]
