"""A snapshot next to the policies in a repository, as one commit has it. A work tree does not count: a pull request may have
changed it.
"""

import re

import msgspec

from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.tree_listing import Entry
from reconciler.gitops.git.tree_names import RefusedNameError, checked_root
from reconciler.gitops.snapshots.packed_documents import FILES, documents, tree_listing

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
