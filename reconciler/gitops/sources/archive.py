"""The policy files of a tar.gz archive, unpacked in memory: nothing of it is ever written to a file.

SOURCE: POSIX ustar and pax headers as Python's `tarfile` reads them; Flux archives hold the tree of a commit with paths
relative to its top.
"""

import io
import tarfile
import zlib
from collections.abc import Iterator

import msgspec

from reconciler.gitops.git.tree_bounds import MAX_TREE_BYTES
from reconciler.gitops.git.tree_listing import Entry, TreeProblem, chosen_files, refused_and_unread, size_problems
from reconciler.gitops.git.tree_names import path_fault
from reconciler.policy.neighbours import UnreadFile, too_large
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.tree import SUFFIXES

MAX_ARCHIVE_BYTES = 50 << 20
MAX_UNPACKED_BYTES = 256 << 20
MAX_MEMBERS = 100_000
_CHUNK_BYTES = 1_048_576
_GZIP_WINDOW = 31  # for zlib: expect a gzip header
_MODES = {tarfile.SYMTYPE: "120000", tarfile.LNKTYPE: "120000"}


class ArchiveError(ValueError):
    """The archive cannot be read: it is broken, or larger unpacked than allowed."""


class ArchiveTooDearError(ArchiveError):
    """Unpacking exceeded a bound of time, memory or output, and would again."""


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """Policy files by path relative to the requested place; unusable if there are problems. `unread` are files that were not
    read. `exists`: there is anything at that place."""

    files: dict[str, bytes]
    problems: tuple[TreeProblem, ...]
    unread: tuple[UnreadFile, ...] = ()
    exists: bool


def unpacked(archive: bytes, root: str, most_bytes: int = MAX_UNPACKED_BYTES) -> Unpacked:
    """The policy files below `root` (a checked place, empty for all). Raises `ArchiveError`."""
    inflated = _Inflated(archive, most_bytes)
    entries: list[Entry] = []
    problems: list[TreeProblem] = []
    sizes: dict[str, int] = {}
    content: dict[str, bytes] = {}
    large: dict[str, UnreadFile] = {}
    room = room_to_look = MAX_TREE_BYTES
    prefix = f"{root}/" if root else ""
    exists = not root
    try:
        with tarfile.open(fileobj=inflated, mode="r|") as tar:
            for path, member in _members(tar):
                if not path.startswith(prefix):
                    exists = exists or path == root
                    continue
                exists = True
                name = path.removeprefix(prefix)
                if member.isdir():
                    code, message = path_fault(name) if name else ("", "")
                    if code:
                        problems.append(TreeProblem(path=name, code=code, message=message, hint="rename it"))
                    continue
                mode = "100644" if member.isreg() else _MODES.get(member.type, "000000")
                entries.append(Entry(mode, "blob", "", name))
                sizes[name] = member.size
                if not _readable(name) or not member.isreg():
                    continue
                if member.size > MAX_FILE_BYTES:
                    looked = member.size <= room_to_look
                    room_to_look -= member.size if looked else 0
                    large[name] = too_large(name, member.size, [_content(tar, member)] if looked else None)
                elif member.size <= room:
                    content[name] = _content(tar, member)
                    room -= member.size
        inflated.drain()
    except ArchiveError:
        raise
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        # A broken gzip is reported as such first.
        inflated.drain()
        raise ArchiveError(f"the archive is damaged: {error}") from None
    files, faults = chosen_files(entries)
    refused, unread = refused_and_unread(faults)
    problems += [*refused, *size_problems({file.path: sizes[file.path] for file in files if file.path not in large})]
    unread += [large[file.path] for file in files if file.path in large]
    chosen = {} if problems else {file.path: content[file.path] for file in files if file.path not in large}
    return Unpacked(files=chosen, problems=tuple(sorted(problems)), unread=tuple(sorted(unread)), exists=exists)


class _Inflated(io.RawIOBase):
    """gzip unpacked in steps, so that no archive is ever completely in memory."""

    def __init__(self, archive: bytes, most_bytes: int) -> None:
        super().__init__()
        self._packed = memoryview(archive)
        self._stream = zlib.decompressobj(_GZIP_WINDOW)
        self._most_bytes = most_bytes
        self._bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes, fewer only at the end. Raises `ArchiveError`."""
        out = bytearray()
        while len(out) < size and not self._stream.eof:
            packed = self._stream.unconsumed_tail
            if not packed:
                packed, self._packed = bytes(self._packed[:_CHUNK_BYTES]), self._packed[_CHUNK_BYTES:]
            try:
                step = self._stream.decompress(packed, size - len(out))
            except zlib.error as error:
                raise ArchiveError(f"invalid gzip data: {error}") from None
            if not packed and not step:
                raise ArchiveError("the archive is cut off")
            out += step
        self._bytes += len(out)
        if self._bytes > self._most_bytes:
            raise ArchiveError(f"the archive has more than {self._most_bytes >> 20} MiB unpacked")
        return bytes(out)

    def drain(self) -> None:
        """Read the rest, which must be complete. Raises `ArchiveError`."""
        while not self._stream.eof:
            self.read(_CHUNK_BYTES)


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    for count, member in enumerate(tar):
        if count >= MAX_MEMBERS:
            raise ArchiveError(f"the archive has more than {MAX_MEMBERS} entries")
        path = member.name.removeprefix("./").rstrip("/")
        if path not in ("", "."):
            yield path, member


def _readable(name: str) -> bool:
    """Whether a file with this name may be among the chosen ones."""
    return name.lower().endswith(SUFFIXES) and not any(part.startswith(".") for part in name.split("/"))


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(member)
    return stream.read() if stream is not None else b""
