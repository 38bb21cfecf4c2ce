"""`snapshot.yaml`: when a snapshot was taken, of which cluster, and which kinds it holds in full."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots import texts
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.kubernetes_version import KubernetesVersion, kubernetes_version
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.cluster.values.unreadable import SnapshotError, UnreadableError
from reconciler.values.decoding import decode, decoder

FORMAT_MAJOR = 1
FILE_NAMES = ("snapshot.yaml", "snapshot.yml", "snapshot.json")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What `snapshot.yaml` says. `captured_seconds` None: not said; `kinds` were captured even where nothing is there;
    `version` is the API server's."""

    captured_seconds: int | None = None
    cluster: str = ""
    kinds: frozenset[str] = frozenset()
    version: KubernetesVersion | None = None


class _Written(msgspec.Struct, rename="camel"):
    format_version: str | int | float
    captured_at: str | None = None
    cluster: str = ""
    kinds: list[str] | None = None
    kubernetes_version: str = ""


def read_manifest(file: str, body: bytes) -> Manifest:
    """One manifest. Raises `SnapshotError`, also for a format that this version does not know."""
    try:
        parts = texts.json_parts(body)
        if len(parts) != 1:
            raise SnapshotError(file, "", f"{len(parts)} documents instead of one")
        written = decode(parts[0], _Written)
    except texts.YamlError as error:
        raise SnapshotError(file, error.item, error.message) from None
    except DECODING_ERRORS as error:
        raise SnapshotError(file, "", finding(error)) from None
    major = str(written.format_version).partition(".")[0]
    if major != str(FORMAT_MAJOR):
        raise SnapshotError(
            file,
            "",
            f"formatVersion {written.format_version}: this version reads {FORMAT_MAJOR}.x. Use a newer reconciler",
        )
    try:
        captured = unix_seconds(written.captured_at) if written.captured_at is not None else None
    except UnreadableError as error:
        raise SnapshotError(file, "", f"capturedAt: {error}") from None
    version = kubernetes_version(written.kubernetes_version)
    if written.kubernetes_version and version is None:
        raise SnapshotError(file, "", f"invalid kubernetesVersion {written.kubernetes_version!r}. Write it like v1.36.3")
    return Manifest(captured_seconds=captured, cluster=written.cluster, kinds=frozenset(written.kinds or ()), version=version)


def merged(manifests: list[Manifest]) -> Manifest:
    """One manifest for all folders; the first that says a thing wins, kinds add up."""
    return Manifest(
        captured_seconds=next((item.captured_seconds for item in manifests if item.captured_seconds is not None), None),
        cluster=next((item.cluster for item in manifests if item.cluster), ""),
        kinds=frozenset().union(*(item.kinds for item in manifests)),
        version=next((item.version for item in manifests if item.version), None),
    )


# The newest instant that an object mentions as past: what `now` is when nobody wrote down when a capture was made.


class _ManagedTime(msgspec.Struct, gc=False):
    time: str | None = None


class _StampedMeta(msgspec.Struct, rename="camel"):
    creation_timestamp: str | None = None
    managed_fields: list[_ManagedTime] | None = None


class _StampedCondition(msgspec.Struct, rename="camel", gc=False):
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None
    last_probe_time: str | None = None
    last_update_time: str | None = None


class _StampedStatus(msgspec.Struct, rename="camel"):
    conditions: list[_StampedCondition] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    last_updated: str | None = None


class _Stamped(msgspec.Struct):
    metadata: _StampedMeta | None = None
    status: _StampedStatus | None = None


_decoder = decoder(_Stamped)
_PLAIN_LENGTH = len("1970-01-01T00:00:00Z")


class Newest:
    """The newest instant of all objects seen: `seconds`, Unix time, 0 when there is none.

    Read are creation, field managers, conditions, starts and completions. Left out is what may lie ahead: deletion
    times (they include the grace period), expiry dates and whatever stands in annotations.
    """

    def __init__(self) -> None:
        self.seconds = 0
        self._text = ""

    def see(self, item: Raw) -> None:
        """Take one object into account."""
        try:
            stamped = _decoder.decode(item)
        except DECODING_ERRORS:
            # A kind whose fields mean something else; whether the object itself is sound is judged where it is read.
            return
        for text in _texts(stamped):
            if text:
                self._take(text)

    def _take(self, text: str) -> None:
        plain = len(text) == _PLAIN_LENGTH and text.endswith("Z")
        # Texts of this form sort as their instants do, and nearly all are older than the newest one so far.
        if plain and text <= self._text:
            return
        try:
            self.seconds = max(self.seconds, unix_seconds(text))
        except UnreadableError:
            return
        if plain:
            self._text = text


def _texts(stamped: _Stamped) -> Iterator[str | None]:
    if stamped.metadata is not None:
        yield stamped.metadata.creation_timestamp
        for entry in stamped.metadata.managed_fields or ():
            yield entry.time
    if stamped.status is not None:
        yield stamped.status.start_time
        yield stamped.status.completion_time
        yield stamped.status.last_updated
        for item in stamped.status.conditions or ():
            yield from (item.last_transition_time, item.last_heartbeat_time, item.last_probe_time, item.last_update_time)
