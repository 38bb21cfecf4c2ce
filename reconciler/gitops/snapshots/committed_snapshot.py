"""A snapshot that lies beside the policies in a repository, as one commit has it: never as a work tree has it, which a pull
request may have changed."""

import msgspec

from reconciler.gitops.git.ref_name import RefusedNameError, checked_root
from reconciler.gitops.git.repository import Repository, RepositoryError
from reconciler.gitops.git.tree_listing import Entry
from reconciler.gitops.snapshots.tree_documents import FILES, documents, tree_listing

_LINK = "120000"


def committed_files(repository: Repository, commit: str, path: str) -> dict[str, bytes]:
    """The documents of the directory, or the one document, at `path`, by name without `.gz`, unpacked.

    Raises `RepositoryError` for what is not there, for a symbolic link, which is not followed, and for what is too large.
    """
    place = _place(repository, commit, _root(path))
    if place is None:
        raise RepositoryError(f"there is no {path!r} at {commit[:12]}: a snapshot counts once it is merged")
    where = f"{place.path} at {commit[:12]}"
    if place.is_tree:
        entries = tree_listing(repository, place.object_id, deep=True)
    else:
        entries = [msgspec.structs.replace(place, path=place.path.rpartition("/")[2])]
    for entry in entries:
        if entry.mode not in FILES:
            what = "a symbolic link" if entry.mode == _LINK else f"of mode {entry.mode}"
            raise RepositoryError(f"{where}: {entry.path!r} is {what} and is not followed: a snapshot is plain files")
    found = documents(repository, entries, where)
    if not found:
        raise RepositoryError(f"{where} holds no .json, .yaml or .yml file")
    return found


def changes_between(repository: Repository, earlier: str, later: str, path: str) -> bool:
    """Whether what lies at `path` differs between two commits, also where one of them has nothing there."""
    root = _root(path)
    places = [_place(repository, commit, root) for commit in (earlier, later)]
    return len({None if place is None else (place.mode, place.object_id) for place in places}) > 1


def _root(path: str) -> str:
    try:
        root = checked_root(path)
    except RefusedNameError as error:
        raise RepositoryError(f"the place {path!r} {error}") from None
    if not root:
        raise RepositoryError("a snapshot lies in a directory of its own, not at the top of the repository")
    return root


def _place(repository: Repository, commit: str, root: str) -> Entry | None:
    return next((entry for entry in tree_listing(repository, commit, root, deep=False) if entry.path == root), None)
