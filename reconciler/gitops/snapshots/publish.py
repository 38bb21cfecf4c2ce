"""A snapshot published to a branch of a remote repository: one commit without parent, one place for each cluster.

Nothing is kept here and nothing is checked out: a bare repository is created for one push and deleted. The branch has only the
newest snapshots, since old ones would make the repository grow with every push. The branch moves only from the value that was
read before (a lease), and only if we published its tip. A branch that a person made is never touched.

SOURCE: git-push, git-mktree and git-commit-tree. `--force-with-lease=<ref>:<expect>` with an empty value means that the ref must
not exist; also `--porcelain`. git-fetch `--filter`: a server that does not filter sends everything, which works too.
"""

import gzip
import tempfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from reconciler.gitops.git.cache import FETCH_SETTINGS, Bounds
from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.git.git_command import GitError, GitTimeoutError, Printed, run_git
from reconciler.gitops.git.remote import Remote, remote_ref
from reconciler.gitops.git.remote_access import Access, check_access, fetch_environment, fetch_settings
from reconciler.gitops.git.remote_fault import git_words, remote_fault
from reconciler.gitops.git.tree_listing import parsed_listing
from reconciler.gitops.git.tree_names import object_id
from reconciler.gitops.snapshots.committed_snapshot import MANIFEST, checked_place

MARK = "Reconciler-Snapshot"
_ATTEMPTS = 3
_OLD = "refs/reconciler/old"
_BLOB_MODE, _TREE_MODE = "100644", "040000"
_MOVED = ("stale info", "fetch first", "cannot lock ref", "reference already exists", "failed to update ref")
_NAME, _EMAIL = "nodegroup-reconciler", "nodegroup-reconciler@localhost"


class PublishCode(StrEnum):
    """Why a snapshot was not published. Stable."""

    NOT_OURS = "BranchNotOurs"
    MOVED = "BranchMoved"
    REFUSED = "PushRefused"


