"""A tree of policies as each of many clusters has it, as a program: `python -m reconciler.gitops.sources.fleet_child`."""

import sys
from collections.abc import Mapping

import msgspec

from reconciler.gitops.child_answer import answer
from reconciler.gitops.sources.tree_child import unquoted
from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.tree import narrowed, read_trees
from reconciler.values.cluster_identity import ClusterIdentity


class FleetTask(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `read_trees`."""

    files: Mapping[str, bytes]
    now_seconds: int
    revision: str | None
    unread: tuple[UnreadFile, ...] = ()
    before: InForce | None = None
    clusters: tuple[ClusterIdentity, ...] = ()


def read(task: FleetTask) -> bytes:
    """The trees in the order of the clusters, as msgpack. Also one that names no clusters finds the targets of each alone."""
    found = []
    trees = read_trees(
        task.files, task.clusters, now_seconds=task.now_seconds, revision=task.revision, unread=task.unread, before=task.before
    )
    for cluster, tree in zip(task.clusters, trees, strict=True):
        sets = tree.sets if tree.for_many else narrowed(tree.sets, cluster)
        found.append(unquoted(msgspec.structs.replace(tree, sets=sets)))
    return msgspec.msgpack.encode(found)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], read))
