"""Reading a fetched tree in a child process: its author can take neither the lock nor the time of the loop.

Limits of lengths and linear readers only cover texts that somebody thought of. A bound of the kernel covers all others.
"""

import hashlib
from collections.abc import Mapping
from typing import Protocol

import msgspec

from reconciler.gitops.bounded_child import Bound, ChildBounds, ChildError, ChildTooDearError, child_answer
from reconciler.gitops.git.fault import FaultCode, SourceError, failed
from reconciler.gitops.git.tree_bounds import MAX_TREE_BYTES
from reconciler.gitops.sources.tree_child import TreeTask
from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.policy_tree import PolicyTree
from reconciler.values.cluster_identity import ClusterIdentity

_MIB = 1 << 20
TREE_BOUNDS = ChildBounds(seconds=300, cpu_seconds=60, memory_bytes=384 * _MIB, output_bytes=32 * _MIB)
"""The container has room for it next to the loop: the address space of a child, of which it uses less."""
AGAIN_SECONDS = 600
"""How long the answer about a refused tree counts: windows and holds depend on the clock, and nothing else changes."""
_CHILD = "reconciler.gitops.sources.tree_child"
_KEPT = 2


class TreeReader(Protocol):
    """Reads a tree of policy texts."""

    def __call__(
        self,
        files: Mapping[str, bytes],
        now_seconds: int,
        revision: str | None,
        unread: tuple[UnreadFile, ...] = (),
        before: InForce | None = None,
    ) -> PolicyTree:
        """As `reconciler.policy.tree.read_tree`. Raises `SourceError` for what cannot be read within bounds."""


class _Answer(msgspec.Struct, frozen=True):
    key: bytes
    at_seconds: int
    tree: PolicyTree | None
    error: SourceError | None


class BoundedTreeReader:
    """A `TreeReader`. A refused tree is not read again at each look: that would use its time forever. `cluster` is the one whose
    policies are read where a tree names clusters."""

    def __init__(self, bounds: ChildBounds = TREE_BOUNDS, *, cluster: ClusterIdentity | None = None) -> None:
        self._bounds = bounds
        self._cluster = cluster
        self._answers: tuple[_Answer, ...] = ()

    def __call__(
        self,
        files: Mapping[str, bytes],
        now_seconds: int,
        revision: str | None,
        unread: tuple[UnreadFile, ...] = (),
        before: InForce | None = None,
    ) -> PolicyTree:
        """See `TreeReader`."""
        size = sum(map(len, files.values()))
        if size > MAX_TREE_BYTES:
            message = f"the policy files have {size} bytes together, the limit is {MAX_TREE_BYTES}"
            raise failed(FaultCode.TOO_COSTLY, message, "is this a policy directory?", revision or "")
        task = TreeTask(
            files=dict(files), now_seconds=now_seconds, revision=revision, unread=unread, before=before, cluster=self._cluster
        )
        key = task_key(task, task.files)
        answer = next((one for one in self._answers if one.key == key), None)
        if answer is None or not 0 <= now_seconds - answer.at_seconds < AGAIN_SECONDS:
            answer = self._asked(key, task)
            self._answers = (answer, *(one for one in self._answers if one.key != key))[:_KEPT]
        if answer.tree is None:
            raise answer.error or _broken("no answer", revision)
        return answer.tree

    def _asked(self, key: bytes, task: TreeTask) -> _Answer:
        now_seconds, revision = task.now_seconds, task.revision
        try:
            made = child_answer(_CHILD, task, self._bounds)
            return _Answer(key, now_seconds, msgspec.msgpack.decode(made, type=PolicyTree), None)
        except ChildTooDearError as error:
            return _Answer(key, now_seconds, None, self._too_dear(error.bound, revision))
        except (ChildError, OSError) as error:
            # Not kept, because the tree is not at fault.
            raise _broken(str(error), revision) from None

    def _too_dear(self, bound: Bound, revision: str | None) -> SourceError:
        limits = {
            Bound.TIME: f"more than {self._bounds.cpu_seconds} s of a processor, or {self._bounds.seconds:g} s in all",
            Bound.MEMORY: f"more than {self._bounds.memory_bytes // _MIB} MiB of memory",
            Bound.OUTPUT: f"more than {self._bounds.output_bytes // _MIB} MiB of output",
        }
        message = f"reading the policy files took {limits[bound]}, and was stopped"
        hint = "policies are small: split the tree, and run a loop for each part"
        return failed(FaultCode.TOO_COSTLY, message, hint, revision or "")


def task_key(task: msgspec.Struct, files: Mapping[str, bytes]) -> bytes:
    """What a reading of these files depends on, but for the time."""
    beside = msgspec.structs.replace(task, files={}, now_seconds=0)
    digest = hashlib.sha256(msgspec.msgpack.encode(beside, order="deterministic"))
    for path in sorted(files):
        digest.update(hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest())
        digest.update(hashlib.sha256(files[path]).digest())
    return digest.digest()


def _broken(why: str, revision: str | None) -> SourceError:
    return failed(FaultCode.DAMAGED, f"cannot read the policy files: {why}", revision=revision or "")
