"""The two policies of a preview, from revisions of a repository or from directories."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.policy_files import FoundFiles, read_policy_tree
from reconciler.cli.outputs.failure import InputError
from reconciler.gitops.git.tree_refusal import refusals
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import PolicySet
from reconciler.policy.neighbours import InForce
from reconciler.policy.problems.findings import Problem, Severity
from reconciler.policy.tree import PolicyTree, read_tree
from reconciler.rendering.plain import plain

if TYPE_CHECKING:
    from reconciler.gitops.git.repository import PolicyFiles, Repository

DEFAULT_PATH = "policies"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One side as the user named it: exactly one of a revision and a directory."""

    ref: str | None
    directory: Path | None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `sets` is empty when any problem is an error, and when there is no policy; `files` counts policy files.

    Paths of problems are those that a user would type; places inside `sets` are relative to the policy root. `given` are the
    files by those paths, manifests of other kinds beside the policies included; `tree` is what was read of them.
    """

    side: PreviewSide
    where: str
    sets: tuple[PolicySet, ...]
    problems: tuple[Problem, ...]
    files: int
    given: Mapping[str, bytes] = {}
    tree: PolicyTree | None = None

    @property
    def errors(self) -> int:
        """How many of the problems make it unusable."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)


def read_sides(base: Asked, head: Asked, repository: Path, path: str, now_seconds: int, *, base_tip: bool) -> tuple[Side, Side]:
    """Base and head. Raises `InputError` for what cannot be read; what the policies say wrong is in the sides."""
    if base.directory is not None and head.directory is not None:
        first = _from_directory(base.directory, now_seconds)
        return first, _from_directory(head.directory, now_seconds, first)
    # Only here, since finding a repository costs more than everything else in this module.
    try:
        from reconciler.gitops.git.repository import GitError, Repository, RepositoryError
    except ImportError:
        # GitPython looks for git when it is imported.
        raise InputError(
            "there is no git on the PATH, and revisions are read with it; directories need none: --base-dir and --head-dir"
        ) from None
    try:
        source = Repository.at(repository)
        later = None if head.ref is None else source.commit(head.ref)
        earlier = None if base.ref is None else source.commit(base.ref)
        fork = source.merge_base(earlier, later) if earlier and later and not base_tip else earlier
        first = _side(source, base, fork, path, now_seconds, None, merge_base=fork != earlier)
        return first, _side(source, head, later, path, now_seconds, first, merge_base=False)
    except (RepositoryError, GitError) as error:
        raise InputError(str(error)) from None


def _side(
    repository: "Repository", asked: Asked, commit: str | None, path: str, now_seconds: int, before: Side | None,
    *, merge_base: bool,
) -> Side:  # fmt: skip
    if asked.directory is not None:
        return _from_directory(asked.directory, now_seconds, before)
    if asked.ref is None or commit is None:
        raise ValueError("a side is a revision or a directory")
    return committed_side(repository.policy_files(commit, path), asked.ref, now_seconds, before, merge_base=merge_base)


def committed_side(found: "PolicyFiles", source: str, now_seconds: int, before: Side | None, *, merge_base: bool) -> Side:
    """What a commit holds, which the user called `source`; `before` is the other side, where this one is the change."""
    side = PreviewSide(source=plain(source), revision=found.revision, merge_base=merge_base)
    where = f"{found.root or '.'} at {plain(source)}"
    if found.problems:
        problems = refusals(found.problems, found.root, alone=found.alone)
        return Side(side=side, where=where, sets=(), problems=problems, files=0)
    above = found.root.rpartition("/")[0] if found.alone else found.root
    prefix = f"{above}/" if above else ""
    given = FoundFiles(
        files={f"{prefix}{name}": data for name, data in found.files.items()},
        unread=tuple(msgspec.structs.replace(one, path=f"{prefix}{one.path}") for one in found.unread),
    )
    return _checked(side, where, FoundFiles(files=dict(found.files), unread=found.unread), given, now_seconds, before)


def _from_directory(directory: Path, now_seconds: int, before: Side | None = None) -> Side:
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory")
    found = read_policy_tree([directory])
    given = read_policy_tree([directory], as_given=True)
    return _checked(PreviewSide(source=plain(str(directory))), str(directory), found, given, now_seconds, before)


def _checked(side: PreviewSide, where: str, found: FoundFiles, given: FoundFiles, now_seconds: int, before: Side | None) -> Side:
    """Read twice only where there is something to point at. The change is judged as the loop will, by what is in force."""
    in_force = InForce.of(before.sets, before.tree.neighbours) if before is not None and before.tree is not None else None
    tree = read_tree(
        found.files, now_seconds=now_seconds, revision=side.revision, unread=found.unread, before=in_force
    )  # fmt: skip
    problems: tuple[Problem, ...] = ()
    if tree.problems:
        names = dict(zip(_paths(found), _paths(given), strict=True))
        moved = in_force.moved(lambda path: names.get(path, path)) if in_force is not None else None
        problems = read_tree(given.files, now_seconds=now_seconds, unread=given.unread, before=moved).problems
    return Side(side=side, where=where, sets=tree.sets, problems=problems, files=tree.files, given=given.files, tree=tree)


def _paths(found: FoundFiles) -> list[str]:
    return [*found.files, *(one.path for one in found.unread)]
