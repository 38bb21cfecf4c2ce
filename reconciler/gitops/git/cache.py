"""A bare repository of our own into which one ref is fetched. Everything in it can be fetched again.

SOURCE: git-fetch, git-config. `fetch.unpackLimit` of 1 keeps one pack instead of any number of loose files. Blobs larger than
`core.bigFileThreshold` are streamed, not held in memory. Also `transfer.fsckObjects` and `fetch.recurseSubmodules`.
"""

import shutil
from pathlib import Path

import msgspec

from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.git.git_command import GitError, GitTimeoutError, Printed, run_git
from reconciler.gitops.git.remote import Remote
from reconciler.gitops.git.remote_access import Access, fetch_environment, fetch_settings
from reconciler.gitops.git.remote_fault import remote_fault
from reconciler.gitops.git.tree_names import object_id

_TIP = "refs/reconciler/tip"
_MARK = "reconciler-cache"
_MOST_PACKS = 50
_BLOCK_BYTES = 512  # the unit of the limit on file sizes
FETCH_SETTINGS = (
    "fetch.unpackLimit=1",
    "transfer.unpackLimit=1",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "core.bigFileThreshold=1m",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=1",
    "protocol.version=2",
    "transfer.bundleURI=false",
    "fetch.bundleURI=",
)


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one fetch. `depth` commits are fetched; `most_depth` if the last good one is not among them."""

    depth: int = 50
    most_depth: int = 2000
    pack_bytes: int = 256 << 20
    timeout_seconds: float = 60.0


class GitCache:
    """`directory` is created if it does not exist; one with other content is refused. Only one user at a time."""

    def __init__(self, directory: Path, remote: Remote, access: Access, bounds: Bounds, executable: str = "git") -> None:
        self.directory = directory.absolute()
        self._remote = remote
        self._access = access
        self._bounds = bounds
        self._executable = executable

    def fetch(self, ref: str) -> str:
        """Fetch a full ref name or a whole commit id; returns the id of its commit. Raises `SourceError`."""
        self._prepare()
        return self._fetched(ref, self._bounds.depth)

    def fetch_both(self, first: str, second: str, *, deep: bool = False) -> tuple[str, str]:
        """Fetch two full ref names at once; returns the ids of their commits. `deep`: as much history as is ever fetched. Raises
        `SourceError`."""
        self._prepare()
        depth = self._bounds.most_depth if deep else self._bounds.depth
        places = (f"{_TIP}-1", f"{_TIP}-2")
        self._fetch(
            [f"+{ref}:{place}" for ref, place in zip((first, second), places, strict=True)], depth, f"{first} or {second}"
        )
        return self._id(places[0], first), self._id(places[1], second)

    def descends(self, tip: str, ancestor: str, ref: str) -> bool:
        """Whether `ancestor` is in the history of `tip`. Fetches more history once if the local part does not show it.

        Raises `SourceError` if the history cannot be fetched. If it ends without `ancestor`, or is longer than `most_depth`, the
        branch counts as rewritten.
        """
        if tip == ancestor or self._is_ancestor(ancestor, tip):
            return True
        if not (self.directory / "shallow").exists():
            return False
        self._fetched(ref, self._bounds.most_depth)
        return self._is_ancestor(ancestor, tip)

    def _prepare(self) -> None:
        if self.directory.is_symlink() or (self.directory.exists() and not self._ours()):
            raise failed(
                FaultCode.DAMAGED,
                f"{self.directory} is not a cache of this program, so it stays untouched",
                "name an empty or new directory with --git-cache",
            )
        if self.directory.exists() and self._fresh():
            return
        try:
            if self.directory.exists():
                shutil.rmtree(self.directory)
            self.directory.mkdir(parents=True, mode=0o700)
            (self.directory / _MARK).write_text(f"{self._remote.url}\n", encoding="utf-8")
        except OSError as error:
            raise failed(FaultCode.DAMAGED, f"cannot write the cache {self.directory}: {error.strerror or error}") from None
        self._git("init", "--quiet", "--bare", "--template=")

    def _ours(self) -> bool:
        return (self.directory / _MARK).is_file() or not any(self.directory.iterdir())

    def _fresh(self) -> bool:
        """Whether it may still be used: same address, complete, and not grown by many small fetches."""
        mark, packs = self.directory / _MARK, self.directory / "objects" / "pack"
        if not mark.is_file() or mark.read_text(encoding="utf-8") != f"{self._remote.url}\n":
            return False
        if not (self.directory / "HEAD").is_file() or not packs.is_dir():
            return False
        sizes = [pack.stat().st_size for pack in packs.iterdir() if pack.suffix == ".pack"]
        leftover = any(pack.name.startswith("tmp_") for pack in packs.iterdir())
        return len(sizes) <= _MOST_PACKS and sum(sizes) <= self._bounds.pack_bytes and not leftover

    def _fetched(self, ref: str, depth: int) -> str:
        self._fetch([f"+{ref}:{_TIP}"], depth, ref)
        return self._id(_TIP, ref)

    def _fetch(self, refspecs: list[str], depth: int, named: str) -> None:
        printed = self._remotely(
            "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance",
            "--update-shallow", "--force", f"--depth={depth}", "--end-of-options", self._remote.url, *refspecs,
        )  # fmt: skip
        if printed.code:
            raise self._why(printed, named)

    def _id(self, place: str, ref: str) -> str:
        shown = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{place}^{{commit}}")
        commit = object_id(shown.out.decode("ascii", "replace").strip())
        if commit is None:
            raise failed(FaultCode.REF_NOT_FOUND, f"{ref} is not a commit")
        return commit

    def _is_ancestor(self, ancestor: str, tip: str) -> bool:
        return self._git("merge-base", "--is-ancestor", ancestor, tip).code == 0

    def _why(self, printed: Printed, ref: str) -> SourceError:
        """The fault behind git's own words."""
        if self._at_limit():
            limit = self._bounds.pack_bytes >> 20
            return failed(
                FaultCode.TOO_LARGE, f"the fetch brought more than {limit} MiB and was stopped",
                "keep policies in their own repository, or raise --git-max-mib",
            )  # fmt: skip
        return remote_fault(printed.err, self._remote.url, ref)

    def _at_limit(self) -> bool:
        """Whether the kernel stopped the writer of a pack. git itself only reports a bad answer."""
        most = self._bounds.pack_bytes // _BLOCK_BYTES * _BLOCK_BYTES
        packs = self.directory / "objects" / "pack"
        return any(pack.stat().st_size >= most for pack in packs.glob("tmp_*"))

    def _git(self, *arguments: str) -> Printed:
        """Run a command that asks nobody for input."""
        try:
            return run_git(self.directory, arguments, executable=self._executable)
        except GitError as error:
            raise failed(FaultCode.DAMAGED, str(error)) from None

    def _remotely(self, *arguments: str) -> Printed:
        try:
            return run_git(
                self.directory,
                arguments,
                executable=self._executable,
                timeout_seconds=self._bounds.timeout_seconds,
                settings=(*FETCH_SETTINGS, *fetch_settings(self._remote, self._access)),
                environment=fetch_environment(self._remote, self._access),
                most_file_bytes=self._bounds.pack_bytes,
            )
        except GitTimeoutError:
            limit = self._bounds.timeout_seconds
            raise failed(FaultCode.TIMED_OUT, f"{self._remote.url} did not answer within {limit:g} s") from None
        except GitError as error:
            raise failed(FaultCode.DAMAGED, str(error)) from None
