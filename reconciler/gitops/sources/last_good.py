"""The last good revision with the bytes of its policy files: a restart begins with it, whatever the source has then."""

import base64
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from reconciler.gitops.whole_file import write_whole
from reconciler.values.decoding import decode
from reconciler.values.instant import UnixSeconds

_MOST_BYTES = 128 << 20
_PREFIX = b"reconciler-last-good/1\n"


class LastGoodError(Exception):
    """The stored policy cannot be read or written; the sentence states why. `damaged`: it was read, but is unusable."""

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


class LastGood(msgspec.Struct, frozen=True, kw_only=True):
    """`files` are the policy files by path relative to `root`, as they were read at `read_seconds` (Unix time). Holds and windows
    were checked at that time. `unread` are files next to them that could not be read. `source` is the name of their source, and
    `signer` is the name of the person who signed them."""

    source: str
    revision: str
    root: str
    files: Mapping[str, bytes]
    read_seconds: UnixSeconds
    signer: str = ""
    unread: tuple[str, ...] = ()


class LastGoodStore(Protocol):
    """Keeps one LastGood next to the loop's memory. A write is complete once `save` returns."""

    def load(self) -> LastGood | None:
        """What was last saved; None at the first start. Raises `LastGoodError`."""

    def save(self, last_good: LastGood) -> None:
        """Replace it. Raises `LastGoodError`."""


def encode_last_good(last_good: LastGood) -> bytes:
    """Compact ASCII (base64 of deflated JSON), fit for a ConfigMap's `data`. Equal values give equal bytes."""
    packed = zlib.compress(msgspec.json.encode(last_good, order="deterministic"), level=9)
    return _PREFIX + base64.b64encode(packed) + b"\n"


def decode_last_good(data: bytes) -> LastGood:
    """The value of `encode_last_good`. Raises `LastGoodError`."""
    if not data.startswith(_PREFIX):
        raise LastGoodError("the stored policy has a format that this version does not know", damaged=True)
    try:
        stream = zlib.decompressobj()
        text = stream.decompress(base64.b64decode(data.removeprefix(_PREFIX).strip(), validate=True), _MOST_BYTES)
        if not stream.eof:
            raise LastGoodError("the stored policy is cut off, or too large", damaged=True)
        return decode(text, LastGood)
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise LastGoodError(f"the stored policy is damaged: {error}", damaged=True) from None


class FileLastGoodStore:
    """One file, replaced as a whole. For a reconciler with its own disk, and for tests."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> LastGood | None:
        """Read the file, if it exists."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LastGoodError(f"{self._path}: {error.strerror or error}") from None
        return decode_last_good(data)

    def save(self, last_good: LastGood) -> None:
        """Write under another name, then rename, so that a reader and a crash see the old or the new one."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, encode_last_good(last_good))
        except OSError as error:
            raise LastGoodError(f"{self._path}: {error.strerror or error}") from None


class MemoryLastGoodStore:
    """Keeps it while the process lives: for commands that read once."""

    def __init__(self) -> None:
        self._bytes = b""

    def load(self) -> LastGood | None:
        """Decode what was saved."""
        return decode_last_good(self._bytes) if self._bytes else None

    def save(self, last_good: LastGood) -> None:
        """Encode it."""
        self._bytes = encode_last_good(last_good)
