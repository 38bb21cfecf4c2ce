"""Policy texts from files and directories, for commands. What a pull request can put there is data: nothing is followed."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from reconciler.cli.outputs.failure import InputError

SUFFIXES = (".yaml", ".yml", ".json")
MAX_FILE_BYTES = 1 << 20
MAX_TREE_BYTES = 64 << 20
MAX_FILES = 10_000
_STDIN = "-"


def read_policy_files(paths: Sequence[Path], *, as_given: bool = False) -> dict[str, bytes]:
    """The policy files at and below `paths`, by path with `/` separators.

    Keys are relative to the policy root (the one directory that was named; with several, each keeps its own name in
    front), so that they do not depend on where the command runs; with `as_given` they are the paths as the user would
    type them, for messages that editors and pull requests link to. Directories are walked in sorted order; hidden
    entries and other suffixes are skipped, except for a file that is named itself. `-` reads standard input. Raises
    `InputError` for what is not there, not readable, too large, or a symbolic link that leaves its root.
    """
    found: dict[str, bytes] = {}
    total = 0
    for path in paths:
        for key, file in _files(path, alone=len(paths) == 1, as_given=as_given):
            if key in found:
                raise InputError(f"{key} is named twice: give directories that do not share names")
            found[key] = _read(file)
            total += len(found[key])
            if len(found) > MAX_FILES or total > MAX_TREE_BYTES:
                raise InputError(
                    f"{path}: more than {MAX_FILES} files or {MAX_TREE_BYTES >> 20} MiB; is this a policy directory?"
                )
    return found


def _files(path: Path, *, alone: bool, as_given: bool) -> Iterator[tuple[str, Path]]:
    if str(path) == _STDIN:
        yield "stdin.yaml", path
        return
    if not path.exists():
        raise InputError(f"{path}: no such file or directory")
    if not path.is_dir():
        yield (path.as_posix() if as_given else path.name), path
        return
    root = path.resolve()
    for file in _walk(path, root):
        relative = PurePosixPath(file.relative_to(path).as_posix())
        if as_given:
            yield (path / relative).as_posix(), file
        else:
            yield str(relative if alone else PurePosixPath(root.name) / relative), file


def _walk(directory: Path, root: Path) -> Iterator[Path]:
    try:
        entries = sorted(directory.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            target = entry.resolve()
            if not target.is_relative_to(root):
                raise InputError(f"{entry}: a symbolic link that leaves {root.name or root}; copy the file instead")
            if target.is_dir():
                raise InputError(f"{entry}: a symbolic link to a directory; policies are read from real directories")
        if entry.is_dir():
            yield from _walk(entry, root)
        elif entry.name.lower().endswith(SUFFIXES):
            yield entry


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
