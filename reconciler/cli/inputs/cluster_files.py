"""Reading a snapshot from disk: a file or a directory, plain or gzipped, within bounds."""

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell
from reconciler.cluster.platform_reading import readings, target_kinds
from reconciler.cluster.snapshots.digest import Digested
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.snapshots.texts import BEGINNING_BYTES, looks_like_objects
from reconciler.cluster.snapshots.unpacking_bound import most_unpacked
from reconciler.cluster.values.unreadable import SeveralError
from reconciler.cluster.world import World
from reconciler.values.later import Later

if TYPE_CHECKING:
    import gzip

    from reconciler.cli.inputs import second_process
else:
    gzip = Later("gzip")
    second_process = Later("reconciler.cli.inputs.second_process")

SUFFIXES = (".json", ".yaml", ".yml")
ARCHIVES = (".tar.gz", ".tgz", ".tar")
MOST_FILES = 10_000
MOST_ENTRIES = 200_000
# A file is read whole; what a capture of 15,000 nodes and 450,000 pods needs stays below this even in one file.
LARGEST_FILE_BYTES = 4 << 30
_NAMES_SHOWN = 5
_CHUNK_BYTES = 1 << 20
_GZIPPED = ".gz"
_GZIP_MAGIC, _ZIP_MAGIC, _TAR_MAGIC = b"\x1f\x8b", b"PK\x03\x04", b"ustar"
_TAR_MAGIC_END = 262  # of a header: POSIX.1-1988 puts the magic behind 257 bytes
_Files = TypeVar("_Files", bound=Mapping[str, bytes])
_Result = TypeVar("_Result")


