"""Node pools of Crusoe as targets that are written.

A pool has no version, no marks and no owner. So Crusoe cannot refuse a write because the pool has changed since it was read.
Every write follows its own read, in the same moment, compares the count, and sends only the count. The remaining gap is the time
between the two calls.
"""

from collections.abc import Callable, Mapping

from reconciler.cluster.target import TargetRef
from reconciler.plan.plan import Bound
from reconciler.platforms.crusoe.facts.failures import failure_kind, plain
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.cancellation import Cancellations
from reconciler.platforms.crusoe.writing.fresh import Reading, read
from reconciler.platforms.crusoe.writing.notes import Keeper, Notes
from reconciler.platforms.crusoe.writing.removal import Removals
from reconciler.platforms.crusoe.writing.write_answer import failed
from reconciler.providers.contract import LeavingMachine, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import objection


class CrusoeProvider:
    """A `TargetProvider`. `keeper` keeps the notes of removals. `guard` raises if this process may not write."""

    def __init__(self, account: Account, keeper: Keeper, guard: Callable[[], None] = lambda: None) -> None:
        self._account = account
        self._notes = Notes(keeper)
        self._guard = guard
        self._removals = Removals(account, self._notes, self._read, guard)

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Upwards only. Removals name each machine. Nothing on a pool can explain the write."""

        def write(reading: Reading) -> WriteResult:
            if (wrong := objection(reading.facts, bound)) is not None:
                return wrong
            if replicas < reading.item.count:
                message = f"{target}: nobody can tell which machines Crusoe would remove at count {replicas}"
                return WriteResult(code=WriteCode.REFUSED, message=message)
            if replicas == reading.item.count:
                return WriteResult()
            self._guard()
            return self._outcome(target, self._account.set_count(reading.item.id, reading.item.count, replicas))

        return self._judged(target, write)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """A pool does not record who owns its count, so there is nothing to take over."""
        message = f"{target}: a node pool has no owner to take it over from"
        return self._judged(target, lambda _: WriteResult(code=WriteCode.REFUSED, message=message))

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """A pool has no marks of ours; its count stays."""
        return self._judged(target, lambda _: WriteResult())

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Withdraw requests that never got a machine; no running machine ends for it."""

        def write(reading: Reading) -> WriteResult:
            cancellations = Cancellations(self._account, self._notes, self._read, self._guard)
            return objection(reading.facts, bound) or cancellations.cancel(reading, machines, replicas)

        return self._judged(target, write)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the machine behind the node may be removed."""
        return self._removals.may_begin(target, machine, bound)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Delete exactly these machines, one after the other; the count falls with each."""
        try:
            return self._removals.step(target, leaving, floor)
        finally:
            self._account.wrote()

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Raise a count again that was lowered for a machine which stays."""
        try:
            return self._removals.abandon(target, machine)
        except CrusoeError as error:
            return failed(error, str(target))

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """Nobody: machines have no marks of ours."""
        return ""

    def _read(self, target: TargetRef) -> Reading | None:
        return read(self._account, target, self._notes.read())

    def _judged(self, target: TargetRef, write: Callable[[Reading], WriteResult]) -> WriteResult:
        return self._removals.writes.judged(target, write, lambda _: self._account.wrote())

    def _outcome(self, target: TargetRef, operation: str) -> WriteResult:
        """Success, unless the platform reports a failure at once. The pool is read to follow its machines: a succeeded operation
        may have done only a part, and may not be readable at all."""
        try:
            state = (self._account.operation(operation) if operation else None) or {}
        except CrusoeError:
            state = {}
        details = (state.get("result") or {}).get("details") or {}
        message = plain(str(details.get("error") or ""))
        if not message:
            return WriteResult()
        if state.get("state") == "FAILED":
            return WriteResult(code=WriteCode.FAILED, message=f"{target}: {failure_kind(message)}: {message}")
        return WriteResult(message=f"only a part was done: {message}")
