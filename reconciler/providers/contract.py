"""What the loop asks of the owner of the targets: the same contract for the simulated cluster and for real ones."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.plan.plan import Bound


class WriteCode(StrEnum):
    """Why a write was not done.

    Conflict: another manager owns the field; the message names it. Stale: the object differs from the judged one. NotFound: no
    such target or node. Refused: the platform's own bounds or state forbid it. Denied: this account may not write it.
    Unavailable: try later. Unknown: it may or may not have been done; the next view will show it. PassedOver: replicas were
    lowered for a machine, and the platform removed another one. Failed: the platform tried at once and has no machine to
    offer."""

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
    """The outcome of a write. `code` is empty if it was done, else a `WriteCode`. `generation` and `resource_version` are those
    of the object after the write (0 and empty: unknown). If the write was done, `message` states what was found and changed, if
    that is news. `replicas` is the resulting value if it differs from the requested one."""

    code: str = ""
    message: str = ""
    generation: int = 0
    resource_version: str = ""
    replicas: int | None = None

    @property
    def done(self) -> bool:
        """Whether the write was done."""
        return not self.code

    @property
    def undecided(self) -> bool:
        """Whether it may have been done, or may succeed later."""
        return self.code in (WriteCode.UNAVAILABLE, WriteCode.UNKNOWN)


class RemovalState(StrEnum):
    """How far the removal of a node is."""

    DRAINING = "Draining"
    FINISHED = "Finished"
    FAILED = "Failed"


class RemovalProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One removal that had begun. Finished: the node's machine is being deleted and replicas are lowered; `replicas` and
    `generation` are the new values. Failed: it was given up and the node is uncordoned; `code` and `message` state why. Draining:
    `remaining` pods have not left yet, and `message` is the last refused eviction. `target` None: the view no longer has a
    target's machine on the node."""

    target: TargetRef | None
    node: str
    state: RemovalState
    replicas: int = 0
    generation: int = 0
    remaining: int = 0
    code: str = ""
    message: str = ""


class TargetRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """How far the target is with the removal of one machine. Draining: nothing definite yet, try again; `code` and `message`
    state the obstacle. `reopen`, if Failed: whether the node stays and should be uncordoned. `untouched`, while Draining: this
    step wrote nothing to the machine, so it has no mark unless it had one before."""

    state: RemovalState
    replicas: int = 0
    generation: int = 0
    code: str = ""
    message: str = ""
    reopen: bool = True
    untouched: bool = False

    @classmethod
    def waiting(cls, why: WriteResult, *, untouched: bool = False) -> "TargetRemoval":
        """Try again: `why` is the obstacle."""
        return cls(state=RemovalState.DRAINING, code=why.code, message=why.message, untouched=untouched)

    @classmethod
    def failed(cls, why: WriteResult, *, reopen: bool = True) -> "TargetRemoval":
        """Given up: `why` is the reason."""
        return cls(state=RemovalState.FAILED, code=why.code, message=why.message, reopen=reopen)


class LeavingMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine whose node is empty; `machine` is empty if the platform does not let us choose one. `marked`: it may already have
    our mark, so the platform takes it when replicas fall, whoever lowers them."""

    machine: str
    node: str
    marked: bool = False


class TargetProvider(Protocol):
    """The writes on targets of one platform. The caller drains the nodes."""

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """As `ClusterPort.resize`; `annotations` explain the write on the target, if the platform allows that."""

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """As `ClusterPort.adopt`; with `annotations` as in `resize`."""

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """As `ClusterPort.release`."""

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """As `ClusterPort.cancel`."""

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the removal of the machine may begin; nothing is written. `machine` is empty if the platform does not let us
        choose one."""

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Continue removals of empty nodes, one answer each. Exactly their machines go, and replicas fall by as many, never below
        `floor`, in one write if the platform can do that. Repeat while Draining: the platform's own objects show what was
        done."""

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Remove our mark from the machine, unless it is already being deleted. Marks of others stay. The result's message states
        what was undone, and is empty if nothing was."""

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """The policy in the machine's delete mark, if this program made it; empty for none, or if it cannot be read."""