class SnapshotFiles(Mapping[str, bytes]):
    """The documents below a path by relative name without `.gz`; contents are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._paths: dict[str, Path] = {}
        if not path.is_dir():
            self._paths[path.name.removesuffix(_GZIPPED)] = path
            return
        root = path.resolve()
        for entries, entry in enumerate(_entries(path)):
            name = entry.relative_to(path).as_posix().removesuffix(_GZIPPED)
            if entry.is_file() and (name.endswith(SUFFIXES) or _begins_as_objects(entry, root)):
                self._add(name, entry, root)
            if entries == MOST_ENTRIES or len(self._paths) > MOST_FILES:
                raise InputError(
                    f"{path}: too many files for a snapshot (at most {MOST_FILES}). Give the directory of the capture itself"
                )

    def _add(self, name: str, path: Path, root: Path) -> None:
        if not path.resolve().is_relative_to(root):
            raise InputError(f"{path}: is a link to a file outside the snapshot, which is not followed. Copy the file instead")
        if name in self._paths:
            first, second = sorted((self._paths[name], path))
            raise InputError(f"{first} and {second.name} are one document twice, plain and gzipped: remove one of them")
        self._paths[name] = path

    def __getitem__(self, name: str) -> bytes:
        path = self._paths[name]
        try:
            packed = path.suffix == _GZIPPED or _beginning(path, len(_GZIP_MAGIC)) == _GZIP_MAGIC
            return _unpacked(path) if packed else _plain(path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path}: damaged or cut-off gzip data ({error})") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._paths))

    def __len__(self) -> int:
        return len(self._paths)


def _beginning(path: Path, size_bytes: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(size_bytes)


def _begins_as_objects(path: Path, root: Path) -> bool:
    """Whether a file of any name, packed or not, holds objects. What cannot be opened was never a part of a snapshot."""
    try:
        if not path.resolve().is_relative_to(root):
            return False
        if _beginning(path, len(_GZIP_MAGIC)) != _GZIP_MAGIC:
            return looks_like_objects(_beginning(path, BEGINNING_BYTES))
        with gzip.open(path) as stream:
            return looks_like_objects(stream.read(BEGINNING_BYTES))
    except (OSError, EOFError, zlib.error):
        return False


def _is_archive(path: Path) -> bool:
    """A tar, packed or not, whatever it is called. Raises `InputError` for a zip."""
    if path.name.endswith(ARCHIVES):
        return True
    try:
        beginning = _beginning(path, _TAR_MAGIC_END)
        if beginning.startswith(_ZIP_MAGIC):
            raise InputError(f"{path}: a zip archive. Unpack it and give the directory")
        if beginning.startswith(_GZIP_MAGIC):
            with gzip.open(path) as stream:
                beginning = stream.read(_TAR_MAGIC_END)
    except (OSError, EOFError, zlib.error):
        return False  # told where it is read
    return beginning.endswith(_TAR_MAGIC) and len(beginning) == _TAR_MAGIC_END


def _entries(path: Path) -> Iterator[Path]:
    """All below a directory but what is hidden. Raises `InputError` for a directory that cannot be read, since the rest would
    pass for the whole cluster."""

    def unreadable(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror or error})")

    for directory, folders, files in os.walk(path, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            if not name.startswith("."):
                yield Path(directory, name)


def capi_group() -> str:
    """The API group of the Cluster API objects in snapshots, as it is for live clusters."""
    return os.environ.get("CAPI_GROUP", "")


def load_world(path: Path | str) -> World:
    """The World of a snapshot file or directory. Raises `InputError` with one sentence that says what is wrong where."""
    return _read(path, lambda files: files)[0]


def _on_second_core(work: Callable[[], _Result]) -> Callable[[], _Result | None]:
    return second_process.in_second_process(work)


def load_snapshot(path: Path | str) -> tuple[World, str]:
    """The same, and the digest of the snapshot."""
    world, files = _read(path, partial(Digested, apart=_on_second_core))
    return world, files.digest()


def files_digest(path: Path) -> str:
    """The digest of a snapshot, or of any other documents, without reading what they mean. Raises `InputError`."""
    if not path.exists():
        raise InputError(f"{path}: no such file or directory")
    return Digested(_archived(path) if path.is_file() and _is_archive(path) else SnapshotFiles(path)).digest()


def _read(path: Path | str, seen_through: Callable[[Mapping[str, bytes]], _Files]) -> tuple[World, _Files]:
    root = Path(path)
    if not root.exists():
        raise InputError(
            f"{root}: no such file or directory. A snapshot is what `kubectl get … -o json` prints, "
            "one file or a directory of such files"
        )
    archive = root.is_file() and _is_archive(root)
    files = seen_through(_archived(root) if archive else SnapshotFiles(root))
    unused: list[SnapshotError] = []
    try:
        world = read_snapshot(files, capi_group(), unused, _on_second_core)
    except SeveralError as error:
        listed = "\n".join(f"  {_error_text(root, one, archive=archive)}" for one in error.all)
        raise InputError(f"{root}: {len(error.all)} parts of it cannot be used. Fix or remove them:\n{listed}") from None
    except SnapshotError as error:
        raise InputError(_error_text(root, error, archive=archive)) from None
    finally:
        for one in unused:
            tell(f"note: not used: {_error_text(root, one, archive=archive)}")
    # Without one of these there is nothing to decide about; what else is captured only says how.
    sought = {"Node", "Pod", *(kind.known_as for reading in readings() for kind in reading.kinds)}
    if not sought.intersection(world.captured):
        raise InputError(_no_cluster(root, list(files), dict(world.skipped), world.captured))
    return world, files


def _error_text(root: Path, error: SnapshotError, *, archive: bool) -> str:
    where = [str(root), error.file] if archive else [str(root / error.file if error.file and root.is_dir() else root)]
    return ": ".join(part for part in (*where, error.item, error.message) if part)


def _no_cluster(root: Path, names: list[str], skipped: Mapping[str, int], captured: Sequence[str]) -> str:
    """A sentence: an empty plan would look like a cluster in which all is well."""
    seen = f"{', '.join(names[:_NAMES_SHOWN])}{', …' if len(names) > _NAMES_SHOWN else ''}"
    kinds = sorted({*skipped, *captured})
    held = f"{', '.join(kinds[:_NAMES_SHOWN])}{', …' if len(kinds) > _NAMES_SHOWN else ''}" if kinds else "no object"
    files = f"1 file ({seen}) holds" if len(names) == 1 else f"{len(names)} files ({seen}) hold"
    wanted = ", ".join(("Node", "Pod", *target_kinds()))
    return (
        f"{root}: no cluster in it: {files} {held}, and none of {wanted}. Give the output of `kubectl get "
        "nodes,pods,machinedeployments,… -A -o json` prints, or a directory that `reconciler snapshot --out DIR` wrote"
    )


def _archived(path: Path) -> Mapping[str, bytes]:
    """What `snapshot --publish` wrote as one file."""
    from reconciler.gitops.snapshots.snapshot_archive import SnapshotArchiveError, read_archive

    try:
        return read_archive(path)
    except SnapshotArchiveError as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def _plain(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_FILE_BYTES:
        raise _too_large(path)
    return path.read_bytes()


def _unpacked(path: Path) -> bytes:
    # What a gzipped file unpacks to is known only while it is unpacked.
    chunks, size, most = [], 0, most_unpacked(path.stat().st_size, LARGEST_FILE_BYTES)
    with gzip.open(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > LARGEST_FILE_BYTES:
                raise _too_large(path)
            if size > most:
                raise InputError(f"{path}: unpacks to more than {most >> 20} MiB. Is this a snapshot?")
            chunks.append(chunk)
    return b"".join(chunks)


def _too_large(path: Path) -> InputError:
    return InputError(f"{path}: larger than {LARGEST_FILE_BYTES >> 30} GiB. Capture in several files")
