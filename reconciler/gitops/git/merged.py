"""The result of merging a change into its target, without touching the repository. Nothing of the trees is executed or followed.

The merge uses our own bare repository, which only borrows objects. It has no configuration, attributes, hooks or work tree. So
neither the repository nor the change can name a merge driver, filter or command. SOURCE: git-merge-tree (its output and exit
codes) and gitrepository-layout (`objects/info/alternates`, `shallow`). Also gitattributes (`merge`: without configuration, a
driver is the built-in one).
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from reconciler.gitops.git.git_command import GitError, Printed, run_git
from reconciler.gitops.git.repository import DEEPEN, PolicyFiles, Repository, RepositoryError, last_line
from reconciler.gitops.git.tree_listing import TreeProblem
from reconciler.gitops.git.tree_names import object_id
from reconciler.gitops.git.tree_refusals import refusals
from reconciler.policy.problems.problem import Problem

_CONFLICTS, _USAGE = 1, 129
_SHA256_DIGITS = 64
_MOST_FILE_BYTES = 64 << 20
_MOST_NAMED = 100
CONFLICT = "MergeConflict"
# Files above the threshold are not merged line by line: that would need a multiple of their size in memory.
_SETTINGS = ("core.bigFileThreshold=32m", "gc.auto=0", "maintenance.auto=false", "merge.renormalize=false")


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The result of merging `head`. `made` False: one side already contains the other, so nothing had to be merged.

    `conflicting`: it cannot be merged. `conflicts` are the paths that git names, maybe none.
    """

    repository: Repository
    tree: str
    head: str
    made: bool = False
    conflicting: bool = False
    conflicts: tuple[str, ...] = ()

    def policy_files(self, path: str) -> PolicyFiles:
        """As `Repository.policy_files`, of the result, with the change's id as its revision. It has no `content` if git left a
        conflict there."""
        policy_files = self.repository.policy_files(self.tree, path)
        content = "" if self.conflicts_at(policy_files.root) else policy_files.content
        return msgspec.structs.replace(policy_files, revision=self.head, content=content)

    def conflicts_at(self, path: str) -> bool:
        """Whether a conflict is, or may be, at or below `path`."""
        inside = f"{path.strip('/')}/".removeprefix("/")
        return self.conflicting and (not self.conflicts or any(f"{name}/".startswith(inside) for name in self.conflicts))

    def problems(self) -> tuple[Problem, ...]:
        """The conflicts as problems of the change, by paths of the repository; none if it can be merged."""
        if not self.conflicting:
            return ()
        hint = "merge the base into the change and resolve the conflict"
        message = "both sides changed it since they diverged, and git cannot merge it"
        problems = [TreeProblem(path=name, code=CONFLICT, message=message, hint=hint) for name in self.conflicts[:_MOST_NAMED]]
        left = len(self.conflicts) - len(problems)
        if left or not problems:
            whole = f"{left} more files conflict" if left else "git cannot merge the change"
            problems.append(TreeProblem(path="", code=CONFLICT, message=whole, hint=hint))
        return refusals(problems, "")


@contextmanager
def merged(repository: Repository, base: str, head: str) -> Iterator[Merged]:
    """Merge the commit `head` into the commit `base`; the result can be read inside the `with`. Raises `RepositoryError`."""
    if repository.is_ancestor(base, head):
        yield Merged(repository=repository, tree=head, head=head)
    elif repository.is_ancestor(head, base):
        yield Merged(repository=repository, tree=base, head=head)
    else:
        _whole_history(repository, base, head)
        with tempfile.TemporaryDirectory(prefix="reconciler-merge-") as directory:
            yield _merge(repository, Path(directory), base, head)


def _whole_history(repository: Repository, base: str, head: str) -> None:
    """Refuse if missing commits may include a nearer common ancestor: git would merge from the wrong one."""
    ancestors = repository.merge_bases(base, head)
    cut = repository.cut_off()
    if cut and not cut.isdisjoint(repository.commits_since((base, head), ancestors)):
        raise RepositoryError(f"the history between {base[:12]} and {head[:12]} is incomplete here. {DEEPEN}")


def _merge(repository: Repository, scratch: Path, base: str, head: str) -> Merged:
    _prepare(repository, scratch, base)
    printed = _run(
        repository, scratch, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--end-of-options", base, head
    )
    if printed.code == _USAGE:
        here = _run(repository, scratch, "version").out.decode("utf-8", "replace").strip()
        raise RepositoryError(
            f"the result of the merge needs git 2.38 or newer, and this is {here}. Upgrade git, or fetch the host's merge commit "
            "(GitHub: refs/pull/N/merge) and name it with --head"
        )
    tree, *names = printed.out.decode("utf-8", "surrogateescape").split("\0")
    if printed.code not in (0, _CONFLICTS) or object_id(tree) is None:
        raise RepositoryError(f"{base[:12]} and {head[:12]} cannot be merged here (git says {last_line(printed.err)}). {DEEPEN}")
    return Merged(
        repository=repository.elsewhere(scratch),
        tree=tree,
        head=head,
        made=True,
        conflicting=printed.code == _CONFLICTS,
        conflicts=tuple(dict.fromkeys(name for name in names if name)),
    )


def _prepare(repository: Repository, scratch: Path, commit: str) -> None:
    """An empty bare repository that reads the other's objects, and knows where that history is cut off."""
    form = "sha256" if len(commit) == _SHA256_DIGITS else "sha1"
    made = _run(repository, scratch, "init", "--quiet", "--bare", "--template=", f"--object-format={form}")
    if made.code:
        raise RepositoryError(f"cannot create a repository for the merge (git says {last_line(made.err)})")
    objects = str(repository.place("objects"))
    if "\n" in objects:
        raise RepositoryError(f"{objects!r}: cannot merge in a repository whose path has a line break")
    information = scratch / "objects" / "info"
    information.mkdir(exist_ok=True)
    (information / "alternates").write_text(f"{objects}\n", encoding="utf-8", errors="surrogateescape")
    cut = repository.cut_off()
    if cut:
        (scratch / "shallow").write_text("".join(f"{one}\n" for one in sorted(cut)), encoding="ascii")


def _run(repository: Repository, scratch: Path, *arguments: str) -> Printed:
    try:
        return run_git(scratch, arguments, executable=repository.executable, settings=_SETTINGS, most_file_bytes=_MOST_FILE_BYTES)
    except GitError as error:
        raise RepositoryError(f"the merge failed: {error}") from None
