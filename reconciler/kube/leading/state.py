"""The loop's memory on the API server: one ConfigMap `reconciler-state-<policy>`, and more if it grows large.

A part (the memory, the last good policy) is bytes with a name. It is in the ConfigMap itself or, above 700 KiB, in chunks that
are named by their content. Chunks are written before the ConfigMap that names them. So a reader always finds the complete old or
the complete new state, wherever a writer stopped. Every write has the resourceVersion that was read. If two instances both
believe that they lead, the second one to write gets a conflict before it acts.
"""

import base64
import hashlib
import threading
import zlib
from collections.abc import Mapping

import msgspec

from reconciler.decisions.ownership.other_policies import STATE_PREFIX
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.leading.loop_name import STATE_LABEL
from reconciler.values.decoding import decode

FORMAT = 1
# A ConfigMap has at most 1 MiB for all its parts; the last good policy and the memory share one.
INLINE_BYTES = 700 * 1024
CHUNK_BYTES = 900 * 1024
LARGEST_BYTES = 32 * 1024 * 1024
LARGEST_CONTENT_BYTES = 512 * 1024 * 1024
"""Unpacked. Without a bound, a small damaged part could take all memory of every process that reads it."""
_MOST_CHUNKS = LARGEST_BYTES // CHUNK_BYTES + 1
_NOT_FOUND, _CONFLICT = 404, 409


class StateUnavailableError(Exception):
    """The state cannot be read or written now. `damaged`: it was read but is unusable, so waiting does not help."""

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged = damaged


class _Part(msgspec.Struct, rename="camel"):
    digest: str
    size_bytes: int
    chunks: list[str] = []


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _ConfigMap(msgspec.Struct, rename="camel"):
    metadata: _Meta
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class _ConfigMaps(msgspec.Struct):
    items: list[_ConfigMap]


