"""Snapshot documents to a World: the pure half of reading a captured cluster."""

from collections.abc import Mapping

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import documents
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import FILE_NAMES, Manifest, merged, read_manifest
from reconciler.cluster.snapshots.unreadable import SnapshotError
from reconciler.cluster.world import World

__all__ = ["SnapshotError", "read_snapshot"]


def read_snapshot(files: Mapping[str, bytes], capi_group: str = "") -> World:
    """The World that the files of a snapshot describe.

    `files` maps relative paths (with `/`, without `.gz`) to contents; each is asked for once and only when its turn
    comes, so that a lazy mapping keeps one file in memory at a time. Below `management/` only what sizes node groups is
    read, since the nodes and pods there are those of another cluster. The same objects give the same World whatever
    files they are in, in whatever order.

    `capi_group` is the API group that an operator gave Cluster API (empty: its own).

    Raises `SnapshotError` for anything that is damaged, cut off, or contradicts itself.
    """
    manifests = [read_manifest(path, files[path]) for path in sorted(files) if _is_manifest(path)]
    manifest = merged(manifests) if manifests else Manifest()
    intake = Intake(capi_group)
    paths = [path for path in sorted(files) if not _is_manifest(path)]
    if not paths:
        raise SnapshotError("", "", "the snapshot holds no documents (.json, .yaml or .yml, also .gz)")
    for path in paths:
        for document in documents(path, files[path]):
            intake.read(document, stamps=manifest.captured_seconds is None)
    return assemble(intake, manifest)


def _is_manifest(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in FILE_NAMES and folder in ("", "management", "workload")
