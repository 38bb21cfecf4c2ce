"""The entries of a git tree, as `git ls-tree` lists them, and which of them may be read as policy."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reconciler.gitops.git.tree_bounds import MAX_FILES, MAX_TREE_BYTES
from reconciler.gitops.git.tree_names import path_fault
from reconciler.policy.neighbours import UnreadFile, link_in_tree, too_large
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.tree import SUFFIXES
from reconciler.rendering.words.plain import plain

_HINTS = {"UnsafePath": "rename it", "PathTooLong": "shorten it", "TooDeep": "move it further up"}
_ALONE = frozenset({"SymbolicLink", "LfsPointer"})
"""Codes of one unread file; they do not affect the others."""
_TREE, _LINK, _SUBMODULE = "040000", "120000", "160000"
_FILES = ("100644", "100755", "100664")


class Entry(msgspec.Struct, frozen=True):
    """One line of the listing."""

    mode: str
    kind: str
    object_id: str
    path: str

    @property
    def is_tree(self) -> bool:
        """A directory."""
        return self.mode == _TREE


class TreeProblem(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Why a tree is refused: the path as it is there (invalid UTF-8 as surrogates), code, sentence, hint."""

    path: str
    code: str
    message: str
    hint: str = ""


def parsed_listing(listing: bytes) -> Iterator[Entry]:
    """The entries of `ls-tree -z`. Raises `ValueError` for another format."""
    for line in listing.split(b"\0"):
        if line:
            facts, _, path = line.partition(b"\t")
            mode, kind, object_id = facts.decode("ascii").split()
            yield Entry(mode, kind, object_id, path.decode("utf-8", "surrogateescape"))


def refused_and_unread(problems: Iterable[TreeProblem]) -> tuple[list[TreeProblem], list[UnreadFile]]:
    """The problems that make a tree unusable, and the single files that are only not read. `read_tree` decides whether these
    matter."""
    refused: list[TreeProblem] = []
    unread: list[UnreadFile] = []
    for one in problems:
        if one.code in _ALONE:
            path = plain(one.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
            unread.append(UnreadFile(path=path, code=one.code, message=one.message, hint=one.hint))
        else:
            refused.append(one)
    return refused, unread


def chosen_files(entries: Iterable[Entry], endings: tuple[str, ...] = SUFFIXES) -> tuple[list[Entry], list[TreeProblem]]:
    """The policy files among `entries`, and the problems of others. Hidden ones are skipped, as in directories.

    Links and submodules are reported whatever their name, because their content is not part of the tree.
    """
    files: list[Entry] = []
    problems: list[TreeProblem] = []
    for entry in entries:
        code, message = path_fault(entry.path)
        if code:
            problems.append(TreeProblem(path=entry.path, code=code, message=message, hint=_HINTS[code]))
        elif any(part.startswith(".") for part in entry.path.split("/")):
            continue
        elif entry.mode == _LINK:
            link = link_in_tree(entry.path)
            problems.append(TreeProblem(path=entry.path, code=link.code, message=link.message, hint=link.hint))
        elif entry.mode == _SUBMODULE:
            message = "a submodule is not fetched: a policy tree is plain files"
            hint = "put the files into this repository, or preview that one"
            problems.append(TreeProblem(path=entry.path, code="Submodule", message=message, hint=hint))
        elif not entry.path.lower().endswith(endings):
            continue
        elif entry.mode not in _FILES or entry.kind != "blob":
            problems.append(TreeProblem(path=entry.path, code="NoFile", message=f"not a regular file (mode {entry.mode})"))
        else:
            files.append(entry)
    if len(files) > MAX_FILES:
        problems.append(_too_large(f"{len(files)} policy files, the limit is {MAX_FILES}"))
        files = []
    problems += _collisions(files)
    return files, sorted(problems)


def large_files(sizes: Mapping[str, int]) -> tuple[list[TreeProblem], dict[str, int], list[str]]:
    """Whether the others are too large together, and the files above the limit with their bytes. The last value has those of them
    that may be scanned: 64 MiB together, in order."""
    large = {path: size for path, size in sizes.items() if size > MAX_FILE_BYTES}
    problems = size_problems({path: size for path, size in sizes.items() if path not in large})
    looked: list[str] = []
    total = 0
    for path, size in large.items():
        if total + size <= MAX_TREE_BYTES:
            looked.append(path)
            total += size
    return problems, large, looked


def size_problems(sizes: Mapping[str, int]) -> list[TreeProblem]:
    """What is too large to be read, by path and number of bytes."""
    problems = [
        TreeProblem(path=path, code=one.code, message=one.message, hint=one.hint)
        for path, size in sizes.items()
        if size > MAX_FILE_BYTES
        for one in (too_large(path, size, None),)
    ]
    total = sum(sizes.values())
    if not problems and total > MAX_TREE_BYTES:
        problems.append(_too_large(f"the policy files have {total} bytes together, the limit is {MAX_TREE_BYTES}"))
    return problems


def _too_large(message: str) -> TreeProblem:
    return TreeProblem(path="", code="TreeTooLarge", message=message, hint="is this a policy directory?")


def _collisions(files: Iterable[Entry]) -> Iterator[TreeProblem]:
    """Names that some file systems treat as one: the content of a directory then depends on who checked it out."""
    seen: dict[str, str] = {}
    for entry in files:
        key = unicodedata.normalize("NFC", entry.path).casefold()
        other = seen.get(key)
        if other is None:
            seen[key] = entry.path
        else:
            same = other == entry.path
            difference = "is twice in the tree" if same else f"differs from {other} only in case or in how accents are composed"
            message = f"the name {difference}"
            yield TreeProblem(path=entry.path, code="NameCollision", message=message, hint="rename one of them")
