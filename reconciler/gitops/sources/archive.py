"""The policy files of a tar.gz archive, unpacked in memory: nothing of it ever becomes a file.

SOURCE: POSIX ustar and pax headers as Python's `tarfile` reads them; Flux archives hold the tree of a commit with paths
relative to its top.
"""

import io
import tarfile
import zlib
from collections.abc import Iterator

import msgspec

from reconciler.gitops.git.ref_name import path_fault
from reconciler.gitops.git.tree_listing import Entry, TreeProblem, chosen_files, large_files, told_apart
from reconciler.policy.neighbours import UnreadFile, too_large

MAX_ARCHIVE_BYTES = 50 << 20
MAX_UNPACKED_BYTES = 256 << 20
MAX_MEMBERS = 100_000
_CHUNK_BYTES = 1_048_576
_GZIP_WINDOW = 31  # of zlib: a gzip head is expected
_MODES = {tarfile.SYMTYPE: "120000", tarfile.LNKTYPE: "120000"}


class ArchiveError(ValueError):
    """The bytes are no archive that is read: broken, or larger unpacked than allowed."""


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """Policy files by path relative to the place that was asked for; unusable when there are problems. `unread` are files that
    were not read. `found`: there is anything at that place."""

    files: dict[str, bytes]
    problems: tuple[TreeProblem, ...]
    unread: tuple[UnreadFile, ...] = ()
    found: bool


def unpacked(archive: bytes, root: str, most_bytes: int = MAX_UNPACKED_BYTES) -> Unpacked:
    """The policy files below `root` (a checked place, empty for all). Raises `ArchiveError`."""
    data = _inflated(archive, most_bytes)
    entries: list[Entry] = []
    problems: list[TreeProblem] = []
    members: dict[str, tarfile.TarInfo] = {}
    prefix = f"{root}/" if root else ""
    found = not root
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for path, member in _members(tar):
                if not path.startswith(prefix):
                    found = found or path == root
                    continue
                found = True
                name = path.removeprefix(prefix)
                if member.isdir():
                    code, message = path_fault(name) if name else ("", "")
                    if code:
                        problems.append(TreeProblem(path=name, code=code, message=message, hint="rename it"))
                    continue
                mode = "100644" if member.isreg() else _MODES.get(member.type, "000000")
                entries.append(Entry(mode, "blob", "", name))
                members[name] = member
            files, told = chosen_files(entries)
            refused, unread = told_apart(told)
            sizes = {file.path: members[file.path].size for file in files}
            total, large, looked = large_files(sizes)
            problems += [*refused, *total]
            unread += [
                too_large(path, size, [_content(tar, members[path])] if path in looked else None) for path, size in large.items()
            ]
            content = {} if problems else {path: _content(tar, members[path]) for path in sizes if path not in large}
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise ArchiveError(f"the archive is damaged: {error}") from None
    return Unpacked(files=content, problems=tuple(sorted(problems)), unread=tuple(sorted(unread)), found=found)


def _inflated(archive: bytes, most_bytes: int) -> bytes:
    """gzip undone in steps, so that a small archive of much is noticed before it is in memory."""
    stream = zlib.decompressobj(_GZIP_WINDOW)
    out = bytearray()
    left = archive
    try:
        while left:
            out += stream.decompress(left, _CHUNK_BYTES)
            left = stream.unconsumed_tail
            if len(out) > most_bytes:
                raise ArchiveError(f"the archive has more than {most_bytes >> 20} MiB unpacked")
    except zlib.error as error:
        raise ArchiveError(f"the archive is no gzip: {error}") from None
    if not stream.eof:
        raise ArchiveError("the archive ends in the middle")
    return bytes(out)


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    for count, member in enumerate(tar):
        if count >= MAX_MEMBERS:
            raise ArchiveError(f"the archive holds more than {MAX_MEMBERS} entries")
        path = member.name.removeprefix("./").rstrip("/")
        if path not in ("", "."):
            yield path, member


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(member)
    return stream.read() if stream is not None else b""
