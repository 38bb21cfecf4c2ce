"""The two policies of a preview, from revisions of a repository or from directories."""

import hashlib
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.policy_files import FoundFiles, read_policy_tree
from reconciler.cli.inputs.policy_test_files import FilesBelow
from reconciler.cli.inputs.preview_tests import ChangeTests, read_change_tests, with_committed_files
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World, identity_of
from reconciler.gitops.git.tree_refusals import refusals
from reconciler.gitops.rendered_tree import CHART, ENDINGS, KUSTOMIZATIONS, Rendered, needs_rendering, render
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import API_GROUP, PolicySet
from reconciler.policy.neighbours import InForce
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.policy.tree import narrowed, read_tree, read_trees
from reconciler.rendering.words.plain import plain
from reconciler.values.cluster_identity import ClusterIdentity

if TYPE_CHECKING:
    from reconciler.gitops.git.repository import PolicyFiles, Repository


DEFAULT_PATH = "policies"
RENDERED = "rendered.yaml"
"""The path, below its place, of what kustomize or helm made."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One side as the user named it: exactly one of a revision and a directory."""

    ref: str | None
    directory: Path | None


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `sets` is empty when any problem is an error, and when no policy was found; `files` counts policy files.

    Paths of problems are those that a user would type; places inside `sets` are relative to the policy root. `given` are the
    files by those paths, including manifests of other kinds; `tree` is what was read of them. `elsewhere` are files of the same
    revision that differ between both and are not below the policies' place. `conflicting`: the problems are why it cannot be
    merged. `content` is the id of what a commit has there. `tests` are the policy tests next to the policies.
    `read` are the files that `tree` was read of, by paths below the policy root and by those that a user would type. `sets` of
    a tree for many clusters is empty until `in_clusters`.
    """

    side: PreviewSide
    where: str
    sets: tuple[PolicySet, ...]
    problems: tuple[Problem, ...]
    files: int
    given: Mapping[str, bytes] = {}
    elsewhere: Mapping[str, bytes] = {}
    tree: PolicyTree | None = None
    conflicting: bool = False
    content: str = ""
    tests: ChangeTests = ChangeTests()
    read: tuple[FoundFiles, FoundFiles] | None = None

    @property
    def errors(self) -> int:
        """How many of the problems make it unusable."""
        return sum(problem.severity is Severity.ERROR for problem in self.problems)


def read_sides(base: Asked, head: Asked, repository: Path, path: str, now_seconds: int, *, base_tip: bool) -> tuple[Side, Side]:
    """Base and head; of two revisions the base as it is and what merging the head into it gives, unless `base_tip`. Raises
    `InputError` for what cannot be read; what the policies say wrong is in the sides."""
    if base.directory is not None and head.directory is not None:
        first = _from_directory(base.directory, now_seconds)
        return first, _from_directory(head.directory, now_seconds, first)
    # Only here, since finding a repository costs more than everything else in this module.
    try:
        from reconciler.gitops.git.git_command import GitError
        from reconciler.gitops.git.merged import merged
        from reconciler.gitops.git.repository import Repository, RepositoryError
    except ImportError:
        # GitPython looks for git when it is imported.
        raise InputError(
            "git is not on the PATH, and revisions need it. Compare directories with --base-dir and --head-dir instead"
        ) from None
    try:
        source = Repository.at(repository)
        later = None if head.ref is None else source.commit(head.ref)
        earlier = None if base.ref is None else source.commit(base.ref)
        first = _side(source, base, earlier, path, now_seconds, None)
        if earlier is None or later is None or base_tip:
            second = _side(source, head, later, path, now_seconds, first)
            if earlier is None or later is None:
                return first, second
            return _with_the_rest(first, second, source.differing_files(earlier, later, path))
        with merged(source, earlier, later) as result:
            policy_files = result.policy_files(path)
            second = merged_side(result.problems(), policy_files, head.ref or "", now_seconds, first, made=result.made)
            if not second.conflicting:
                second = _rendered_commit(result.repository, result.tree, policy_files, second, now_seconds, first)
                second = _with_tests(second, policy_files, result.repository, result.tree)
            return _with_the_rest(first, second, result.repository.differing_files(earlier, result.tree, path))
    except (RepositoryError, GitError) as error:
        raise InputError(str(error)) from None


def _with_tests(side: Side, policy_files: "PolicyFiles", repository: "Repository", commit: str) -> Side:
    """A side of a commit or a tree with its policy tests as they are written, and with what they name there."""
    tests = read_change_tests(policy_files.files, _top(policy_files))
    return msgspec.structs.replace(side, tests=with_committed_files(tests, repository, commit))


def _top(policy_files: "PolicyFiles") -> str:
    """The directory that the paths of the files start from."""
    return posixpath.dirname(policy_files.root) if policy_files.alone else policy_files.root


def _side(repository: "Repository", asked: Asked, commit: str | None, path: str, now_seconds: int, before: Side | None) -> Side:
    if asked.directory is not None:
        return _from_directory(asked.directory, now_seconds, before)
    if asked.ref is None or commit is None:
        raise ValueError("a side is a revision or a directory")
    policy_files = repository.policy_files(commit, path)
    made = committed_side(policy_files, asked.ref, now_seconds, before)
    made = _rendered_commit(repository, commit, policy_files, made, now_seconds, before)
    return _with_tests(made, policy_files, repository, commit)


def _with_the_rest(first: Side, second: Side, elsewhere: tuple[dict[str, bytes], dict[str, bytes]]) -> tuple[Side, Side]:
    """Both sides with the files that differ between them and are not below the policies' place."""
    one, two = (msgspec.structs.replace(side, elsewhere=files) for side, files in zip((first, second), elsewhere, strict=True))
    return one, two


