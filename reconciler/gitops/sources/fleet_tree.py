"""One tree for many clusters, read once for all of them: which policies count where, and the tree as one cluster has it."""

import threading
from collections.abc import Callable, Mapping

import msgspec

from reconciler.gitops.bounded_child import ChildBounds, ChildError, ChildTooDearError, child_answer
from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.sources.bounded_tree import AGAIN_SECONDS, TREE_BOUNDS, TreeReader, task_key
from reconciler.gitops.sources.fleet_child import FleetTask
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.problems.findings import Severity
from reconciler.policy.tree import PolicyTree
from reconciler.values.cluster_identity import ClusterIdentity

_CHILD = "reconciler.gitops.sources.fleet_child"
MOST_AT_ONCE = 50
"""So many clusters are read by one process, whose time and output have bounds."""
_KEPT = 3
_LONGEST_PROBLEM = 500


class CountsHere(msgspec.Struct, frozen=True, kw_only=True):
    """What counts in one cluster: the names of policies, or why the tree cannot be used there."""

    policies: tuple[str, ...] = ()
    problem: str = ""


class _Answers(msgspec.Struct):
    at_seconds: int
    trees: dict[ClusterIdentity, PolicyTree]


class FleetTrees:
    """Reads trees in a child process with bounds. `together` gives the clusters whose trees are likely to be asked for next: they
    are read at the same time. Several threads may ask, and one reads."""

    def __init__(self, together: Callable[[], tuple[ClusterIdentity, ...]], bounds: ChildBounds = TREE_BOUNDS) -> None:
        self._together = together
        self._bounds = bounds
        self._lock = threading.Lock()
        self._answers: dict[bytes, _Answers] = {}

    def counted(
        self, fetched: Fetched, clusters: tuple[ClusterIdentity, ...], now_seconds: int
    ) -> Mapping[ClusterIdentity, CountsHere]:
        """Which policies of a tree count in each of the clusters. Raises `SourceError`."""
        task = FleetTask(
            files=dict(fetched.files), now_seconds=now_seconds, revision=fetched.revision, unread=fetched.unread,
            clusters=clusters,
        )  # fmt: skip
        return {cluster: _counts(tree) for cluster, tree in self._read(task).items()}

    def of(self, cluster: ClusterIdentity) -> TreeReader:
        """A `TreeReader` for one of the clusters."""

        def read(
            files: Mapping[str, bytes],
            now_seconds: int,
            revision: str | None,
            unread: tuple[UnreadFile, ...] = (),
            before: InForce | None = None,
        ) -> PolicyTree:
            task = FleetTask(
                files=dict(files), now_seconds=now_seconds, revision=revision, unread=unread, before=before, clusters=(cluster,)
            )
            return self._read(task)[cluster]

        return read

    def _read(self, task: FleetTask) -> Mapping[ClusterIdentity, PolicyTree]:
        """The trees of the task's clusters. Raises `SourceError`."""
        key = task_key(msgspec.structs.replace(task, clusters=()), task.files)
        with self._lock:
            known = self._answers.pop(key, None)
            if known is None or abs(task.now_seconds - known.at_seconds) >= AGAIN_SECONDS:
                known = _Answers(task.now_seconds, {})
            self._answers = {key: known, **dict(list(self._answers.items())[: _KEPT - 1])}
            missing = [cluster for cluster in task.clusters if cluster not in known.trees]
            if missing:
                beside = [one for one in self._together() if one not in known.trees and one not in missing]
                missing += beside[: MOST_AT_ONCE - len(missing) % MOST_AT_ONCE]
            for at in range(0, len(missing), MOST_AT_ONCE):
                self._add(known, msgspec.structs.replace(task, clusters=tuple(missing[at : at + MOST_AT_ONCE])))
            return {cluster: known.trees[cluster] for cluster in task.clusters}

    def _add(self, known: _Answers, task: FleetTask) -> None:
        try:
            found = msgspec.msgpack.decode(child_answer(_CHILD, task, self._bounds), type=list[PolicyTree])
        except ChildTooDearError as error:
            if len(task.clusters) > 1:
                # Some of them may be within the bounds.
                half = len(task.clusters) // 2
                for part in (task.clusters[:half], task.clusters[half:]):
                    self._add(known, msgspec.structs.replace(task, clusters=part))
                return
            message = f"reading the policy files took too much {error.bound}, and was stopped"
            hint = "policies are small: split the tree, and run a loop for each part"
            raise failed(FaultCode.TOO_COSTLY, message, hint, task.revision or "") from None
        except (ChildError, OSError, msgspec.DecodeError) as error:
            raise _broken(error, task) from None
        known.trees.update(zip(task.clusters, found, strict=True))


def _broken(error: Exception, task: FleetTask) -> SourceError:
    return failed(FaultCode.DAMAGED, f"cannot read the policy files: {error}", revision=task.revision or "")


def _counts(tree: PolicyTree) -> CountsHere:
    error = next((problem for problem in tree.problems if problem.severity is Severity.ERROR), None)
    problem = "" if error is None else f"{error.place}: {error.message}"[:_LONGEST_PROBLEM]
    return CountsHere(policies=tuple(one.policy.name for one in tree.sets), problem=problem)
