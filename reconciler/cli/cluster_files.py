"""Reading a snapshot from disk: a file or a directory, plain or gzipped, within bounds."""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from reconciler.cli.failure import InputError
from reconciler.cluster.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World

SUFFIXES = (".json", ".yaml", ".yml")
MOST_FILES = 10_000
# A file is read whole; what a capture of 15,000 nodes and 450,000 pods needs stays well below this.
LARGEST_FILE_BYTES = 4 << 30
_CHUNK_BYTES = 1 << 20


class SnapshotFiles(Mapping[str, bytes]):
    """The documents below a path by relative name without `.gz`; contents are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._paths: dict[str, Path] = {}
        if path.is_dir():
            for found in sorted(path.rglob("*")):
                self._add(found.relative_to(path), found)
        else:
            self._paths[path.name.removesuffix(".gz")] = path

    def _add(self, relative: Path, path: Path) -> None:
        name = PurePosixPath(relative).as_posix().removesuffix(".gz")
        if not name.endswith(SUFFIXES) or any(part.startswith(".") for part in relative.parts) or not path.is_file():
            return
        if name in self._paths:
            raise InputError(f"{self._paths[name]} and {path} are one document twice, plain and gzipped: remove one of them")
        if len(self._paths) == MOST_FILES:
            raise InputError(f"{path}: more than {MOST_FILES} files are no snapshot; give the directory of the capture itself")
        self._paths[name] = path

    def __getitem__(self, name: str) -> bytes:
        path = self._paths[name]
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
                chunks, size = [], 0
                while chunk := stream.read(_CHUNK_BYTES):
                    size += len(chunk)
                    if size > LARGEST_FILE_BYTES:
                        raise InputError(f"{path}: larger than {LARGEST_FILE_BYTES >> 30} GiB; capture in several files")
                    chunks.append(chunk)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path}: damaged or cut-off gzip data ({error})") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
        return b"".join(chunks)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def load_world(path: Path | str) -> World:
    """The World of a snapshot file or directory. Raises `InputError` with one sentence that says what is wrong where."""
    root = Path(path)
    if not root.exists():
        raise InputError(
            f"{root}: there is no such file or directory; --cluster takes a snapshot (`reconciler snapshot` writes one)"
        )
    try:
        return read_snapshot(SnapshotFiles(root))
    except SnapshotError as error:
        where = root if not error.file or not root.is_dir() else root / error.file
        raise InputError(": ".join(part for part in (str(where), error.item, error.message) if part)) from None
