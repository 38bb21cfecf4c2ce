"""One tree for many clusters: which policies count where, and the tree as one of the clusters has it."""

import threading
from collections.abc import Mapping

import msgspec

from reconciler.gitops.bounded_child import ChildBounds, ChildError, ChildTooDearError, child_answer
from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.sources.bounded_tree import TREE_BOUNDS, BoundedTreeReader
from reconciler.gitops.sources.fleet_child import CountsHere, FleetTask
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.tree import PolicyTree, narrowed
from reconciler.values.cluster_identity import ClusterIdentity

_CHILD = "reconciler.gitops.sources.fleet_child"
AT_ONCE = 2
"""So many trees are read at a time. All clusters read a changed tree, and each reading takes a process."""
_turns = threading.BoundedSemaphore(AT_ONCE)


class ClusterTreeReader:
    """A `TreeReader` for one cluster of a fleet: also a tree that names no clusters finds the targets of this one alone."""

    def __init__(self, cluster: ClusterIdentity, bounds: ChildBounds = TREE_BOUNDS) -> None:
        self._cluster = cluster
        self._read = BoundedTreeReader(bounds, cluster=cluster)

    def __call__(
        self,
        files: Mapping[str, bytes],
        now_seconds: int,
        revision: str | None,
        unread: tuple[UnreadFile, ...] = (),
        before: InForce | None = None,
    ) -> PolicyTree:
        """See `TreeReader`."""
        with _turns:
            tree = self._read(files, now_seconds, revision, unread, before)
        return tree if tree.for_many else msgspec.structs.replace(tree, sets=narrowed(tree.sets, self._cluster))


def counted(
    fetched: Fetched, clusters: tuple[ClusterIdentity, ...], now_seconds: int, bounds: ChildBounds = TREE_BOUNDS
) -> Mapping[ClusterIdentity, CountsHere]:
    """Which policies of a tree count in each of the clusters. Raises `SourceError`."""
    task = FleetTask(files=dict(fetched.files), now_seconds=now_seconds, unread=fetched.unread, clusters=clusters)
    try:
        with _turns:
            made = child_answer(_CHILD, task, bounds)
        found = msgspec.msgpack.decode(made, type=list[CountsHere])
    except ChildTooDearError as error:
        message = f"reading the policy files for {len(clusters)} clusters took too much {error.bound}, and was stopped"
        raise failed(FaultCode.TOO_COSTLY, message, revision=fetched.revision) from None
    except (ChildError, OSError, msgspec.DecodeError) as error:
        raise failed(FaultCode.DAMAGED, f"cannot read the policy files: {error}", revision=fetched.revision) from None
    return dict(zip(clusters, found, strict=True))
