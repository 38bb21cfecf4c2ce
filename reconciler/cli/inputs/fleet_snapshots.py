"""The snapshots of a fleet: one for each cluster, in a directory or at a ref of the repository."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from reconciler.cli.inputs.cluster_files import capi_group, load_snapshot
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.snapshots.digest import Digested
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World


class FleetSnapshot(msgspec.Struct, frozen=True):
    """The snapshot of one cluster, which is read when it is needed: a fleet does not fit into memory at once.

    `cluster` is the name of its directory or file. `load` gives its World, which has this name if the snapshot has none. It
    raises `InputError`. `path` is where it is on a disk.
    """

    cluster: str
    load: Callable[[], World]
    path: Path | None = None


def asked_fleet(path: Path | None, ref: str | None, repository: Path) -> tuple[FleetSnapshot, ...]:
    """The snapshots in a directory, or at a ref of the repository: exactly one of both. Raises `InputError`."""
    if path is not None and ref is not None:
        raise InputError("--cluster and --cluster-ref each name the clusters: give one")
    if path is not None:
        return in_directory(path)
    if ref is not None:
        return at_ref(repository, ref)
    raise InputError("--fleet needs --cluster DIR or --cluster-ref REF: a snapshot for each cluster")


def in_directory(path: Path) -> tuple[FleetSnapshot, ...]:
    """One for each directory and each file in it, by name. Raises `InputError`."""
    if not path.is_dir():
        raise InputError(f"--fleet --cluster {path}: not a directory. Give one with a snapshot for each cluster")
    found = sorted(place for place in path.iterdir() if not place.name.startswith("."))
    if not found:
        raise InputError(f"--fleet --cluster {path}: the directory is empty. It needs a snapshot for each cluster")
    return tuple(FleetSnapshot(_name(place), partial(_on_disk, place), place) for place in found)


def at_ref(repository: Path, ref: str) -> tuple[FleetSnapshot, ...]:
    """Those that `snapshot --publish` left at a ref, by name. Raises `InputError`."""
    try:
        from reconciler.gitops.git.repository import Repository, RepositoryError
        from reconciler.gitops.snapshots.committed_snapshot import published_clusters, snapshot_files
    except ImportError:
        raise InputError("git is not on the PATH, and --cluster-ref needs it. Read files with --cluster PATH instead") from None
    try:
        source = Repository.at(repository)
        commit = source.commit(ref)
        names = published_clusters(source, commit)
    except RepositoryError as error:
        raise InputError(f"--cluster-ref {ref}: {error}") from None

    def load(name: str) -> World:
        try:
            return _named(read_snapshot(Digested(snapshot_files(source, commit, name)), capi_group()), name)
        except (RepositoryError, SnapshotError) as error:
            raise InputError(str(error)) from None

    return tuple(FleetSnapshot(name, partial(load, name)) for name in names)


def worlds(snapshots: tuple[FleetSnapshot, ...]) -> Iterator[tuple[str, World | str]]:
    """Each cluster with its World, or with the sentence why it cannot be read."""
    for snapshot in snapshots:
        try:
            yield snapshot.cluster, snapshot.load()
        except InputError as error:
            yield snapshot.cluster, str(error)


def _on_disk(place: Path) -> World:
    return _named(load_snapshot(place)[0], _name(place))


def _name(place: Path) -> str:
    name = place.name
    for ending in (".gz", ".tgz", ".tar", ".json", ".yaml", ".yml"):
        name = name.removesuffix(ending)
    return name


def _named(world: World, name: str) -> World:
    return world if world.name else msgspec.structs.replace(world, name=name)
