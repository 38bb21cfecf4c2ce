"""Approvals in the newest commits of a branch.

They count only in a commit that an approver has signed. SOURCE: `git log -z --format=%H%n%B` prints a commit id and the message
as it was written. A zero byte separates commits.
"""

from pathlib import Path

import msgspec

from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.git.git_command import GitError, run_git
from reconciler.gitops.git.signature import Signers, verified
from reconciler.gitops.git.signer_keys import key_files
from reconciler.plan.approvals.group_approvals import GROUP_TRAILER, read_group_approvals
from reconciler.policy.pace import GroupApproval

NEWEST = 200
"""The most commits that are read; the fetched history may be shorter."""


class Approvals(msgspec.Struct, frozen=True, kw_only=True):
    """The approvals that count, sorted, and a sentence for each commit or trailer that does not."""

    counted: tuple[GroupApproval, ...] = ()
    refused: tuple[str, ...] = ()


class _Judged(msgspec.Struct, frozen=True):
    """One commit, as it was judged by the keys of a digest, at the time at which it was first seen."""

    keys: bytes
    seen_seconds: int
    approvals: Approvals


class CommitApprovals:
    """Reads one repository. A signature is checked once while the operator's keys stay the same. It is judged by the keys at the
    time when its commit is first seen here."""

    def __init__(self, git_dir: Path, signers: Signers, executable: str = "git") -> None:
        self._git_dir = git_dir
        self._signers = signers
        self._executable = executable
        self._known: dict[str, _Judged] = {}

    def at(self, tip: str, now_seconds: int) -> Approvals:
        """What the history of a commit (a whole id) approves; `now_seconds` is Unix time. Raises `SourceError` if it cannot be
        read. Without readable keys, nothing counts."""
        try:
            keys = key_files(self._signers.allowed_signers_file, self._signers.gpg_keys_file).digest
        except SourceError:
            keys = b""
        arguments = [
            "log", "-z", f"--max-count={NEWEST}", "--no-show-signature", "--no-color", "--no-mailmap", "--format=%H%n%B",
            "--end-of-options", tip,
        ]  # fmt: skip
        try:
            printed = run_git(self._git_dir, arguments, executable=self._executable)
        except GitError as error:
            raise failed(FaultCode.DAMAGED, f"cannot read the approvals: {error}", revision=tip) from None
        if printed.code:
            raise failed(FaultCode.DAMAGED, "cannot read the approvals: git gives no answer", revision=tip)
        by_commit: dict[str, _Judged] = {}
        for entry in printed.out.decode("utf-8", "replace").split("\0"):
            commit, _, message = entry.partition("\n")
            if GROUP_TRAILER.lower() in message.lower():
                known = self._known.get(commit)
                seen_seconds = known.seen_seconds if known is not None else now_seconds
                if known is None or known.keys != keys:
                    known = _Judged(keys, seen_seconds, self._of(commit, message, seen_seconds))
                by_commit[commit] = known
        self._known = by_commit
        counted = {one for each in by_commit.values() for one in each.approvals.counted}
        refused = tuple(sentence for each in by_commit.values() for sentence in each.approvals.refused)
        return Approvals(counted=tuple(sorted(counted)), refused=refused)

    def _of(self, commit: str, message: str, seen_seconds: int) -> Approvals:
        counted, problems = read_group_approvals(message)
        refused = tuple(f"commit {commit[:12]} approves nothing by {problem}" for problem in problems)
        if not counted:
            return Approvals(refused=refused)
        try:
            verified(self._git_dir, commit, self._signers, seen_seconds, self._executable)
        except SourceError as error:
            return Approvals(refused=(*refused, f"the approval of commit {commit[:12]} is invalid: {error.fault.sentence}"))
        return Approvals(counted=counted, refused=refused)
