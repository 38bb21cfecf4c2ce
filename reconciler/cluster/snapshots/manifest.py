"""`snapshot.yaml`: when a snapshot was taken, of which cluster, and which kinds it holds in full."""

import msgspec

from reconciler.cluster.snapshots import yaml_texts
from reconciler.cluster.values.instant import unix_seconds
from reconciler.cluster.values.kubernetes_version import KubernetesVersion, kubernetes_version
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.cluster.values.unreadable import SnapshotError, UnreadableError
from reconciler.values.decoding import decode

FORMAT_MAJOR = 1
FILE_NAMES = ("snapshot.yaml", "snapshot.yml", "snapshot.json")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What `snapshot.yaml` says. `captured_seconds` None: not said; `kinds` were captured even where nothing is there;
    `version` is the API server's, `gates` are its feature gates, by name."""

    captured_seconds: int | None = None
    cluster: str = ""
    kinds: frozenset[str] = frozenset()
    version: KubernetesVersion | None = None
    gates: tuple[tuple[str, bool], ...] = ()


class _Written(msgspec.Struct, rename="camel"):
    format_version: str | int | float
    captured_at: str | None = None
    cluster: str = ""
    kinds: list[str] | None = None
    kubernetes_version: str = ""
    feature_gates: dict[str, bool] | None = None


def read_manifest(file: str, body: bytes) -> Manifest:
    """One manifest. Raises `SnapshotError`, also for a format that this version does not know."""
    try:
        parts = yaml_texts.json_parts(body)
        if len(parts) != 1:
            raise SnapshotError(file, "", f"{len(parts)} documents instead of one")
        written = decode(parts[0], _Written)
    except yaml_texts.YamlError as error:
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
    return Manifest(
        captured_seconds=captured,
        cluster=written.cluster,
        kinds=frozenset(written.kinds or ()),
        version=version,
        gates=tuple(sorted((written.feature_gates or {}).items())),
    )


def merged(manifests: list[Manifest]) -> Manifest:
    """One manifest for all folders; the first that says a thing wins, kinds add up."""
    return Manifest(
        captured_seconds=next((item.captured_seconds for item in manifests if item.captured_seconds is not None), None),
        cluster=next((item.cluster for item in manifests if item.cluster), ""),
        kinds=frozenset().union(*(item.kinds for item in manifests)),
        version=next((item.version for item in manifests if item.version), None),
        gates=next((item.gates for item in manifests if item.gates), ()),
    )