class PublishError(Exception):
    """The branch was left as it is; the sentence states why and what to do."""

    def __init__(self, code: PublishCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What was pushed: the commit, the one before it (empty: the branch is new), and the bytes that were stored."""

    ref: str
    commit: str
    before: str
    stored_bytes: int


class SnapshotBranch:
    """`branch` at `remote`. Raises `RefusedNameError` or `AccessError` for wrong configuration."""

    def __init__(
        self, remote: Remote, branch: str, access: Access, *, timeout_seconds: float = 120.0, executable: str = "git"
    ) -> None:
        check_access(remote, access)
        self._remote = remote
        self._ref = remote_ref(branch)
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._executable = executable

    def publish(self, place: str, files: Mapping[str, bytes], captured_seconds: int) -> Published:
        """Put `files` (relative path -> content) at `place`, the name of the cluster, instead of what was there.

        Places of other clusters stay. If somebody else moved the branch meanwhile, their content is kept and the push is tried
        again, three times. Raises `SourceError` for the remote, `PublishError` for the branch.
        """
        place = checked_place(place)
        with tempfile.TemporaryDirectory(prefix="reconciler-publish-") as made:
            work = _Work(Path(made) / "snapshot.git", self._remote, self._access, self._timeout_seconds, self._executable)
            work.git("init", "--quiet", "--bare", "--template=")
            packed = {name if name == MANIFEST else f"{name}.gz": _packed(name, data) for name, data in files.items()}
            tree = work.tree(packed)
            for _ in range(_ATTEMPTS):
                before = work.tip(self._ref)
                commit = work.commit(self._whole(work, before, place, tree), place, captured_seconds)
                if work.pushed(commit, self._ref, before):
                    stored = sum(len(data) for data in packed.values())
                    return Published(ref=self._ref, commit=commit, before=before, stored_bytes=stored)
        raise PublishError(
            PublishCode.MOVED,
            f"somebody else moved {self._ref} at {self._remote.url} {_ATTEMPTS} times during the write. "
            "Try again, or give each cluster its own branch",
        )

    def _whole(self, work: "_Work", before: str, place: str, tree: str) -> str:
        """The top of the tree: what is there for other clusters, and ours."""
        kept = []
        if before:
            if f"\n{MARK}: " not in work.message(before):
                raise PublishError(
                    PublishCode.NOT_OURS,
                    f"{self._ref} at {self._remote.url} has a commit that is not a published snapshot ({before[:12]}), "
                    "so it stays untouched: name a branch that nobody else uses",
                )
            kept = [entry for entry in work.entries(before) if entry[2] != place]
        return work.made_tree([*kept, (_TREE_MODE, tree, place)])


class _Work:
    """The bare repository of one push."""

    def __init__(self, git_dir: Path, remote: Remote, access: Access, timeout_seconds: float, executable: str) -> None:
        self._git_dir = git_dir
        self._remote = remote
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._executable = executable
        git_dir.mkdir()

    def tip(self, ref: str) -> str:
        """The commit at the remote's ref, with at least its trees; empty if there is none. Raises `SourceError`."""
        printed = self._remotely(
            "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
            "--update-shallow", "--force", "--depth=1", "--filter=blob:none", "--end-of-options", self._remote.url,
            f"+{ref}:{_OLD}",
        )  # fmt: skip
        if printed.code:
            fault = remote_fault(printed.err, self._remote.url, ref)
            if fault.fault.code is FaultCode.REF_NOT_FOUND:
                return ""
            raise fault
        # A fetch without contents makes git treat the remote as one that supplies them later, and ask it while it packs.
        run_git(self._git_dir, ["config", "--remove-section", f"remote.{self._remote.url}"], executable=self._executable)
        commit = object_id(self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{_OLD}^{{commit}}"))
        if commit is None:
            raise failed(FaultCode.DAMAGED, f"{ref} at {self._remote.url} is not a commit")
        return commit

    def message(self, commit: str) -> str:
        """Its message."""
        return self.git("cat-file", "commit", commit).partition("\n\n")[2]

    def entries(self, commit: str) -> list[tuple[str, str, str]]:
        """(mode, id, name) of the top of its tree."""
        listed = self.git("ls-tree", "-z", "--full-tree", commit)
        return [(entry.mode, entry.object_id, entry.path) for entry in parsed_listing(listed.encode("utf-8", "surrogateescape"))]

    def tree(self, files: Mapping[str, bytes]) -> str:
        """Store files by relative path; returns the id of their tree."""
        here: list[tuple[str, str, str]] = []
        below: dict[str, dict[str, bytes]] = {}
        for path, data in files.items():
            top, _, rest = path.partition("/")
            if rest:
                below.setdefault(top, {})[rest] = data
            else:
                here.append((_BLOB_MODE, self.git("hash-object", "-w", "--stdin", given=data), top))
        here += [(_TREE_MODE, self.tree(inner), top) for top, inner in below.items()]
        return self.made_tree(here)

    def made_tree(self, entries: Sequence[tuple[str, str, str]]) -> str:
        """Store a tree; returns its id. Objects of other clusters need not be here."""
        kind = {_BLOB_MODE: "blob", _TREE_MODE: "tree"}
        lines = (f"{mode} {kind.get(mode, 'blob')} {object_name}\t{name}\0" for mode, object_name, name in entries)
        return self.git("mktree", "-z", "--missing", given="".join(lines).encode("utf-8", "surrogateescape"))

    def commit(self, tree: str, place: str, captured_seconds: int) -> str:
        """Store a commit without parent; returns its id. The same snapshot gives the same id."""
        when = f"{captured_seconds} +0000"
        environment = {
            "GIT_AUTHOR_NAME": _NAME, "GIT_AUTHOR_EMAIL": _EMAIL, "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": _NAME, "GIT_COMMITTER_EMAIL": _EMAIL, "GIT_COMMITTER_DATE": when,
        }  # fmt: skip
        message = f"Snapshot of {place}\n\n{MARK}: {place}\n"
        return self.git("commit-tree", tree, given=message.encode(), environment=environment)

    def pushed(self, commit: str, ref: str, before: str) -> bool:
        """Move the remote's ref; False if it was no longer at `before`. Raises `SourceError` or `PublishError`."""
        printed = self._remotely(
            "push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-progress",
            f"--force-with-lease={ref}:{before}", "--end-of-options", self._remote.url, f"{commit}:{ref}",
        )  # fmt: skip
        if not printed.code:
            return True
        refused = next((line for line in printed.out.decode("utf-8", "replace").splitlines() if line.startswith("!")), "")
        if not refused:
            raise remote_fault(printed.err, self._remote.url, ref, "written")
        if any(mark in refused for mark in _MOVED):
            return False
        words = git_words(f"{refused.rpartition(chr(9))[2]} {printed.err}")
        raise PublishError(
            PublishCode.REFUSED,
            f"{self._remote.url} refuses {ref} (git says: {words}). The branch must allow forced pushes of this user",
        )

    def git(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> str:
        """The output of a local command. Raises `SourceError`."""
        try:
            printed = run_git(self._git_dir, arguments, given=given, executable=self._executable, environment=environment)
        except GitError as error:
            raise failed(FaultCode.DAMAGED, str(error)) from None
        if printed.code:
            raise failed(FaultCode.DAMAGED, f"git {arguments[0]} failed (git says: {git_words(printed.err)})")
        return printed.out.decode("utf-8", "surrogateescape").strip("\n")

    def _remotely(self, *arguments: str) -> Printed:
        try:
            return run_git(
                self._git_dir,
                arguments,
                executable=self._executable,
                timeout_seconds=self._timeout_seconds,
                settings=(*FETCH_SETTINGS, *fetch_settings(self._remote, self._access)),
                environment=fetch_environment(self._remote, self._access),
                most_file_bytes=Bounds().pack_bytes,
            )
        except GitTimeoutError:
            raise failed(FaultCode.TIMED_OUT, f"{self._remote.url} did not answer within {self._timeout_seconds:g} s") from None
        except GitError as error:
            raise failed(FaultCode.DAMAGED, str(error)) from None


def _packed(name: str, data: bytes) -> bytes:
    # Without a time in its header, the same content gives the same blob, which is then not sent again.
    return data if name == MANIFEST else gzip.compress(data, compresslevel=6, mtime=0)


__all__ = ["PublishCode", "PublishError", "Published", "SnapshotBranch", "SourceError"]
