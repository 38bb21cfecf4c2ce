"""The cluster of a preview: a snapshot on disk, in the repository or on a branch, or the live cluster."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.inputs.cluster_files import capi_group, load_snapshot
from reconciler.cli.inputs.connections import ConnectionChoice
from reconciler.cli.inputs.decision_instant import decision_instant
from reconciler.cli.inputs.plan_inputs import one_cluster
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.snapshots.digest import Digested
from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.values.unreadable import SeveralError
from reconciler.cluster.world import World
from reconciler.plan.preview import SnapshotSeen
from reconciler.policy.documents import PolicySet
from reconciler.values.instant import instant_text

if TYPE_CHECKING:
    pass


class ClusterAsked(msgspec.Struct, frozen=True, kw_only=True):
    """As the user named it, at most one of: `path` on disk, `ref` with published snapshots, `in_base`. The last is a place in the
    repository as `base` has it (`head` None: a directory). None of them: a live cluster."""

    path: Path | None
    ref: str | None
    in_base: str | None
    repository: Path
    base: str | None
    head: str | None
    name: str | None
    now: str | None
    connection: ConnectionChoice

    def check(self, *, reviewed: bool) -> None:
        """Raises `InputError` for several, and where a pull request is reviewed for a snapshot that it may have written."""
        one_cluster(self.path, self.connection)
        given = [self.path is not None, self.ref is not None, self.in_base is not None, self.connection != ConnectionChoice()]
        if sum(given) > 1:
            raise InputError("--cluster, --cluster-ref, --cluster-in-base and --context each name a cluster: give one")
        if self.in_base is not None and self.base is None:
            raise InputError("--cluster-in-base reads the snapshot as --base REF has it: give that one")
        if reviewed and self.path is not None:
            outside_checkout(self.path, self.repository, "--cluster", "--cluster-in-base reads it as the base has it")


def outside_checkout(path: Path, repository: Path, option: str, instead: str) -> None:
    """Raises `InputError` for a file that the change under review may have brought."""
    start = repository.resolve()
    top = next((place for place in (start, *start.parents) if (place / ".git").exists()), start)
    for place in (path.absolute(), path.resolve()):
        if place.is_relative_to(top):
            raise InputError(
                f"{option} {path}: it is in the checkout, where the change under review may have written it. {instead}"
            )


def read_cluster(
    asked: ClusterAsked, before: Callable[[int], tuple[PolicySet, ...]] = lambda _: ()
) -> tuple[World, int, SnapshotSeen | None]:
    """The World, called `name` where that is given, the instant in Unix seconds, and what snapshot it is. Raises `InputError`.

    `before` gives the policies in force at an instant. For a live cluster, they determine what is read from clouds, in addition
    to what belongs to its nodes. The change under review does not count here: its author must not choose which cloud is read, and
    with which identity.
    """
    instant = None if asked.now is None else decision_instant(asked.now)
    if asked.ref is not None:
        world, seen = _in_repository(asked, asked.ref)
    elif asked.in_base is not None:
        world, seen = _in_repository(asked, asked.base or "")
    elif asked.path is not None:
        world, digest = load_snapshot(asked.path)
        seen = _seen(str(asked.path), digest, world)
    else:
        from reconciler.cli.inputs.live_inputs import LiveInputs

        live = LiveInputs(asked.connection)
        world, seen = live.world(policies=before(int(time.time())), own_clouds=True), None
    now_seconds = world.captured_seconds if instant is None else instant
    if seen is not None and instant is None and not now_seconds:
        raise InputError(f"{seen.source}: nothing in the snapshot says when it was taken: give --now RFC3339")
    return (world if asked.name is None else msgspec.structs.replace(world, name=asked.name)), now_seconds, seen


def _in_repository(asked: ClusterAsked, ref: str) -> tuple[World, SnapshotSeen]:
    option = f"--cluster-ref {ref}" if asked.in_base is None else f"--cluster-in-base {asked.in_base}"
    try:
        from reconciler.gitops.git.repository import Repository, RepositoryError
        from reconciler.gitops.snapshots.committed_snapshot import changes_between, committed_files, snapshot_files
    except ImportError:
        raise InputError(
            f"git is not on the PATH, and {option.split(maxsplit=1)[0]} needs it. Read files with --cluster PATH instead"
        ) from None
    try:
        repository = Repository.at(asked.repository)
        commit = repository.commit(ref)
        changed = False
        if asked.in_base is None:
            files = snapshot_files(repository, commit, asked.name)
        else:
            files = committed_files(repository, commit, asked.in_base)
            head = None if asked.head is None else repository.commit(asked.head)
            changed = head is not None and changes_between(repository, repository.merge_base(commit, head), head, asked.in_base)
        world, digest = _world(files)
    except RepositoryError as error:
        raise InputError(f"{option}: {error}") from None
    except SnapshotError as error:
        listed = "".join(f"\n  {one}" for one in error.all) if isinstance(error, SeveralError) else f" {error}"
        raise InputError(f"{option}:{listed}") from None
    return world, msgspec.structs.replace(_seen(asked.in_base or ref, digest, world), revision=commit, changed=changed)


def _world(files: Mapping[str, bytes]) -> tuple[World, str]:
    digested = Digested(files)
    return read_snapshot(digested, capi_group()), digested.digest()


def _seen(source: str, digest: str, world: World) -> SnapshotSeen:
    captured = instant_text(world.captured_seconds) if world.captured_seconds else None
    return SnapshotSeen(source=source, digest=digest, captured_at=captured)
