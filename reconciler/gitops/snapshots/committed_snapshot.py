"""A snapshot next to the policies in a repository, as one commit has it. A work tree does not count: a pull request may have
changed it.
"""

import re
import zlib
from collections.abc import Iterator, Sequence

import msgspec

from reconciler.cluster.snapshots.texts import most_unpacked
from reconciler.gitops.git.repository import GitError, Repository, RepositoryError, run_git
from reconciler.gitops.git.tree_listing import Entry, RefusedNameError, checked_root, parsed_listing

# The documents of a snapshot in a git tree: plain files alone, unpacked in memory within bounds, nothing followed.

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
        raise RepositoryError(f"{where} has {len(files)} files, and a snapshot may have {MOST_FILES}")
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


# Snapshots in a git tree: a directory for each cluster, named after it. Read as data, within bounds, without a checkout.

MANIFEST = "snapshot.yaml"
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked_place(name: str) -> str:
    """The name of a cluster as a directory name. Raises `RefusedNameError`."""
    if not _PLACE.fullmatch(name) or name.endswith(".lock"):
        raise RefusedNameError("is not a valid name: use letters, digits, '.', '_' and '-', at most 100")
    return name


def snapshot_files(repository: Repository, commit: str, place: str | None) -> dict[str, bytes]:
    """The documents of one cluster's snapshot at a commit, by relative path without `.gz`, unpacked.

    `place` None: the only one. Raises `RepositoryError` for what is missing, and for what is too large.
    """
    chosen = _chosen(repository, commit, place)
    entries = tree_listing(repository, chosen.object_id, deep=True)
    if not any(entry.path == MANIFEST for entry in entries):
        raise RepositoryError(f"{chosen.path} at {commit[:12]} is not a published snapshot: {MANIFEST} is missing")
    return documents(repository, entries, f"{chosen.path} at {commit[:12]}")


def published_clusters(repository: Repository, commit: str) -> tuple[str, ...]:
    """The names of all clusters with a published snapshot at a commit. Raises `RepositoryError` if there is none."""
    names = tuple(sorted(entry.path for entry in tree_listing(repository, commit, deep=False) if entry.is_tree))
    if not names:
        raise RepositoryError(f"commit {commit[:12]} has no published snapshot")
    return names


def _chosen(repository: Repository, commit: str, place: str | None) -> Entry:
    folders = [entry for entry in tree_listing(repository, commit, deep=False) if entry.is_tree]
    names = [entry.path for entry in folders]
    if place is None and len(folders) == 1:
        return folders[0]
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:10])
    if place is None:
        why = f"has several snapshots: choose one with --cluster-name ({shown})" if folders else "has no published snapshot"
        raise RepositoryError(f"commit {commit[:12]} {why}")
    chosen = next((entry for entry in folders if entry.path == place), None)
    if chosen is None:
        raise RepositoryError(f"commit {commit[:12]} has no snapshot of {place}" + (f", but of {shown}" if folders else ""))
    return chosen


_LINK = "120000"


def committed_files(repository: Repository, commit: str, path: str) -> dict[str, bytes]:
    """The documents of the directory, or the one document, at `path`, by name without `.gz`, unpacked.

    Raises `RepositoryError` for what is missing, for a symbolic link, which is not followed, and for what is too large.
    """
    place = _place(repository, commit, _root(path))
    if place is None:
        raise RepositoryError(f"cannot find {path!r} at {commit[:12]}: a snapshot is used once it is merged")
    where = f"{place.path} at {commit[:12]}"
    if place.is_tree:
        entries = tree_listing(repository, place.object_id, deep=True)
    else:
        entries = [msgspec.structs.replace(place, path=place.path.rpartition("/")[2])]
    for entry in entries:
        if entry.mode not in FILES:
            what = "a symbolic link" if entry.mode == _LINK else f"of mode {entry.mode}"
            raise RepositoryError(f"{where}: {entry.path!r} is {what} and is not followed: a snapshot is plain files")
    files = documents(repository, entries, where)
    if not files:
        raise RepositoryError(f"{where} has no .json, .yaml or .yml file")
    return files


def changes_between(repository: Repository, earlier: str, later: str, path: str) -> bool:
    """Whether the content of `path` differs between two commits, also if one of them has none."""
    root = _root(path)
    places = [_place(repository, commit, root) for commit in (earlier, later)]
    return len({None if place is None else (place.mode, place.object_id) for place in places}) > 1


def _root(path: str) -> str:
    try:
        root = checked_root(path)
    except RefusedNameError as error:
        raise RepositoryError(f"the place {path!r} {error}") from None
    if not root:
        raise RepositoryError("put the snapshot in its own directory, not at the top of the repository")
    return root


def _place(repository: Repository, commit: str, root: str) -> Entry | None:
    return next((entry for entry in tree_listing(repository, commit, root, deep=False) if entry.path == root), None)
