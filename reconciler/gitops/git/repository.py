"""A local git repository: revisions become ids, trees are read at a commit. Nothing is checked out, fetched or executed.

GitPython finds the repository (work trees, linked work trees, bare ones); everything that reads objects is git's own
plumbing through `run_git`, since only there time, output and environment are bounded. Objects come out as they were
committed: no filter, no end-of-line conversion, no LFS.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import git
import msgspec

from reconciler.gitops.git.git_process import GitError, GitOutputError, run_git
from reconciler.gitops.git.ref_name import RefusedNameError, checked_ref, checked_root, object_id
from reconciler.gitops.git.tree_listing import (
    MAX_FILES,
    Entry,
    TreeProblem,
    chosen_files,
    large_files,
    parsed_listing,
    told_apart,
)
from reconciler.policy.neighbours import UnreadFile, too_large

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_MAX_POINTER_BYTES = 8192
_WHOLE_REF = re.compile(r"(refs/(?:(?!@\{)[^~^])+)([~^](?:(?!@\{).)*)?")
_LINE_BYTES = 128  # of an answer of cat-file: an id, a kind, a size
_DEEPEN = "a shallow clone has only its newest commits: fetch more (`git fetch --unshallow`; in a checkout action fetch-depth: 0)"


class RepositoryError(Exception):
    """What is asked cannot be had from this repository; the text says why and what to do."""


class PolicyFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The policy files below one place of one commit, by path relative to that place; unusable when there are problems.

    `unread` are files of the tree that were not read, which alone make nothing unusable. `found` is False when
    the commit has nothing at that place. `root` is the place as a path, empty for the whole tree; `alone` is True when it is
    no directory, and the one path is then its name.
    """

    revision: str
    root: str
    files: Mapping[str, bytes] = {}
    problems: tuple[TreeProblem, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    found: bool
    alone: bool = False


class Repository:
    """Reads one repository. Ids are whole: 40 or 64 hexadecimal digits."""

    def __init__(self, git_dir: Path, executable: str = "git") -> None:
        self._git_dir = git_dir
        self._executable = executable

    @property
    def git_dir(self) -> Path:
        """Where its objects are."""
        return self._git_dir

    @staticmethod
    def at(directory: Path) -> "Repository":
        """The repository that `directory` lies in. Raises `RepositoryError`.

        One that is bare is taken only when `directory` names it itself: among the files of a checkout, something that
        looks like a repository may be part of what a pull request brought.
        """
        try:
            found = git.Repo(directory.absolute(), search_parent_directories=True, expand_vars=False)
        except git.NoSuchPathError:
            raise RepositoryError(f"{directory}: there is no such directory") from None
        except (git.InvalidGitRepositoryError, OSError, ValueError) as error:
            hint = "name one with --repo DIR, or compare directories with --base-dir and --head-dir"
            why = f" ({error.strerror or error})" if isinstance(error, OSError) else ""
            raise RepositoryError(f"{directory} is in no git repository{why}; {hint}") from None
        with found:
            git_dir, work_tree = Path(found.git_dir).absolute(), found.working_tree_dir
        bare = work_tree is None or not _belongs(git_dir, Path(work_tree) / ".git")
        if bare and git_dir.resolve() != directory.resolve():
            raise RepositoryError(f"{directory} lies inside the bare repository {git_dir}; name that one with --repo")
        return Repository(git_dir, git.Git.GIT_PYTHON_GIT_EXECUTABLE or "git")

    def commit(self, name: str) -> str:
        """The id of the commit that a branch, a tag or an id names. Raises `RepositoryError`.

        `HEAD`, whole ids and whole refs (`refs/…`) mean just that, whatever tags and branches there are besides: anybody who may
        push can make a tag `origin/main`, or one called like a commit.
        """
        try:
            asked = checked_ref(name)
        except RefusedNameError as error:
            raise RepositoryError(f"the revision {_quoted(name)} {error}") from None
        printed = self._revision(asked)
        found = object_id(printed.strip()) if printed is not None else None
        if found is None:
            raise RepositoryError(
                f"there is no commit {_quoted(name)} here; a branch that was not checked out is called origin/NAME. "
                f"Otherwise, {_DEEPEN}"
            )
        return found

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
        """The id of the commit from which two commits went apart: what a pull request is compared with."""
        printed = self._run("merge-base", base, head)
        found = object_id(printed.split("\n")[0].strip()) if printed else None
        if found is None:
            raise RepositoryError(
                f"{base[:12]} and {head[:12]} have no commit in common here; {_DEEPEN}, or compare the tips with --base-tip"
            )
        return found

    def message(self, commit: str) -> str:
        """The message of a commit as it was written: data, which nothing here follows. Raises `RepositoryError`."""
        printed = run_git(self._git_dir, ["cat-file", "commit", commit], executable=self._executable)
        if printed.code:
            raise RepositoryError(f"the commit {commit[:12]} cannot be read (git says {_said(printed.err)}); {_DEEPEN}")
        return printed.out.partition(b"\n\n")[2].decode("utf-8", "replace")

    def policy_files(self, commit: str, path: str) -> PolicyFiles:
        """The policy files at and below `path` at a commit. Raises `RepositoryError` when they cannot be read at all."""
        try:
            root = checked_root(path)
        except RefusedNameError as error:
            raise RepositoryError(f"--path {_quoted(path)} {error}") from None
        nothing = PolicyFiles(revision=commit, root=root, found=False)
        tree = commit
        if root:
            place = next((entry for entry in self._listing(commit, root, deep=False) if entry.path == root), None)
            if place is None:
                return nothing
            if not place.is_tree:
                alone = Entry(place.mode, place.kind, place.object_id, root.rpartition("/")[2])
                return self._read(msgspec.structs.replace(nothing, alone=True), [alone])
            tree = place.object_id
        try:
            return self._read(nothing, self._listing(tree, "", deep=True))
        except GitOutputError:
            message = "the tree lists more names than can be read"
            problem = TreeProblem(path="", code="TreeTooLarge", message=message, hint="is this a policy directory?")
            return msgspec.structs.replace(nothing, problems=(problem,), found=True)

    def _listing(self, tree: str, path: str, *, deep: bool) -> list[Entry]:
        arguments = ["ls-tree", "-z", "--full-tree", *(["-r"] if deep else []), tree, *(["--", path] if path else [])]
        printed = run_git(self._git_dir, arguments, executable=self._executable)
        if printed.code:
            raise RepositoryError(
                f"the tree {tree[:12]} cannot be read (git says {_said(printed.err)}): it is damaged, or not here; {_DEEPEN}"
            )
        try:
            return list(parsed_listing(printed.out))
        except ValueError:
            raise RepositoryError(f"the tree {tree[:12]} is damaged: run `git fsck`") from None

    def _read(self, nothing: PolicyFiles, entries: list[Entry]) -> PolicyFiles:
        files, found = chosen_files(entries)
        problems, unread = told_apart(found)
        sizes = self._sizes(files) if not problems else {}
        total, large, looked = large_files(sizes)
        problems += total
        if problems:
            return msgspec.structs.replace(nothing, problems=tuple(sorted(problems)), found=True)
        for file in files:
            if file.path in large:
                chunks = (data for _, data in self._contents([file], sizes)) if file.path in looked else None
                unread.append(too_large(file.path, large[file.path], chunks))
        content = dict(self._contents([file for file in files if file.path not in large], sizes))
        pointers = [
            TreeProblem(
                path=name,
                code="LfsPointer",
                message="the repository holds a pointer to Git LFS instead of the file",
                hint="policies are small: take *.yaml out of .gitattributes and commit the file itself",
            )
            for name, data in content.items()
            if data.startswith(_LFS_POINTER)
        ]
        unread += told_apart(pointers)[1]
        read = {name: data for name, data in content.items() if not data.startswith(_LFS_POINTER)}
        return msgspec.structs.replace(nothing, files=read, unread=tuple(sorted(unread)), found=True)

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
            f"{_quoted(file.path)}: its content {file.object_id[:12]} is damaged or not in this clone; {_DEEPEN}"
        )

    def _run(self, *arguments: str, short: bool = False) -> str | None:
        """What a command prints; None when it failed. `short`: the name that is asked for may be that of several things; whole
        ids are meant themselves, whatever else is called so."""
        printed = run_git(self._git_dir, arguments, executable=self._executable)
        if "short object ID" in printed.err:
            raise RepositoryError(f"{_quoted(arguments[-1].removesuffix('^{commit}'))} begins several ids: give more digits")
        if short and "is ambiguous" in printed.err:
            raise RepositoryError(
                f"{_quoted(arguments[-1].removesuffix('^{commit}'))} names a branch and a tag; "
                "write refs/heads/NAME, refs/tags/NAME or the commit id"
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


def _said(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _quoted(lines[-1][:200]) if lines else "git does not say why"


__all__ = ["GitError", "PolicyFiles", "Repository", "RepositoryError", "TreeProblem"]
