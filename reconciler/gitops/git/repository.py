"""A local git repository: revisions become ids, trees are read at a commit. Nothing is checked out, fetched or executed.

GitPython finds the repository (work trees, linked work trees, bare ones). Everything that reads objects is git's own plumbing
through `run_git`, because only there time, output and environment are bounded. Objects come out as they were committed: no
filter, no end-of-line conversion, no LFS.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import git
import msgspec

from reconciler.gitops.git.git_command import MAX_OUTPUT_BYTES, GitError, GitOutputError, run_git
from reconciler.gitops.git.tree_bounds import MAX_FILES
from reconciler.gitops.git.tree_listing import Entry, TreeProblem, chosen_files, large_files, parsed_listing, refused_and_unread
from reconciler.gitops.git.tree_names import RefusedNameError, checked_ref, checked_root, object_id
from reconciler.policy.manifests.infrastructure_tools import ENDINGS, HCL_ENDINGS
from reconciler.policy.neighbours import UnreadFile, too_large
from reconciler.policy.tree import SUFFIXES

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_MAX_POINTER_BYTES = 8192
_WHOLE_REF = re.compile(r"(refs/(?:(?!@\{)[^~^])+)([~^](?:(?!@\{).)*)?")
_LINE_BYTES = 128  # of an answer of cat-file: an id, a kind, a size
DEEPEN = (
    "A shallow clone has only its newest commits. Fetch more (`git fetch --unshallow`, or fetch-depth: 0 in a checkout action)"
)


class RepositoryError(Exception):
    """The repository cannot answer; the text states why and what to do."""


class PolicyFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The policy files below one place of one commit, by path relative to that place; unusable if there are problems.

    `unread` are files of the tree that were not read; by themselves, they do not make it unusable. `exists` is False if the
    commit has nothing at that place. `root` is the place as a path, empty for the whole tree. `alone` is True if the place is a
    file; then the only path is its name. `content` is the id of the object at the place, empty if there is none.
    """

    revision: str
    root: str
    files: Mapping[str, bytes] = {}
    problems: tuple[TreeProblem, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    exists: bool
    alone: bool = False
    content: str = ""


class Repository:
    """Reads one repository. Ids are whole: 40 or 64 hexadecimal digits."""

    def __init__(self, git_dir: Path, executable: str = "git") -> None:
        self._git_dir = git_dir
        self._executable = executable

    @property
    def git_dir(self) -> Path:
        """Where its objects are."""
        return self._git_dir

    @property
    def executable(self) -> str:
        """Which git reads it."""
        return self._executable

    def elsewhere(self, git_dir: Path) -> "Repository":
        """Another repository, read by the same git."""
        return Repository(git_dir, self._executable)

    @staticmethod
    def at(directory: Path) -> "Repository":
        """The repository that contains `directory`. Raises `RepositoryError`.

        A bare repository counts only if `directory` names it itself. Inside a checkout, something that looks like a repository
        may be part of a pull request.
        """
        try:
            git_repository = git.Repo(directory.absolute(), search_parent_directories=True, expand_vars=False)
        except git.NoSuchPathError:
            raise RepositoryError(f"{directory}: no such directory") from None
        except (git.InvalidGitRepositoryError, OSError, ValueError) as error:
            hint = "Name one with --repo DIR, or compare directories with --base-dir and --head-dir"
            why = f" ({error.strerror or error})" if isinstance(error, OSError) else ""
            raise RepositoryError(f"{directory} is not in a git repository{why}. {hint}") from None
        with git_repository:
            git_dir, work_tree = Path(git_repository.git_dir).absolute(), git_repository.working_tree_dir
        bare = work_tree is None or not _belongs(git_dir, Path(work_tree) / ".git")
        if bare and git_dir.resolve() != directory.resolve():
            raise RepositoryError(f"{directory} is inside the bare repository {git_dir}. Name that one with --repo")
        return Repository(git_dir, git.Git.GIT_PYTHON_GIT_EXECUTABLE or "git")

    def commit(self, name: str) -> str:
        """The id of the commit that a branch, a tag or an id names. Raises `RepositoryError`.

        `HEAD`, whole ids and whole refs (`refs/…`) mean exactly that, whatever other tags and branches exist. Anybody who may
        push can create a tag `origin/main`, or a tag with the name of a commit.
        """
        try:
            asked = checked_ref(name)
        except RefusedNameError as error:
            raise RepositoryError(f"the revision {_quoted(name)} {error}") from None
        printed = self._revision(asked)
        object_name = object_id(printed.strip()) if printed is not None else None
        if object_name is None:
            raise RepositoryError(
                f"unknown commit {_quoted(name)}. If a branch was not checked out, call it origin/NAME. {DEEPEN}"
            )
        return object_name

    def _revision(self, asked: str) -> str | None:
        whole = _WHOLE_REF.fullmatch(asked)
        if whole is not None:
            # rev-parse would look below refs/tags/ and refs/heads/ for a name of this form, too.
            there = run_git(self._git_dir, ["show-ref", "--verify", "--hash", "--", whole[1]], executable=self._executable)
            asked = f"{there.out.decode().strip()}{whole[2] or ''}"
            if there.code:
                return None
        short = whole is None and asked != "HEAD" and object_id(asked) is None
        return self._run("rev-parse", "--verify", "--end-of-options", f"{asked}^{{commit}}", short=short)

    def merge_base(self, base: str, head: str) -> str:
        """The id of the commit from which two commits diverged: a pull request is compared with it."""
        printed = self._run("merge-base", base, head)
        common = object_id(printed.split("\n")[0].strip()) if printed else None
        if common is None:
            raise RepositoryError(
                f"{base[:12]} and {head[:12]} have no common commit here. {DEEPEN}, or compare the tips with --base-tip"
            )
        return common

    def merge_bases(self, base: str, head: str) -> tuple[str, ...]:
        """All best common ancestors: criss-cross histories have several. Raises as `merge_base`."""
        first = self.merge_base(base, head)
        printed = self._run("merge-base", "--all", base, head) or first
        return tuple(printed.split())

    def is_ancestor(self, ancestor: str, commit: str) -> bool:
        """Whether the local history of a commit includes another."""
        return self._run("merge-base", "--is-ancestor", ancestor, commit) is not None

    def cut_off(self) -> frozenset[str]:
        """The commits of a shallow clone whose parents are not here."""
        try:
            with self.place("shallow").open("rb") as stream:
                text = stream.read(MAX_OUTPUT_BYTES).decode("ascii", "replace")
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise RepositoryError(f"{self._git_dir}: cannot read `shallow`: {error.strerror or error}") from None
        return frozenset(line for line in text.split() if object_id(line) is not None)

    def commits_since(self, tips: Sequence[str], ancestors: Sequence[str]) -> frozenset[str]:
        """The commits in the history of any of `tips` that are in that of none of `ancestors`."""
        printed = run_git(self._git_dir, ["rev-list", *tips, "--not", *ancestors], executable=self._executable)
        if printed.code:
            raise RepositoryError(f"cannot read the history (git says {last_line(printed.err)}). {DEEPEN}")
        return frozenset(printed.out.decode("ascii", "replace").split())

    def place(self, name: str) -> Path:
        """The path of one part of the repository, which linked work trees share."""
        printed = run_git(
            self._git_dir, ["rev-parse", "--path-format=absolute", "--git-path", name], executable=self._executable
        )  # fmt: skip
        if printed.code:
            raise RepositoryError(f"{self._git_dir}: git does not tell where its {name} are (git says {last_line(printed.err)})")
        return Path(os.fsdecode(printed.out.removesuffix(b"\n")))

    def message(self, commit: str) -> str:
        """The message of a commit as it was written: data that nothing here follows. Raises `RepositoryError`."""
        printed = run_git(self._git_dir, ["cat-file", "commit", commit], executable=self._executable)
        if printed.code:
            raise RepositoryError(f"cannot read the commit {commit[:12]} (git says {last_line(printed.err)}). {DEEPEN}")
        return printed.out.partition(b"\n\n")[2].decode("utf-8", "replace")

    def policy_files(self, commit: str, path: str) -> PolicyFiles:
        """The policy files at and below `path` at a commit. Raises `RepositoryError` if they cannot be read at all."""
        try:
            root = checked_root(path)
        except RefusedNameError as error:
            raise RepositoryError(f"--path {_quoted(path)} {error}") from None
        nothing = PolicyFiles(revision=commit, root=root, exists=False)
        tree = commit
        if root:
            place = next((entry for entry in self._listing(commit, root, deep=False) if entry.path == root), None)
            if place is None:
                return nothing
            nothing = msgspec.structs.replace(nothing, content=place.object_id)
            if not place.is_tree:
                alone = Entry(place.mode, place.kind, place.object_id, root.rpartition("/")[2])
                return self._read(msgspec.structs.replace(nothing, alone=True), [alone])
            tree = place.object_id
        else:
            nothing = msgspec.structs.replace(nothing, content=(self._run("rev-parse", f"{commit}^{{tree}}") or "").strip())
        try:
            return self._read(nothing, self._listing(tree, "", deep=True))
        except GitOutputError:
            message = "the tree has more names than can be read"
            problem = TreeProblem(path="", code="TreeTooLarge", message=message, hint="is this a policy directory?")
            return msgspec.structs.replace(nothing, problems=(problem,), exists=True)

    def tree_files(self, commit: str, endings: tuple[str, ...]) -> dict[str, bytes]:
        """The files of a commit whose names end so; none where there are more than can be read."""
        return self._all_or_none(self._outside(commit, endings))

    def differing_files(self, before: str, after: str, but: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Files outside `but` that are manifests by their names and differ between two commits, as each commit has them. Of
        Terraform's, all in a directory where one differs. A file that is refused or too large is left out. If there are more
        files than can be read, none is returned."""
        root = checked_root(but)
        outside = [
            {
                entry.path: entry
                for entry in self._outside(commit, (*SUFFIXES, *ENDINGS))
                if entry.path.endswith(ENDINGS) or (entry.path != root and root and not entry.path.startswith(f"{root}/"))
            }
            for commit in (before, after)
        ]
        first, second = outside
        names = {name for name in (*first, *second) if first.get(name) != second.get(name)}
        directories = {name.rpartition("/")[0] for name in names if name.removesuffix(".json").endswith(HCL_ENDINGS)}
        names |= {
            name
            for name in (*first, *second)
            if name.removesuffix(".json").endswith(HCL_ENDINGS) and name.rpartition("/")[0] in directories
        }
        sides = [self._all_or_none([entry for name, entry in side.items() if name in names]) for side in outside]
        return sides[0], sides[1]

    def _outside(self, commit: str, endings: tuple[str, ...] = SUFFIXES) -> list[Entry]:
        try:
            return chosen_files(self._listing(commit, "", deep=True), endings)[0]
        except GitOutputError:
            return []

    def _all_or_none(self, files: list[Entry]) -> dict[str, bytes]:
        endings = tuple({one.path.lower() for one in files})
        return dict(self._read(PolicyFiles(revision="", root="", exists=False), files, endings).files)

    def _listing(self, tree: str, path: str, *, deep: bool) -> list[Entry]:
        arguments = ["ls-tree", "-z", "--full-tree", *(["-r"] if deep else []), tree, *(["--", path] if path else [])]
        printed = run_git(self._git_dir, arguments, executable=self._executable)
        if printed.code:
            raise RepositoryError(
                f"cannot read the tree {tree[:12]} (git says {last_line(printed.err)}): it is damaged, or missing here. {DEEPEN}"
            )
        try:
            return list(parsed_listing(printed.out))
        except ValueError:
            raise RepositoryError(f"the tree {tree[:12]} is damaged: run `git fsck`") from None

    def _read(self, nothing: PolicyFiles, entries: list[Entry], endings: tuple[str, ...] = SUFFIXES) -> PolicyFiles:
        files, faults = chosen_files(entries, endings)
        problems, unread = refused_and_unread(faults)
        sizes = self._sizes(files) if not problems else {}
        total, large, looked = large_files(sizes)
        problems += total
        if problems:
            return msgspec.structs.replace(nothing, problems=tuple(sorted(problems)), exists=True)
        for file in files:
            if file.path in large:
                chunks = (data for _, data in self._contents([file], sizes)) if file.path in looked else None
                unread.append(too_large(file.path, large[file.path], chunks))
        content = dict(self._contents([file for file in files if file.path not in large], sizes))
        pointers = [
            TreeProblem(
                path=name,
                code="LfsPointer",
                message="the repository has a Git LFS pointer instead of the file",
                hint="policies are small: remove *.yaml from .gitattributes and commit the file itself",
            )
            for name, data in content.items()
            if data.startswith(_LFS_POINTER)
        ]
        unread += refused_and_unread(pointers)[1]
        read = {name: data for name, data in content.items() if not data.startswith(_LFS_POINTER)}
        return msgspec.structs.replace(nothing, files=read, unread=tuple(sorted(unread)), exists=True)

    def _sizes(self, files: list[Entry]) -> dict[str, int]:
        """Bytes by path, asked for before anything is read."""
        printed = self._batch("--batch-check", files, MAX_FILES * _LINE_BYTES).split(b"\n")
        sizes = {}
        for file, line in zip(files, printed, strict=False):
            facts = line.split()
            if len(facts) != len(("id", "kind", "size")) or facts[1] != b"blob":
                raise self._missing(file)
            sizes[file.path] = int(facts[2])
        return sizes

    def _contents(self, files: list[Entry], sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """All files through one process, in the order in which they were asked for."""
        printed = self._batch("--batch", files, sum(sizes[file.path] for file in files) + len(files) * _LINE_BYTES)
        position = 0
        for file in files:
            size, end = sizes[file.path], printed.find(b"\n", position)
            if printed[position:end].split() != [file.object_id.encode(), b"blob", b"%d" % size]:
                raise self._missing(file)
            yield file.path, printed[end + 1 : end + 1 + size]
            position = end + 1 + size + 1

    def _batch(self, mode: str, files: list[Entry], most_bytes: int) -> bytes:
        if not files:
            return b""
        asked = "".join(f"{file.object_id}\n" for file in files).encode()
        arguments = ["cat-file", mode, "--buffer"]
        return run_git(self._git_dir, arguments, given=asked, executable=self._executable, most_bytes=most_bytes).out

    @staticmethod
    def _missing(file: Entry) -> RepositoryError:
        return RepositoryError(
            f"{_quoted(file.path)}: its content {file.object_id[:12]} is damaged or missing in this clone. {DEEPEN}"
        )

    def _run(self, *arguments: str, short: bool = False) -> str | None:
        """What a command prints; None if it failed. `short`: the name may mean several things. Whole ids mean themselves,
        whatever else has that name."""
        printed = run_git(self._git_dir, arguments, executable=self._executable)
        if "short object ID" in printed.err:
            raise RepositoryError(f"{_quoted(arguments[-1].removesuffix('^{commit}'))} matches several ids: give more digits")
        if short and "is ambiguous" in printed.err:
            raise RepositoryError(
                f"{_quoted(arguments[-1].removesuffix('^{commit}'))} names a branch and a tag. "
                "Write refs/heads/NAME, refs/tags/NAME or the commit id"
            )
        return None if printed.code else printed.out.decode("utf-8", "replace")


def _belongs(git_dir: Path, entry: Path) -> bool:
    """Whether the `.git` of a work tree, a directory or (linked work trees, submodules) a file, leads to `git_dir`."""
    try:
        if not entry.is_file():
            return entry.resolve() == git_dir.resolve()
        pointer = entry.read_bytes()[:_MAX_POINTER_BYTES].decode("utf-8", "surrogateescape")
    except OSError:
        return False
    target = pointer.removeprefix("gitdir:").strip()
    return (entry.parent / target).resolve() == git_dir.resolve()


def _quoted(name: str) -> str:
    """A name of others in a message: on one line, without anything that a terminal would act on."""
    return repr(name)


def last_line(text: str) -> str:
    """The last line of what git printed, quoted."""
    lines = [line for line in text.splitlines() if line.strip()]
    return _quoted(lines[-1][:200]) if lines else "git does not say why"


__all__ = ["GitError", "PolicyFiles", "Repository", "RepositoryError", "TreeProblem"]
