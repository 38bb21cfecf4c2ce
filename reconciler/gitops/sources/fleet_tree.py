"""One tree for many clusters, read once for all of them: which policies apply where, and the tree as one cluster has it."""

import threading
from collections.abc import Callable, Mapping

import msgspec

from reconciler.gitops.bounded_child import ChildBounds, ChildError, ChildTooDearError, child_answer
from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.sources.bounded_tree import AGAIN_SECONDS, TREE_BOUNDS, TreeReader, task_key
from reconciler.gitops.sources.fleet_child import FleetTask
from reconciler.gitops.sources.source import Fetched
from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Severity
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
    """What was read of one tree. `dear` has the clusters for which that is beyond the bounds. `fault`: it is for any, so that
    nothing more of it is read."""

    at_seconds: int
    trees: dict[ClusterIdentity, PolicyTree]
    dear: dict[ClusterIdentity, SourceError] = {}
    fault: SourceError | None = None


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
        """Which policies of a tree count in each of the clusters. Raises `SourceError` if that cannot be told for any."""
        task = FleetTask(
            files=dict(fetched.files), now_seconds=now_seconds, revision=fetched.revision, unread=fetched.unread,
            clusters=clusters,
        )  # fmt: skip
        found = self._read(task)
        faults = [one for one in found.values() if isinstance(one, SourceError)]
        if faults and len(faults) == len(found):
            raise SourceError(faults[0].fault)
        return {cluster: _counts(one) for cluster, one in found.items()}

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
            found = self._read(task)[cluster]
            if isinstance(found, SourceError):
                raise SourceError(found.fault)
            return found

        return read

    def _read(self, task: FleetTask) -> Mapping[ClusterIdentity, PolicyTree | SourceError]:
        """The trees of the task's clusters, or why there is none."""
        key = task_key(msgspec.structs.replace(task, clusters=()), task.files)
        with self._lock:
            known = self._answers.pop(key, None)
            if known is None or abs(task.now_seconds - known.at_seconds) >= AGAIN_SECONDS:
                known = _Answers(task.now_seconds, {})
            self._answers = {key: known, **dict(list(self._answers.items())[: _KEPT - 1])}
            missing = [cluster for cluster in task.clusters if cluster not in known.trees and cluster not in known.dear]
            if missing:
                read = known.trees.keys() | known.dear.keys() | set(missing)
                beside = [one for one in self._together() if one not in read]
                missing += beside[: MOST_AT_ONCE - len(missing) % MOST_AT_ONCE]
            broken: dict[ClusterIdentity, SourceError] = {}
            for at in range(0, len(missing), MOST_AT_ONCE):
                broken |= self._add(known, msgspec.structs.replace(task, clusters=tuple(missing[at : at + MOST_AT_ONCE])))
            faults = broken | known.dear
            return {cluster: known.trees.get(cluster) or faults[cluster] for cluster in task.clusters}

    def _add(self, known: _Answers, task: FleetTask) -> dict[ClusterIdentity, SourceError]:
        """Read for the task's clusters into `known`. Those that are beyond the bounds are kept there. What failed otherwise is
        returned, and not kept: the tree is not at fault."""
        if known.fault is not None:
            return dict.fromkeys(task.clusters, known.fault)
        try:
            found = msgspec.msgpack.decode(child_answer(_CHILD, task, self._bounds), type=list[PolicyTree])
            known.trees.update(zip(task.clusters, found, strict=True))
        except ChildTooDearError as error:
            if len(task.clusters) > 1:
                return self._add_parts(known, task)
            message = f"reading the policy files took too much {error.bound}, and was stopped"
            hint = "policies are small: split the tree, and run a loop for each part"
            known.dear[task.clusters[0]] = failed(FaultCode.TOO_COSTLY, message, hint, task.revision or "")
        except (ChildError, OSError, msgspec.DecodeError, ValueError) as error:
            return dict.fromkeys(task.clusters, _broken(error, task))
        return {}

    def _add_parts(self, known: _Answers, task: FleetTask) -> dict[ClusterIdentity, SourceError]:
        """Read for clusters that are too much together. Where the first and the last alone are too much, the tree is at fault."""
        first, *inner, last = task.clusters
        broken: dict[ClusterIdentity, SourceError] = {}
        for cluster in (first, last):
            broken |= self._add(known, msgspec.structs.replace(task, clusters=(cluster,)))
        if first in known.dear and last in known.dear:
            known.fault = known.dear[first]
        half = len(inner) // 2
        for part in (inner[:half], inner[half:]):
            if part:
                broken |= self._add(known, msgspec.structs.replace(task, clusters=tuple(part)))
        return broken


def _broken(error: Exception, task: FleetTask) -> SourceError:
    return failed(FaultCode.DAMAGED, f"cannot read the policy files: {error}", revision=task.revision or "")


def _counts(tree: PolicyTree | SourceError) -> CountsHere:
    if isinstance(tree, SourceError):
        return CountsHere(problem=tree.fault.sentence[:_LONGEST_PROBLEM])
    error = next((problem for problem in tree.problems if problem.severity is Severity.ERROR), None)
    problem = "" if error is None else f"{error.place}: {error.message}"[:_LONGEST_PROBLEM]
    return CountsHere(policies=tuple(one.policy.name for one in tree.sets), problem=problem)
