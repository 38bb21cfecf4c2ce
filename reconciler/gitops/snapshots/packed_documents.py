"""The documents of a snapshot in a git tree: plain files, unpacked in memory within bounds. Links are not followed."""

import zlib
from collections.abc import Iterator, Sequence

from reconciler.cluster.snapshots.unpacking_bound import most_unpacked
from reconciler.gitops.git.git_command import GitError, run_git
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.tree_listing import Entry, parsed_listing

SUFFIXES = (".json", ".yaml", ".yml")
FILES = ("100644", "100755")
MOST_FILES = 2_000
MOST_PACKED_BYTES = 256 << 20
MOST_BYTES = 2 << 30
_GZIPPED = ".gz"
_GZIP_WINDOW = 31  # for zlib: expect a gzip header


def documents(repository: Repository, entries: Sequence[Entry], where: str) -> dict[str, bytes]:
    """The contents of all documents, by path without `.gz`. `where` names the snapshot in messages.

    Raises `RepositoryError` for what is missing, and for what is too large.
    """
    files = [entry for entry in entries if entry.mode in FILES and entry.path.removesuffix(_GZIPPED).endswith(SUFFIXES)]
    if len(files) > MOST_FILES:
        raise RepositoryError(f"{where}: {len(files)} files, and a snapshot may have {MOST_FILES}")
    return dict(_contents(repository, files))


def tree_listing(repository: Repository, tree: str, path: str = "", *, deep: bool) -> list[Entry]:
    """The entries of a tree, or only those at `path` in it. Raises `RepositoryError`."""
    arguments = ["ls-tree", "-z", "--full-tree", *(["-r"] if deep else []), tree, *(["--", path] if path else [])]
    try:
        printed = run_git(repository.git_dir, arguments)
    except GitError as error:
        raise RepositoryError(str(error)) from None
    if printed.code:
        raise RepositoryError(f"cannot read the tree {tree[:12]} here: fetch the branch of the snapshots first")
    return list(parsed_listing(printed.out))


def _contents(repository: Repository, entries: list[Entry]) -> Iterator[tuple[str, bytes]]:
    packed = unpacked = 0
    for entry in entries:
        try:
            printed = run_git(
                repository.git_dir, ["cat-file", "blob", entry.object_id], most_bytes=MOST_PACKED_BYTES - packed
            )  # fmt: skip
        except GitError as error:
            raise RepositoryError(f"{entry.path!r}: {error}") from None
        if printed.code:
            raise RepositoryError(f"{entry.path!r}: its content is damaged or missing in this clone")
        packed += len(printed.out)
        data = printed.out
        if entry.path.endswith(_GZIPPED):
            data = _unpacked(entry.path, data, most_unpacked(len(data), MOST_BYTES - unpacked))
        unpacked += len(data)
        if unpacked > MOST_BYTES:
            raise RepositoryError(f"{entry.path!r}: the snapshot exceeds the size limit")
        yield entry.path.removesuffix(_GZIPPED), data


def _unpacked(path: str, data: bytes, most_bytes: int) -> bytes:
    # The unpacked size is known only while unpacking. For zlib, a bound of zero means none.
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = unpacker.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise RepositoryError(f"{path!r}: damaged gzip data ({error})") from None
    if len(content) > most_bytes:
        raise RepositoryError(f"{path!r}: its unpacked content exceeds the size limit")
    if not unpacker.eof:
        raise RepositoryError(f"{path!r}: cut-off gzip data")
    return content
