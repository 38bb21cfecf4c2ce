"""Snapshot documents to a World: the pure half of reading a captured cluster."""

from collections.abc import Mapping

from reconciler.cluster.snapshots.apart import Apart
from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import parts, split
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import FILE_NAMES, Manifest, merged, read_manifest
from reconciler.cluster.values.unreadable import ForeignError, SeveralError, SnapshotError
from reconciler.cluster.world import World

__all__ = ["SnapshotError", "read_snapshot"]


_MOST_ERRORS = 50


def read_snapshot(
    files: Mapping[str, bytes],
    capi_group: str = "",
    unused: list[SnapshotError] | None = None,
    apart: Apart | None = None,
) -> World:
    """The World that the files of a snapshot describe.

    `files` maps relative paths (with `/`, without `.gz`) to contents. Each file is read once, when it is needed, so a lazy
    mapping keeps one file in memory at a time. Below `management/`, only the objects that size node groups are read, because the
    nodes and pods there belong to another cluster. The same objects give the same World in any files and any order.

    `capi_group` is the API group that an operator gave Cluster API (empty: its own). `unused` gets readable files without
    objects, such as a version or a list of names. The snapshot is valid without them. `apart` may read half of many pods.

    Raises `SnapshotError` for anything that is damaged, truncated or contradictory, or `SeveralError`, which lists several.
    """
    manifests = [read_manifest(path, files[path]) for path in sorted(files) if _is_manifest(path)]
    manifest = merged(manifests) if manifests else Manifest()
    intake = Intake(capi_group, apart)
    paths = [path for path in sorted(files) if not _is_manifest(path)]
    if not paths:
        raise SnapshotError("", "", "the snapshot has no documents (.json, .yaml or .yml, also .gz)")
    foreign: list[SnapshotError] = []
    errors: list[SnapshotError] = []
    for path in paths:
        _take(path, files[path], intake, foreign, errors, stamps=manifest.captured_seconds is None)
        if len(errors) >= _MOST_ERRORS:
            break  # enough to mend; the rest is told by the next run
    if not errors and not intake.captured and not intake.skipped:
        errors = foreign
    elif unused is not None:
        unused += foreign
    if errors:
        raise SeveralError(errors) if len(errors) > 1 else errors[0]
    return assemble(intake, manifest)


def _take(
    path: str, body: bytes, intake: Intake, foreign: list[SnapshotError], errors: list[SnapshotError], *, stamps: bool
) -> None:
    """Read one file; what is wrong in one document hides nothing that is wrong in the next."""
    try:
        for part in parts(path, body):
            try:
                for document in split(path, part):
                    intake.read(document, stamps=stamps)
            except ForeignError as error:
                foreign.append(error)
            except SeveralError as error:
                errors.extend(error.all)
            except SnapshotError as error:
                errors.append(error)
    except SnapshotError as error:
        errors.append(error)


def _is_manifest(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in FILE_NAMES and folder in ("", "management", "workload")
