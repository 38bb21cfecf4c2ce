"""Policy from a directory that somebody else maintains: git-sync's link, a mounted ConfigMap, a checkout.

SOURCE: git-sync publishes by swapping one symbolic link to a work tree that is named after its commit. The kubelet swaps `..data`
in the same way, with each file a link through it. Both are followed. A link that leads out of the directory is not.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.git.tree_bounds import MAX_FILES, MAX_TREE_BYTES
from reconciler.gitops.git.tree_listing import TreeProblem
from reconciler.gitops.git.tree_names import object_id, path_fault
from reconciler.gitops.git.tree_refusals import refusals
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.neighbours import UnreadFile, link_in_tree, too_large
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.tree import SUFFIXES

_TRIES = 5


class DirectorySource:
    """Reads a whole directory at a time. If it is swapped meanwhile, the reading starts again."""

    def __init__(self, directory: Path, path: str = "") -> None:
        """`path` is the place of the policies below `directory`, a checked relative path."""
        self._directory = directory.absolute()
        self._path = path

    @property
    def name(self) -> str:
        """The directory."""
        return str(self._directory / self._path)

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        """The tree now. Raises `SourceError`."""
        for _ in range(_TRIES):
            before = self._published()
            root = (before[0] / self._path).resolve()
            if not root.is_dir() or not root.is_relative_to(before[0]):
                raise failed(FaultCode.PATH_NOT_FOUND, f"{self.name}: no such directory", "check --path")
            try:
                files, problems, unread = _read(root, before[0])
            except OSError as error:
                if self._published() != before:
                    continue
                raise failed(FaultCode.UNREACHABLE, f"{self.name}: {error.strerror or error}") from None
            if self._published() == before:
                commit = object_id(before[0].name)
                revision = commit or content_revision(files)
                return Fetched(
                    revision=revision, root=self._path, files=files, problems=refusals(problems, self._path), unread=unread
                )
        raise failed(FaultCode.UNREACHABLE, f"{self.name} was swapped {_TRIES} times while it was read")

    def _published(self) -> tuple[Path, str]:
        """Where the links that publishers swap lead now."""
        try:
            target = self._directory.resolve(strict=True)
            data = target / self._path / "..data"
            return target, str(data.readlink()) if data.is_symlink() else ""
        except OSError as error:
            raise failed(FaultCode.UNREACHABLE, f"{self._directory}: {error.strerror or error}") from None


def content_revision(files: Mapping[str, bytes]) -> str:
    """`sha256:` over names and contents, for sources without commits."""
    digest = hashlib.sha256()
    for name in sorted(files):
        for part in (name.encode("utf-8", "surrogateescape"), files[name]):
            digest.update(b"%d:" % len(part) + part)
    return f"sha256:{digest.hexdigest()}"


def _read(root: Path, top: Path) -> tuple[dict[str, bytes], list[TreeProblem], tuple[UnreadFile, ...]]:
    files: dict[str, bytes] = {}
    problems: list[TreeProblem] = []
    unread: list[UnreadFile] = []
    total = looked = 0
    for path in _walk(root, root, top, problems, unread):
        relative = path.relative_to(root).as_posix()
        content = _content(path)
        if len(content) > MAX_FILE_BYTES:
            size = path.stat().st_size
            looked += size
            unread.append(too_large(relative, size, _pieces(path) if looked <= MAX_TREE_BYTES else None))
            continue
        files[relative] = content
        total += len(content)
        if len(files) + len(unread) > MAX_FILES or total > MAX_TREE_BYTES:
            message = f"more than {MAX_FILES} policy files or {MAX_TREE_BYTES} bytes"
            problems.append(TreeProblem(path="", code="TreeTooLarge", message=message, hint="is this a policy directory?"))
            break
    return ({} if problems else files), problems, () if problems else tuple(sorted(unread))


def _walk(directory: Path, root: Path, top: Path, problems: list[TreeProblem], unread: list[UnreadFile]) -> Iterator[Path]:
    with os.scandir(directory) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = Path(entry.path)
        relative = path.relative_to(root).as_posix()
        code, message = path_fault(relative)
        if code:
            problems.append(TreeProblem(path=relative, code=code, message=message, hint="rename it"))
        elif entry.is_symlink() and not _inside(path, top):
            unread.append(link_in_tree(relative))
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(path, root, top, problems, unread)
        elif entry.name.lower().endswith(SUFFIXES):
            if entry.is_file():
                yield path
            else:
                problems.append(TreeProblem(path=relative, code="NoFile", message="not a regular file"))


def _inside(link: Path, top: Path) -> bool:
    target = link.resolve()
    return target.is_relative_to(top) and target.is_file()


def _content(path: Path) -> bytes:
    """The file up to one byte past the limit."""
    with _opened(path) as stream:
        return stream.read(MAX_FILE_BYTES + 1)


def _pieces(path: Path) -> Iterator[bytes]:
    with _opened(path) as stream:
        while piece := stream.read(MAX_FILE_BYTES):
            yield piece


def _opened(path: Path) -> BinaryIO:
    # Without waiting for a writer: a pipe may have replaced the file meanwhile.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    stream = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return stream
