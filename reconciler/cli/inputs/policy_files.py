"""Policy texts from files and directories, for commands. What a pull request can put there is data: no link out is followed."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.gitops.git.tree_bounds import MAX_FILES, MAX_TREE_BYTES
from reconciler.policy.neighbours import UnreadFile, link_in_tree, too_large
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.tree import SUFFIXES
from reconciler.values.two_sentences import two_sentences

_STDIN = "-"


class FoundFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Policy files by path, and those that were not read: links that leave, and what is too large, with how it begins."""

    files: dict[str, bytes]
    unread: tuple[UnreadFile, ...] = ()
    beginnings: dict[str, bytes] = {}


def read_policy_files(paths: Sequence[Path], *, as_given: bool = False) -> dict[str, bytes]:
    """As `read_policy_tree`, for who needs every file: one that is too large is cut one byte past the limit. Raises `InputError`
    for a link that is not followed as well."""
    tree = read_policy_tree(paths, as_given=as_given)
    for one in tree.unread:
        if one.path not in tree.beginnings:
            raise InputError(two_sentences(f"{one.path}: {one.message}", one.hint))
    return tree.files | tree.beginnings


def read_policy_tree(
    paths: Sequence[Path], *, as_given: bool = False, endings: tuple[str, ...] = SUFFIXES
) -> FoundFiles:  # fmt: skip
    """The policy files at and below `paths`, by path with `/` separators.

    Keys are relative to the policy root, so that they do not depend on where the command runs. The root is the one directory that
    was named; with several, each keeps its own name in front. With `as_given`, keys are the paths as the user would type them,
    for messages that editors and pull requests link to. Directories are walked in sorted order. Hidden entries and other suffixes
    are skipped, except for a file that is named itself. A symbolic link that leaves its root, or leads to a directory, is not
    followed. `endings` are endings of names, in lower case. `-` reads standard input. Raises `InputError` for what is missing,
    not readable, or too large.
    """
    contents: dict[str, bytes] = {}
    beginnings: dict[str, bytes] = {}
    unread: dict[str, UnreadFile] = {}
    total = looked = 0
    for path in paths:
        for key, file in _files(path, endings, alone=len(paths) == 1, as_given=as_given):
            if key in contents or key in unread:
                raise InputError(f"{key} is named twice: give directories that do not share names")
            if isinstance(file, str):
                unread[key] = link_in_tree(key, file)
                continue
            text = _read(file)
            total += len(text)
            if len(text) > MAX_FILE_BYTES and str(file) != _STDIN:
                size = file.stat().st_size
                looked += size
                unread[key] = too_large(key, size, _pieces(file) if looked <= MAX_TREE_BYTES else None)
                beginnings[key] = text
            else:
                contents[key] = text
            if len(contents) + len(unread) > MAX_FILES or total > MAX_TREE_BYTES:
                raise InputError(
                    f"{path}: more than {MAX_FILES} files or {MAX_TREE_BYTES >> 20} MiB. Is this a policy directory?"
                )
    return FoundFiles(files=contents, unread=tuple(unread.values()), beginnings=beginnings)


def _files(path: Path, endings: tuple[str, ...], *, alone: bool, as_given: bool) -> Iterator[tuple[str, Path | str]]:
    """Keys and files; in place of a link that is not followed, what it is."""
    if str(path) == _STDIN:
        yield "stdin.yaml", path
        return
    if not path.exists():
        raise InputError(f"{path}: no such file or directory")
    if not path.is_dir():
        yield (path.as_posix() if as_given else path.name), path
        return
    root = path.resolve()
    for entry, link in _walk(path, root, endings):
        relative = PurePosixPath(entry.relative_to(path).as_posix())
        file = link or entry
        if as_given:
            yield (path / relative).as_posix(), file
        else:
            yield str(relative if alone else PurePosixPath(root.name) / relative), file


def _walk(directory: Path, root: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(directory.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            target = _target(entry)
            if target is None or not target.is_relative_to(root):
                yield entry, "a symbolic link that leaves the directory"
                continue
            if target.is_dir():
                yield entry, "a symbolic link to a directory"
                continue
        if entry.is_dir():
            yield from _walk(entry, root, endings)
        elif entry.name.lower().endswith(endings):
            yield entry, ""


def _target(link: Path) -> Path | None:
    """Where a link leads; None where it leads nowhere, or round and round."""
    try:
        return link.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while piece := stream.read(MAX_FILE_BYTES):
            yield piece


def _read(file: Path) -> bytes:
    if str(file) == _STDIN:
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    try:
        if not file.is_file():
            raise InputError(f"{file}: not a regular file")
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
