"""A snapshot as one compressed tar file. It is written completely or not at all, and never unpacked to disk."""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.cluster.snapshots.texts import BEGINNING_BYTES, looks_like_objects
from reconciler.cluster.snapshots.top_folder import top_folder
from reconciler.cluster.snapshots.unpacking_bound import most_unpacked
from reconciler.gitops.whole_file import write_whole

SUFFIXES = (".tar.gz", ".tgz", ".tar")
DOCUMENTS = (".json", ".yaml", ".yml")
MOST_FILES = 10_000
MOST_ENTRIES = 200_000
"""Including logs and everything else in a support bundle."""
MOST_BYTES = 4 << 30
_GZIPPED = ".gz"


class SnapshotArchiveError(ValueError):
    """The archive of a snapshot cannot be read; the sentence states why."""


def is_archive(path: Path) -> bool:
    """Whether the name is that of an archive."""
    return path.name.endswith(SUFFIXES)


def write_archive(path: Path, files: Mapping[str, bytes], captured_seconds: int) -> int:
    """Write `files` (relative path -> content) to `path`; returns the size in bytes. The same snapshot gives the same bytes.

    A reader sees the old file or the new one: it is written under another name, flushed, and moved into place. Raises `OSError`.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), captured_seconds, 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    data = packed.getvalue()
    if not path.name.endswith(".tar"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    write_whole(path, data)
    return len(data)


def read_archive(path: Path) -> dict[str, bytes]:
    """The documents in the archive by path without `.gz`, relative to their common folder. Documents are files with a JSON or
    YAML suffix, and others that begin like objects. Raises `SnapshotArchiveError`, and `OSError` for the file itself."""
    with path.open("rb") as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|*") as archive:
                files = dict(_documents(archive, most_unpacked(path.stat().st_size, MOST_BYTES)))
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SnapshotArchiveError(f"damaged or cut-off archive ({error})") from None
    above = top_folder(files)
    return {name.removeprefix(above): data for name, data in files.items()}


def _documents(archive: tarfile.TarFile, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    read = seen = 0
    names: set[str] = set()
    for entry in archive:
        seen += 1
        read += entry.size
        if seen > MOST_ENTRIES or read > most_bytes:
            raise SnapshotArchiveError(f"more than {MOST_FILES} files or {most_bytes >> 20} MiB: is this a snapshot?")
        # Links and devices are entries too. Only files are read, and nothing is ever written to disk.
        parts = [part for part in entry.name.split("/") if part not in ("", ".")]
        name = "/".join(parts).removesuffix(_GZIPPED)
        if not entry.isreg() or any(part.startswith(".") for part in parts):
            continue
        stream = archive.extractfile(entry)
        data = stream.read(BEGINNING_BYTES) if stream is not None else b""
        if not name.endswith(DOCUMENTS) and not looks_like_objects(data):
            continue
        data += stream.read() if stream is not None else b""
        if entry.name.endswith(_GZIPPED):
            unpacker = zlib.decompressobj(31)
            most = most_unpacked(len(data), most_bytes - read)
            data = unpacker.decompress(data, most + 1)  # for zlib a bound of zero means none
            read += len(data)
            if len(data) > most or not unpacker.eof:
                raise SnapshotArchiveError(f"{entry.name!r} is cut off, or larger than {most_bytes >> 20} MiB unpacked")
        if name in names:
            raise SnapshotArchiveError(f"the archive has {name!r} twice")
        names.add(name)
        if len(names) > MOST_FILES:
            raise SnapshotArchiveError(f"more than {MOST_FILES} files or {most_bytes >> 20} MiB: is this a snapshot?")
        yield name, data
