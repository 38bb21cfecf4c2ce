"""The cluster that a preview is made against: a snapshot on disk, one that was published to a branch, or the live one."""

from pathlib import Path

import msgspec

from reconciler.cli.inputs.cluster_files import capi_group
from reconciler.cli.inputs.plan_inputs import one_cluster, read_world
from reconciler.cli.options.connections import ConnectionChoice
from reconciler.cli.options.decision_instant import decision_instant
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World


def read_cluster(
    path: Path | None, ref: str | None, repository: Path, name: str | None, now: str | None, connection: ConnectionChoice
) -> tuple[World, int]:
    """The World, called `name` where that is given, and the instant in Unix seconds. Raises `InputError`."""
    one_cluster(path, connection)
    if ref is not None and (path is not None or connection != ConnectionChoice()):
        raise InputError("--cluster-ref is a published snapshot; --cluster and --context name other clusters: give one")
    if ref is not None:
        world = published_world(repository, ref, name)
    elif path is not None:
        world, asked = read_world(path, now)
        return _named(world, name), asked
    else:
        from reconciler.cli.inputs.live_inputs import LiveInputs

        world = LiveInputs(connection).world()
    return _named(world, name), world.captured_seconds if now is None else decision_instant(now)


def published_world(directory: Path, ref: str, name: str | None) -> World:
    """What `snapshot --publish` left at a ref of the repository in `directory`. Raises `InputError`."""
    try:
        from reconciler.gitops.git.repository import Repository, RepositoryError
        from reconciler.gitops.snapshots.snapshot_place import snapshot_files
    except ImportError:
        raise InputError(
            "there is no git on the PATH, which --cluster-ref needs; --cluster PATH reads files without it"
        ) from None
    try:
        repository = Repository.at(directory)
        files = snapshot_files(repository, repository.commit(ref), name)
        return read_snapshot(files, capi_group())
    except RepositoryError as error:
        raise InputError(f"--cluster-ref {ref}: {error}") from None
    except SnapshotError as error:
        where = ": ".join(part for part in (error.file, error.item, error.message) if part)
        raise InputError(f"--cluster-ref {ref}: {where}") from None


def _named(world: World, name: str | None) -> World:
    return world if name is None else msgspec.structs.replace(world, name=name)