class StateObject:
    """The parts of one loop's state; several threads may keep one part each. Between calls it keeps only what was last read or
    written. `loop` is its name, which is that of the policy outside a fleet; `labels` are further ones of its objects."""

    def __init__(self, api: Api, namespace: str, loop: str, labels: Mapping[str, str] | None = None) -> None:
        self._api = api
        self._loop = loop
        self._labels = dict(labels or {})
        self._namespace = namespace
        self.name = f"{STATE_PREFIX}{loop}"
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._lock = threading.Lock()
        self._read: _ConfigMap | None = None
        self._bytes: dict[str, tuple[str, bytes]] = {}
        self._seen: dict[str, str] = {}
        """The last seen version of each part: reading another part must not hide that it has changed since."""

    def load(self, part: str) -> bytes | None:
        """The part as it was last saved, None if it never was. Raises `StateUnavailableError`."""
        with self._lock:
            return self._load(part)

    def _load(self, part: str) -> bytes | None:
        try:
            self._read = self._get(self.name)
            entry = self._entry(part)
            self._seen[part] = entry.digest if entry else ""
            return self._part(self._read, part) if self._read is not None else None
        except (ApiError, UnreachableError) as error:
            raise StateUnavailableError(f"ConfigMap {self._namespace}/{self.name}: {error}") from error

    def save(self, part: str, content: bytes) -> bool:
        """Replace the part; false if it is the same already and nothing was written. Raises `StateUnavailableError`, also if
        somebody else has written since `load`: then load again."""
        with self._lock:
            return self._save(part, content)

    def _save(self, part: str, content: bytes) -> bool:
        digest = _digest(content)
        known = self._entry(part)
        there = known.digest if known else ""
        if self._read is not None and there != self._seen.get(part, there):
            raise self._overtaken()
        if there == digest:
            return False
        packed = zlib.compress(content, 6)
        for size, most in ((len(packed), LARGEST_BYTES), (len(content), LARGEST_CONTENT_BYTES)):
            if size > most:
                raise StateUnavailableError(f"{part} has {size} bytes, more than the limit of {most}")
        try:
            chunks = [] if len(packed) <= INLINE_BYTES else self._write_chunks(packed)
            self._write_index(part, packed, _Part(digest=digest, size_bytes=len(content), chunks=chunks))
            self._bytes[part], self._seen[part] = (digest, content), digest
            if chunks or (known is not None and known.chunks):
                self._remove_unnamed()
        except (ApiError, UnreachableError) as error:
            self._read = None
            if isinstance(error, ApiError) and error.status == _CONFLICT:
                raise self._overtaken() from error
            raise StateUnavailableError(f"ConfigMap {self._namespace}/{self.name}: {error}") from error
        return True

    def _overtaken(self) -> StateUnavailableError:
        message = "somebody else has changed it since. The loop reads it again first"
        return StateUnavailableError(f"ConfigMap {self._namespace}/{self.name}: {message}")

    def _entry(self, part: str) -> _Part | None:
        text = ((self._read.data or {}) if self._read else {}).get(part)
        try:
            return decode(text, _Part) if text else None
        except msgspec.DecodeError:
            return None

    def _part(self, index: _ConfigMap, part: str) -> bytes | None:
        data = index.data or {}
        if data.get("format", str(FORMAT)) != str(FORMAT):
            raise StateUnavailableError(
                f"ConfigMap {self._namespace}/{self.name} has format {data['format']}, which another version wrote. "
                f"This version reads {FORMAT}"
            )
        if part not in data:
            return None
        entry = self._entry(part)
        if entry is None:
            raise self._damaged(part, "cannot read its entry")
        cached = self._bytes.get(part)
        if cached is not None and cached[0] == entry.digest:
            return cached[1]
        try:
            if not 0 <= entry.size_bytes <= LARGEST_CONTENT_BYTES:
                raise ValueError(f"its entry says {entry.size_bytes} bytes, more than the limit of {LARGEST_CONTENT_BYTES}")
            packed = self._packed(index, part, entry)
            unpacking = zlib.decompressobj()
            content = unpacking.decompress(packed, entry.size_bytes + 1)
        except (ValueError, zlib.error) as error:
            raise self._damaged(part, str(error)) from None
        if _digest(content) != entry.digest:
            raise self._damaged(part, "its content differs from the written content")
        self._bytes[part] = (entry.digest, content)
        return content

    def _packed(self, index: _ConfigMap, part: str, entry: _Part) -> bytes:
        if not entry.chunks:
            return base64.b64decode((index.binary_data or {}).get(_packed_key(part), ""), validate=True)
        if len(entry.chunks) > _MOST_CHUNKS:
            raise ValueError(f"its entry names {len(entry.chunks)} chunks, more than the limit of {_MOST_CHUNKS}")
        parts = []
        for name in entry.chunks:
            chunk = self._get(name)
            if chunk is None:
                raise ValueError(f"ConfigMap {name} is gone")
            parts.append(base64.b64decode((chunk.binary_data or {}).get("chunk", ""), validate=True))
        return b"".join(parts)

    def _damaged(self, part: str, why: str) -> StateUnavailableError:
        return StateUnavailableError(f"ConfigMap {self._namespace}/{self.name}, {part}: damaged: {why}", damaged=True)

    def _get(self, name: str) -> _ConfigMap | None:
        try:
            return decode(self._api.get(f"{self._collection}/{name}"), _ConfigMap)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _write_index(self, part: str, packed: bytes, entry: _Part) -> None:
        read = self._read
        data = {**((read.data or {}) if read else {}), "format": str(FORMAT), part: msgspec.json.encode(entry).decode()}
        binary = dict((read.binary_data or {}) if read else {})
        binary.pop(_packed_key(part), None)
        if not entry.chunks:
            binary[_packed_key(part)] = base64.b64encode(packed).decode()
        body = self._object(self.name, binary) | {"data": data}
        if read is None:
            answer = self._api.write("POST", self._collection, body)
        else:
            body["metadata"] = {**self._metadata(self.name), "resourceVersion": read.metadata.resource_version}
            answer = self._api.write("PUT", f"{self._collection}/{self.name}", body)
        self._read = decode(answer, _ConfigMap)

    def _write_chunks(self, packed: bytes) -> list[str]:
        names = []
        for start in range(0, len(packed), CHUNK_BYTES):
            chunk = packed[start : start + CHUNK_BYTES]
            name = f"{self.name}-{hashlib.sha256(chunk).hexdigest()}"
            body = self._object(name, {"chunk": base64.b64encode(chunk).decode()}) | {"immutable": True}
            try:
                self._api.write("POST", self._collection, body)
            except ApiError as error:
                # Named by its content: an existing one has the same content.
                if error.reason != "AlreadyExists":
                    raise
            names.append(name)
        return names

    def _remove_unnamed(self) -> None:
        """Delete chunks that nothing names any more: of the previous state, or of a writer that stopped half way."""
        data = (self._read.data or {}) if self._read else {}
        named = {name for part in data if part != "format" for name in (self._entry(part) or _Part("", 0)).chunks}
        listed = self._api.get(self._collection, {"labelSelector": f"{STATE_LABEL}={self._loop}"})
        for item in decode(listed, _ConfigMaps).items:
            if item.metadata.name != self.name and item.metadata.name not in named:
                self._api.write("DELETE", f"{self._collection}/{item.metadata.name}")

    def _object(self, name: str, binary: dict[str, str]) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self._metadata(name), "binaryData": binary}

    def _metadata(self, name: str) -> dict[str, object]:
        return {"name": name, "namespace": self._namespace, "labels": {STATE_LABEL: self._loop, **self._labels}}


def _packed_key(part: str) -> str:
    """Keys of `data` and `binaryData` must differ."""
    return f"{part}.zlib"


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
