"""What the loop asks of whoever holds the targets: the same contract for the simulated cluster and for real ones."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.plan.plan import Bound


class WriteCode(StrEnum):
    """Why a write was not done. Conflict: another manager owns the field, the message names it. Stale: the object is not as it
    was judged. NotFound: no such target or node. Refused: the platform's own bounds or state forbid it. Denied: this account
    may not write it. Unavailable: try later. Unknown: nobody can tell whether it was done; the next view will. PassedOver:
    replicas were lowered for a machine and the platform took another one. Failed: the platform tried at once and has none to
    give."""

    CONFLICT = "Conflict"
    STALE = "Stale"
    NOT_FOUND = "NotFound"
    REFUSED = "Refused"
    DENIED = "Denied"
    UNAVAILABLE = "Unavailable"
    UNKNOWN = "Unknown"
    PASSED_OVER = "PassedOver"
    FAILED = "Failed"


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a write. `code` is empty when done, else a `WriteCode`. `generation` and `resource_version` are the
    object's after the write (0 and empty: not known). `message` of one that is done says what was found and changed, where that
    is news; `replicas` is what it left where that is not what was asked for."""

    code: str = ""
    message: str = ""
    generation: int = 0
    resource_version: str = ""
    replicas: int | None = None

    @property
    def done(self) -> bool:
        """Whether nothing stands against it."""
        return not self.code


class RemovalState(StrEnum):
    """How far the removal of a node is."""

    DRAINING = "Draining"
    FINISHED = "Finished"
    FAILED = "Failed"


class RemovalProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One removal that had begun. Finished: the node's machine is being deleted and replicas are lowered, `replicas`
    and `generation` say to what. Failed: it was given up and the node is open again, `code` and `message` say why.
    Draining: `remaining` pods have not left yet, `message` is the last eviction that was refused. `target` None: the view has no
    machine of a target on the node any more."""

    target: TargetRef | None
    node: str
    state: RemovalState
    replicas: int = 0
    generation: int = 0
    remaining: int = 0
    code: str = ""
    message: str = ""


class TargetRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """How far the removal of one machine is at its target. Draining: nothing definite yet, try again; `code` and `message`
    say what is in the way. `reopen` says whether the node stays and should be open again, when Failed. `untouched`, while
    Draining: nothing of the machine was written in this step, so that it bears no mark unless it bore one before."""

    state: RemovalState
    replicas: int = 0
    generation: int = 0
    code: str = ""
    message: str = ""
    reopen: bool = True
    untouched: bool = False


class LeavingMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine whose node is empty; `machine` is empty when the platform cannot be told which one is to go. `marked`: it may
    bear our mark already, so that the platform takes it when replicas fall, whoever lowers them."""

    machine: str
    node: str
    marked: bool = False


class TargetProvider(Protocol):
    """The writes on targets of one platform. Nodes are drained by whoever calls."""

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """As `ClusterPort.resize`; `annotations` explain the write on the target, where that is allowed."""

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """As `ClusterPort.adopt`; with `annotations` as in `resize`."""

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """As `ClusterPort.release`."""

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """As `ClusterPort.cancel`."""

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the removal of the machine may begin; nothing is written. `machine` is empty when the platform cannot be
        told which one is to go."""

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Go on with removals of empty nodes, one answer each: exactly their machines go and replicas fall by as many, in one
        write where the platform can, not below `floor`. To be repeated while Draining; what it had done is read from the
        platform's own objects."""

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Take back what marks the machine, unless it is going already. Marks of others are left. The message of the result says
        what was taken back, and is empty when nothing was."""

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """The policy whose delete mark, made by this program, the machine bears; empty for none, and where it cannot be read."""


@runtime_checkable
class Finishing(Protocol):
    """A `TargetProvider` whose writes leave something on the target that is taken off when the platform has acted."""

    def finish(self, facts: TargetFacts, now_seconds: int) -> None:
        """Take it off where that is due; nothing is asked where there is nothing. Raises what the guard raises alone."""


class NodeRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is to leave its target. `replicas` is what the plan expects once this removal and those before it in the plan
    are finished: several removals of one target may end in any order, so that each lowers what is there by one, and never below
    `replicas` of the last one."""

    target: TargetRef
    node: str
    replicas: int
    bound: Bound


class ClusterPort(Protocol):
    """A live view and the few writes. Every write is idempotent: repeating it after an unknown outcome is safe."""

    def observe(self) -> World:
        """A complete view. Raises `ViewUnavailableError` when there is none to trust."""

    def now_seconds(self) -> int:
        """The clock that goes with the view (virtual in a simulation)."""

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Set replicas by an apply that never forces; refused as `Stale` when replicas or their owner are not as `bound` says.

        A port that reads the object again before the write may take over a resourceVersion that moved for another reason.
        """

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Take the replicas field over from the owner that was judged, keeping its value."""

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Take our marks off the target; its replicas stay."""

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Take back requests for nodes that never came: delete exactly `machines` and set replicas, so that no other machine
        goes. `replicas` equal to the bound's: the target makes others in their place.

        Read again before the write and refused as `Stale` when one of `machines` has a node by now, or when the target has
        more machines beside them than `replicas` (the platform would choose a running one to go); a machine that is gone
        already is no fault. Cluster API: mark each for deletion, then lower replicas in one write, and take the marks back
        when that is refused (with replicas kept: delete the Machine objects). Auto Scaling groups: lower the desired capacity
        only while no more instances than that are there, and never terminate one that runs.
        """

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        """Drain each node by evictions that honour disruption budgets, then delete exactly it and lower replicas by one; what
        became of each, in the order given.

        Returns when the removals have begun (the nodes carry our taint); nothing of a target is written before the node is
        empty. They may begin side by side; whatever one meets is its own result, and none stops another.
        """

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """The removal of `node` must not go on: the next `continue_removals` evicts nothing more from it, opens it again and
        says so (Failed, `CalledOff`, `why`), unless its machine is going already. To be said again as long as it is so; nodes
        without our taint are left alone."""

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """Take the next step of every removal that carries our taint, also those of an earlier process, and say how
        far each is. One that is finished or failed is told once. The taint on the node is the only state needed."""


class ViewUnavailableError(Exception):
    """There is no view that may be trusted; the message says why."""
