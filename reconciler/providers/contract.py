"""What the loop asks of whoever holds the targets: the same contract for the simulated cluster and for real ones."""

from enum import StrEnum
from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.plan.plan import Bound


class WriteCode(StrEnum):
    """Why a write was not done. Conflict: another manager owns the field, the message names it. Stale: the object is
    not as it was judged. NotFound: no such target or node. Refused: the platform's own bounds or state forbid it.
    Unavailable: try later. Unknown: nobody can tell whether it was done; the next view will."""

    CONFLICT = "Conflict"
    STALE = "Stale"
    NOT_FOUND = "NotFound"
    REFUSED = "Refused"
    UNAVAILABLE = "Unavailable"
    UNKNOWN = "Unknown"


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a write. `code` is empty when done, else a `WriteCode`. `generation` is the object's after the
    write (0: not known)."""

    done: bool
    code: str = ""
    message: str = ""
    generation: int = 0


class RemovalState(StrEnum):
    """How far the removal of a node is."""

    DRAINING = "Draining"
    FINISHED = "Finished"
    FAILED = "Failed"


class RemovalProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One removal that had begun. Finished: the node's machine is being deleted and replicas are lowered, `replicas`
    and `generation` say to what. Failed: it was given up and the node is open again, `code` and `message` say why.
    Draining: `remaining` pods have not left yet, `message` is the last eviction that was refused."""

    target: TargetRef
    node: str
    state: RemovalState
    replicas: int = 0
    generation: int = 0
    remaining: int = 0
    code: str = ""
    message: str = ""


class ClusterPort(Protocol):
    """A live view and the few writes. Every write is idempotent: repeating it after an unknown outcome is safe."""

    def observe(self) -> World:
        """A complete view. Raises `ViewUnavailableError` when there is none to trust."""

    def now_seconds(self) -> int:
        """The clock that goes with the view (virtual in a simulation)."""

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Set replicas by an apply that never forces; refused as `Stale` when the object is not as `bound` says."""

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Take the replicas field over from the owner that was judged, keeping its value."""

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Take our marks off the target; its replicas stay."""

    def remove_node(self, target: TargetRef, node: str, replicas: int, bound: Bound) -> WriteResult:
        """Drain `node` by evictions that honour disruption budgets, then delete exactly it and lower replicas by one.

        Returns when the removal has begun (the node carries our taint); nothing of the target is written before the
        node is empty. `replicas` is what the plan expects once this removal and those before it in the plan are
        finished: several removals of one target may end in any order, so that each lowers what is there by one, and
        never below `replicas` of the last one.
        """

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """Take the next step of every removal that carries our taint, also those of an earlier process, and say how
        far each is. One that is finished or failed is told once. The taint on the node is the only state needed."""


class ViewUnavailableError(Exception):
    """There is no view that may be trusted; the message says why."""