def _rendered_commit(
    repository: "Repository", tree: str, policy_files: "PolicyFiles", made: Side, now_seconds: int, before: Side | None
) -> Side:
    """A side of a commit or a tree as kustomize or helm make it; as it is written where there is nothing to render."""
    if policy_files.problems or policy_files.alone:
        return made

    def side(files: Mapping[str, bytes]) -> Side:
        changed = msgspec.structs.replace(policy_files, files=files)
        text = b"".join(files.values())
        rendered = committed_side(changed, made.side.source, now_seconds, before, merged=made.side.merged)
        return msgspec.structs.replace(rendered, content=f"rendered:{hashlib.sha256(text).hexdigest()}")

    return _as_rendered(
        made, policy_files.files, (policy_files.root, policy_files.root), lambda: repository.tree_files(tree, ENDINGS), side
    )


def merged_side(
    problems: tuple[Problem, ...], policy_files: "PolicyFiles", source: str, now_seconds: int, before: Side, *, made: bool
) -> Side:
    """The change that the user called `source` as it is merged; `problems` are why it cannot be."""
    if not problems:
        return committed_side(policy_files, source, now_seconds, before, merged=made)
    side = PreviewSide(source=plain(source), revision=policy_files.revision)
    return Side(
        side=side, where=plain(source), sets=(), problems=problems, files=0, conflicting=True, content=policy_files.content
    )  # fmt: skip


def committed_side(
    policy_files: "PolicyFiles", source: str, now_seconds: int, before: Side | None, *, merged: bool = False
) -> Side:
    """What is in a commit, which the user called `source`. If this side is the change, `before` is the other side. `merged`: this
    is the result of merging it."""
    side = PreviewSide(source=plain(source), revision=policy_files.revision, merged=merged)
    where = f"{policy_files.root or '.'} at {plain(source)}"
    if policy_files.problems:
        problems = refusals(policy_files.problems, policy_files.root, alone=policy_files.alone)
        return Side(side=side, where=where, sets=(), problems=problems, files=0, content=policy_files.content)
    prefix = f"{above}/" if (above := _top(policy_files)) else ""
    given = FoundFiles(
        files={f"{prefix}{name}": data for name, data in policy_files.files.items()},
        unread=tuple(msgspec.structs.replace(one, path=f"{prefix}{one.path}") for one in policy_files.unread),
    )
    files = FoundFiles(files=dict(policy_files.files), unread=policy_files.unread)
    return msgspec.structs.replace(_checked(side, where, files, given, now_seconds, before), content=policy_files.content)


def _from_directory(directory: Path, now_seconds: int, before: Side | None = None) -> Side:
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory")
    policy_files = read_policy_tree([directory])
    given = read_policy_tree([directory], as_given=True)
    whole = directory.resolve()
    top = next((place for place in (whole, *whole.parents) if (place / ".git").exists()), whole)

    def side(files: Mapping[str, bytes]) -> Side:
        names = (policy_files, given) if files is policy_files.files else (FoundFiles(files=dict(files)), FoundFiles(files={
            f"{directory.as_posix()}/{name}": body for name, body in files.items()
        }))  # fmt: skip
        return _checked(PreviewSide(source=plain(str(directory))), str(directory), *names, now_seconds, before)

    place = whole.relative_to(top).as_posix()
    tests = _tests_below(policy_files.files, whole, top, before)
    tree = partial(_tree_below, top)
    places = (directory.as_posix(), "" if place == "." else place)
    return msgspec.structs.replace(_as_rendered(side(policy_files.files), policy_files.files, places, tree, side), tests=tests)


def _tests_below(files: Mapping[str, bytes], whole: Path, top: Path, before: Side | None) -> ChangeTests:
    """The policy tests of a directory. What they name is below the working directory or its repository. A directory that is
    elsewhere stands for the policies of this one: for those of the other side, if that is here."""
    here = Path.cwd().resolve()
    if whole.is_relative_to(here) or top != whole:
        root = here if whole.is_relative_to(here) else top
        tests = read_change_tests(files, whole.relative_to(root).as_posix())
        return msgspec.structs.replace(tests, files=FilesBelow(root))
    place = DEFAULT_PATH if before is None else before.tests.policies or DEFAULT_PATH
    return msgspec.structs.replace(read_change_tests(files, place), files=FilesBelow(here, {place: whole}))


