"""Snapshots in a git tree: a directory for each cluster, named after it. Read as data, within bounds, without a checkout."""

import re
import zlib
from collections.abc import Iterator

from reconciler.gitops.git.git_process import GitError, run_git
from reconciler.gitops.git.ref_name import RefusedNameError
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.tree_listing import Entry, parsed_listing

MANIFEST = "snapshot.yaml"
SUFFIXES = (".json", ".yaml", ".yml")
MOST_FILES = 2_000
MOST_PACKED_BYTES = 256 << 20
MOST_BYTES = 2 << 30
_GZIPPED = ".gz"
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FILES = ("100644", "100755")
_GZIP_WINDOW = 31  # of zlib: a gzip head is expected


def checked_place(name: str) -> str:
    """The name of a cluster as a directory of its own. Raises `RefusedNameError`."""
    if not _PLACE.fullmatch(name) or name.endswith(".lock"):
        raise RefusedNameError("is no plain name: letters, digits, '.', '_' and '-', at most 100")
    return name


def snapshot_files(repository: Repository, commit: str, place: str | None) -> dict[str, bytes]:
    """The documents of one cluster's snapshot at a commit, by relative path without `.gz`, unpacked.

    `place` None: the only one there is. Raises `RepositoryError` for what is not there, and for what is too large.
    """
    chosen = _chosen(repository, commit, place)
    entries = [
        entry
        for entry in _listing(repository, chosen.object_id, deep=True)
        if entry.mode in _FILES and entry.path.removesuffix(_GZIPPED).endswith(SUFFIXES)
    ]
    if not any(entry.path == MANIFEST for entry in entries):
        raise RepositoryError(f"{chosen.path} at {commit[:12]} is no published snapshot: there is no {MANIFEST} in it")
    if len(entries) > MOST_FILES:
        raise RepositoryError(f"{chosen.path} at {commit[:12]} holds {len(entries)} files; a snapshot has at most {MOST_FILES}")
    return dict(_contents(repository, entries))


def _chosen(repository: Repository, commit: str, place: str | None) -> Entry:
    found = [entry for entry in _listing(repository, commit, deep=False) if entry.is_tree]
    names = [entry.path for entry in found]
    if place is None and len(found) == 1:
        return found[0]
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:10])
    if place is None:
        why = f"holds several snapshots: choose one with --cluster-name ({shown})" if found else "holds no published snapshot"
        raise RepositoryError(f"commit {commit[:12]} {why}")
    chosen = next((entry for entry in found if entry.path == place), None)
    if chosen is None:
        raise RepositoryError(f"commit {commit[:12]} holds no snapshot of {place}" + (f", but of {shown}" if found else ""))
    return chosen


def _listing(repository: Repository, tree: str, *, deep: bool) -> list[Entry]:
    arguments = ["ls-tree", "-z", "--full-tree", *(["-r"] if deep else []), tree]
    try:
        printed = run_git(repository.git_dir, arguments)
    except GitError as error:
        raise RepositoryError(str(error)) from None
    if printed.code:
        raise RepositoryError(f"the tree {tree[:12]} cannot be read here: fetch the branch of the snapshots first")
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
            raise RepositoryError(f"{entry.path!r}: its content is damaged or not in this clone")
        packed += len(printed.out)
        data = printed.out
        if entry.path.endswith(_GZIPPED):
            data = _unpacked(entry.path, data, MOST_BYTES - unpacked)
        unpacked += len(data)
        yield entry.path.removesuffix(_GZIPPED), data


def _unpacked(path: str, data: bytes, most_bytes: int) -> bytes:
    # What it unpacks to is known only while it is unpacked.
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = unpacker.decompress(data, most_bytes)
    except zlib.error as error:
        raise RepositoryError(f"{path!r}: damaged gzip data ({error})") from None
    if unpacker.unconsumed_tail:
        raise RepositoryError(f"{path!r}: unpacks to more than is read")
    if not unpacker.eof:
        raise RepositoryError(f"{path!r}: cut-off gzip data")
    return content
