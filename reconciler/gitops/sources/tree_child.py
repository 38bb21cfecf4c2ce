"""One tree of policy texts, read in a process of its own: `python -m reconciler.gitops.sources.tree_child`."""

import sys
from collections.abc import Mapping

import msgspec

from reconciler.gitops.child_answer import answer
from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.tree import read_tree
from reconciler.values.cluster_identity import ClusterIdentity

_LONGEST_LINE = 2_000


class TreeTask(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `read_tree`."""

    files: Mapping[str, bytes]
    now_seconds: int
    revision: str | None
    unread: tuple[UnreadFile, ...] = ()
    before: InForce | None = None
    cluster: ClusterIdentity | None = None


def read(task: TreeTask) -> bytes:
    """The tree, as msgpack of a `PolicyTree`."""
    tree = read_tree(
        task.files, now_seconds=task.now_seconds, revision=task.revision, unread=task.unread, before=task.before,
        cluster=task.cluster,
    )  # fmt: skip
    return msgspec.msgpack.encode(unquoted(tree))


def unquoted(tree: PolicyTree) -> PolicyTree:
    """The same without lines that nobody would read: each problem quotes its own."""
    shown = (
        problem if len(problem.source) <= _LONGEST_LINE else msgspec.structs.replace(problem, source="")
        for problem in tree.problems
    )
    return msgspec.structs.replace(tree, problems=tuple(shown))


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], read))