def _tree_below(top: Path) -> Mapping[str, bytes]:
    return read_policy_tree([top], endings=ENDINGS).files


def _as_rendered(
    made: Side, files: Mapping[str, bytes], places: tuple[str, str], tree: Callable[[], Mapping[str, bytes]],
    side: Callable[[Mapping[str, bytes]], Side],
) -> Side:  # fmt: skip
    """What kustomize or helm make of a side that has no policy as it is written; else that it is not rendered. `files` are by
    paths below its place, which is called the first of `places`, and is the second one in `tree`.

    A policy that can be read as it is written is judged so, as the loop does that follows the same place.
    """
    if not needs_rendering(files, ""):
        return made
    shown, place = places
    if any(one.policy for one in made.sets):
        rendered = Rendered(place=shown, source="", command=f"kustomize build {shown}", why="it has a policy as it is written")
    else:
        whole = tree()
        large = Rendered(place=place, source="", command=f"kustomize build {place}", why="the tree is too large")
        rendered = render(whole, place) if whole else large
        if rendered.text is not None:
            return side({RENDERED: rendered.text})
        rendered = rendered.called(shown or ".")
    name = next((one for one in (*KUSTOMIZATIONS, CHART) if one in files), "")
    problem = rendered.problem(f"{shown}/{name}" if shown else name)
    if any(API_GROUP.encode() in body for body in files.values()):
        return msgspec.structs.replace(made, problems=(*made.problems, problem))
    # What stands there is all for kustomize or helm: what a policy would have to be is nothing to tell of it.
    message = f"no policy in the files as they are, and they were not rendered: {rendered.why}"
    return msgspec.structs.replace(made, problems=(msgspec.structs.replace(problem, message=message, severity=Severity.ERROR),))


def _checked(
    side: PreviewSide, where: str, policy_files: FoundFiles, given: FoundFiles, now_seconds: int, before: Side | None
) -> Side:
    """Read twice only where there is something to point at. The change is judged as the loop will, by what is in force."""
    in_force = InForce.of(before.sets, before.tree.neighbours) if before is not None and before.tree is not None else None
    tree = read_tree(
        policy_files.files, now_seconds=now_seconds, revision=side.revision, unread=policy_files.unread, before=in_force
    )  # fmt: skip
    problems: tuple[Problem, ...] = ()
    if tree.problems:
        names = dict(zip(_paths(policy_files), _paths(given), strict=True))
        moved = in_force.moved(lambda path: names.get(path, path)) if in_force is not None else None
        problems = read_tree(given.files, now_seconds=now_seconds, unread=given.unread, before=moved).problems
    return Side(
        side=side, where=where, sets=tree.sets, problems=problems, files=tree.files, given=given.files, tree=tree,
        read=(policy_files, given),
    )  # fmt: skip


def in_clusters(side: Side, clusters: Sequence[ClusterIdentity], now_seconds: int) -> Iterator[Side]:
    """The side as each of the clusters has it. Where its tree names no clusters, its policies count in all. Texts are read
    once."""
    if side.read is None or side.tree is None or not side.tree.for_many:
        for cluster in clusters:
            yield msgspec.structs.replace(side, sets=narrowed(side.sets, cluster))
        return
    policy_files, given = side.read
    trees = read_trees(
        policy_files.files, clusters, now_seconds=now_seconds, revision=side.side.revision, unread=policy_files.unread
    )  # fmt: skip
    for cluster, tree in zip(clusters, trees, strict=True):
        problems: tuple[Problem, ...] = ()
        if tree.problems:
            problems = read_tree(given.files, now_seconds=now_seconds, unread=given.unread, cluster=cluster).problems
        yield msgspec.structs.replace(side, sets=tree.sets, problems=problems, tree=tree)


def sides_in(before: Side, after: Side, world: World, now_seconds: int) -> tuple[Side, Side]:
    """Both sides as the cluster of the World has them. Raises `InputError` if a side names clusters and the World is none."""
    if not any(side.tree is not None and side.tree.for_many for side in (before, after)):
        return before, after
    cluster = identity_of(world)
    if cluster is None:
        raise InputError(
            f"{after.where} is for many clusters, and nothing says which one the snapshot is: give --cluster-name NAME"
        )
    (earlier,), (later,) = (tuple(in_clusters(side, (cluster,), now_seconds)) for side in (before, after))
    return earlier, later


def _paths(policy_files: FoundFiles) -> list[str]:
    return [*policy_files.files, *(one.path for one in policy_files.unread)]
