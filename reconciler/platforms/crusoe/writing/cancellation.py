"""Taking back what never came, without ever ending a machine that runs.

Requests for which there is no machine go by one write of the count, which is never set below the number of machines read for it.
Where a machine is there that never became a node, the count is lowered first and then exactly it is deleted, as in a removal.
"""

from collections.abc import Callable

from reconciler.cluster.target import TargetRef
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.answer import failed
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.fresh import Reading
from reconciler.platforms.crusoe.writing.notes import Notes
from reconciler.providers.contract import WriteCode, WriteResult


class Cancellations:
    """`read` gives the pool as it is at this moment; all raise `CrusoeError`."""

    def __init__(
        self, account: Account, notes: Notes, read: Callable[[TargetRef], Reading | None], guard: Callable[[], None]
    ) -> None:
        self._account = account
        self._notes = notes
        self._read = read
        self._guard = guard

    def cancel(self, reading: Reading, machines: tuple[str, ...], replicas: int) -> WriteResult:
        """As `ClusterPort.cancel` says."""
        target, living = reading.facts.ref, sorted(reading.counted.intersection(machines))
        if replicas == reading.item.count:
            return self._delete(target, living)
        beside = reading.counted.difference(machines)
        if len(beside) > replicas:
            message = f"{target} has {len(beside)} machines by now beside those that failed: at {replicas} a running one could go"
            return WriteResult(done=False, code=WriteCode.STALE, message=message)
        if living and reading.facts.keeps_nodes:
            return WriteResult(done=False, code=WriteCode.REFUSED, message=f"{target}: {reading.facts.keeps_nodes}")
        self._guard()
        self._account.set_count(reading.item.id, replicas)
        if not living:
            return WriteResult(done=True)
        after = self._read(target)
        lost = sorted(beside - after.there) if after is not None else []
        if lost and after is not None and len(after.counted) <= after.item.count:
            sentence = f"{', '.join(lost)} left when the count was lowered for {', '.join(living)}"
            self._notes.pass_over(reading.item.id, "", sentence)
            return WriteResult(done=False, code=WriteCode.PASSED_OVER, message=f"{target}: {sentence}")
        return self._delete(target, living)

    def _delete(self, target: TargetRef, machines: list[str]) -> WriteResult:
        for name in machines:
            self._guard()
            try:
                self._account.delete_machine(name)
            except CrusoeError as error:
                if error.status != 404:
                    return failed(error, f"{target}, machine {name}")
        return WriteResult(done=True)
