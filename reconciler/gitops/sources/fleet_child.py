"""Which policies of a tree count in which clusters, as a program: `python -m reconciler.gitops.sources.fleet_child`."""

import sys
from collections.abc import Mapping

import msgspec

from reconciler.gitops.bounded_child import answer
from reconciler.policy.neighbours import UnreadFile
from reconciler.policy.problems.findings import Severity
from reconciler.policy.tree import read_trees
from reconciler.values.cluster_identity import ClusterIdentity


class FleetTask(msgspec.Struct, frozen=True, kw_only=True):
    """A tree, and the clusters that are asked about."""

    files: Mapping[str, bytes]
    now_seconds: int
    unread: tuple[UnreadFile, ...] = ()
    clusters: tuple[ClusterIdentity, ...] = ()


class CountsHere(msgspec.Struct, frozen=True, kw_only=True):
    """What counts in one cluster: the names of policies, or why the tree cannot be used there."""

    policies: tuple[str, ...] = ()
    problem: str = ""


def read(task: FleetTask) -> bytes:
    """A `CountsHere` for each of the clusters in their order, as msgpack."""
    found = []
    for tree in read_trees(task.files, task.clusters, now_seconds=task.now_seconds, unread=task.unread):
        error = next((problem for problem in tree.problems if problem.severity is Severity.ERROR), None)
        problem = "" if error is None else f"{error.place}: {error.message}"[:500]
        found.append(CountsHere(policies=tuple(one.policy.name for one in tree.sets), problem=problem))
    return msgspec.msgpack.encode(found)


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], read))
