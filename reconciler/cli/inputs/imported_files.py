"""Reading demand that other programs kept: whose files they are, and their lines, plain or gzipped."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from reconciler.cli.outputs.failure import InputError
from reconciler.importers.demand.audit_log import read_audit_log
from reconciler.importers.demand.azure_vms import read_azure_vms
from reconciler.importers.demand.lifetimes import LONGEST_LINE_BYTES, MOST_LINES, DemandImportError, Imported, Line
from reconciler.importers.demand.openb import COLUMNS, read_openb
from reconciler.importers.demand.prometheus import Response, read_range_queries, read_response
from reconciler.importers.demand.simkube import read_simkube
from reconciler.values.two_sentences import two_sentences

LARGEST_FILE_BYTES = 64 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_BEGINNING_BYTES = 4096
_MSGPACK_MAPS = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
"""The first byte of a map in msgpack. None of the other forms begins with it."""


def read_imported(paths: Sequence[Path]) -> Imported:
    """The demand in these files, of which the first says whose they are. Raises `InputError` with file and line."""
    files = _Files(paths)
    name = paths[0].resolve().name.partition(".")[0] or "demand"
    try:
        beginning = files.beginning()
        if beginning[:1] and beginning[0] in _MSGPACK_MAPS:
            return read_simkube(name, files.whole())
        if beginning.startswith(COLUMNS):
            return read_openb(name, files.lines())
        if not beginning.lstrip().startswith(b"{"):
            return read_azure_vms(name, files.lines())
        if b"audit.k8s.io/" in beginning:
            return read_audit_log(name, files.lines())
        return read_range_queries(name, files.responses())
    except DemandImportError as problem:
        place = f"{files.path}:{problem.line}:{problem.column}"
        raise InputError(two_sentences(f"{place}: {problem}", problem.hint)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{files.path}: damaged or cut-off gzip data ({error})") from None
    except OSError as error:
        raise InputError(f"{files.path}: {error.strerror or error}") from None


class _Files:
    """Files, one after the other; `path` is the one that is being read."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self.path = paths[0]

    def beginning(self) -> bytes:
        with _opened(self.path) as stream:
            return stream.read(_BEGINNING_BYTES)

    def lines(self) -> Iterator[Line]:
        for path in self._paths:
            self.path = path
            with _opened(path) as stream:
                number = 0
                while line := stream.readline(LONGEST_LINE_BYTES + 1):
                    number += 1
                    if len(line) > LONGEST_LINE_BYTES:
                        raise DemandImportError(number, f"a line of more than {LONGEST_LINE_BYTES >> 20} MiB")
                    if number > MOST_LINES:
                        raise DemandImportError(number, f"more than {MOST_LINES} lines", "import a part of the file")
                    yield number, line

    def responses(self) -> Iterator[Response]:
        for path in self._paths:
            self.path = path
            yield read_response(self.whole())

    def whole(self) -> bytes:
        """The file that is being read."""
        with _opened(self.path) as stream:
            body = stream.read(LARGEST_FILE_BYTES + 1)
        if len(body) > LARGEST_FILE_BYTES:
            raise DemandImportError(1, f"larger than {LARGEST_FILE_BYTES >> 20} MiB", "give a file about a shorter time")
        return body


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as stream:
        packed = stream.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]
