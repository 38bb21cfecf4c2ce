"""Snapshots in a git tree: a directory for each cluster, named after it. Read as data, within bounds, without a checkout."""

import re

from reconciler.gitops.git.ref_name import RefusedNameError
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.tree_listing import Entry
from reconciler.gitops.snapshots.tree_documents import documents, tree_listing

MANIFEST = "snapshot.yaml"
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


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
    entries = tree_listing(repository, chosen.object_id, deep=True)
    if not any(entry.path == MANIFEST for entry in entries):
        raise RepositoryError(f"{chosen.path} at {commit[:12]} is no published snapshot: there is no {MANIFEST} in it")
    return documents(repository, entries, f"{chosen.path} at {commit[:12]}")


def _chosen(repository: Repository, commit: str, place: str | None) -> Entry:
    found = [entry for entry in tree_listing(repository, commit, deep=False) if entry.is_tree]
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