@runtime_checkable
class Finishing(Protocol):
    """A `TargetProvider` whose writes leave something on the target until the platform has acted."""

    def finish(self, targets: Sequence[TargetFacts], now_seconds: int) -> None:
        """Remove it where that is due. Nothing is asked if there is nothing to remove. Raises only what the guard raises."""


@runtime_checkable
class WritesTogether(Protocol):
    """A `TargetProvider` that writes several targets side by side, in threads, and reads them with few calls."""

    def expect(self, targets: Sequence[TargetRef]) -> None:
        """These targets are judged and written next."""


@runtime_checkable
class FindsNodes(Protocol):
    """A `TargetProvider` whose targets may have machines that a description of the target does not show yet."""

    def concealed(self, target: TargetRef, provider_ids: Sequence[str]) -> WriteResult | None:
        """The refusal of a smaller size: one of these Nodes, which belong to no target that was read, is a machine of it. None:
        none of them is."""


class NodeRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is to leave its target. `replicas` is the expected value after this removal and those before it in the plan.
    Removals of one target may end in any order. So each lowers the current value by one, and never below `replicas` of the last
    one."""

    target: TargetRef
    node: str
    replicas: int
    bound: Bound


class ClusterPort(Protocol):
    """A live view and its few writes. Every write is idempotent: repeating it after an unknown outcome is safe."""

    def observe(self) -> World:
        """A complete view. Raises `ViewUnavailableError` if there is none to trust."""

    def now_seconds(self) -> int:
        """The clock of the view (virtual in a simulation)."""

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Set replicas by an apply that never forces. Refused as `Stale` if replicas or their owner differ from `bound`.

        A port that reads the object again before the write may take over a resourceVersion that moved for another reason.
        """

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Take the replicas field over from the judged owner, keeping its value."""

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Remove our marks from the target; its replicas stay."""

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Withdraw requests for nodes that never came: delete exactly `machines` and set replicas, so that no other machine is
        removed. `replicas` equal to the bound's: the target makes replacements.

        The target is read again before the write. The write is refused as `Stale` if one of `machines` has a node by now. The
        same happens if more other machines exist than `replicas`: the platform would choose a running one. A machine that is
        already gone is fine.

        Cluster API: mark each for deletion, then lower replicas in one write. If that is refused, remove the marks. If replicas
        stay, delete the Machine objects. Auto Scaling groups: lower the desired capacity only while no more instances than that
        exist, and never terminate a running one.
        """

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        """Drain each node by evictions that honor disruption budgets, then delete exactly it and lower replicas by one. Returns
        the outcome of each, in the given order.

        Returns when the removals have begun (the nodes have our taint). Nothing of a target is written before the node is empty.
        Removals may begin concurrently. Each failure is its own result, and none stops another.
        """

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """The removal of `node` must not go on. The next `continue_removals` evicts nothing more, uncordons the node and reports
        that (Failed, `CalledOff`, `why`), unless its machine is already being deleted. Call this again as long as it holds. Nodes
        without our taint are left alone."""

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """Take the next step of every removal whose node has our taint, also those of an earlier process, and return how far each
        is. A finished or failed one is reported once. The taint on the node is the only state needed."""


_Answer = TypeVar("_Answer")


@runtime_checkable
class SeveralAtOnce(Protocol):
    """A `ClusterPort` whose platforms may write several targets side by side."""

    def together(self, targets: Sequence[TargetRef], write: Callable[[int], _Answer]) -> Sequence[_Answer]:
        """Call `write` with the position of each target, and return the results in their order. `write` does not raise."""


class ViewUnavailableError(Exception):
    """No view may be trusted; the message states why."""
