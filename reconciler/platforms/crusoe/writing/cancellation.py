"""Withdrawing requests that never got a machine, without ever ending a machine that runs.

Requests without a machine are withdrawn by one write of the count. It is never set below the number of machines that were read
for it. For a machine that never became a node, the count is lowered first, and then exactly that machine is deleted, as in a
removal. The chosen machines are noted before that: if the deletion never happens, nothing else shows the surplus machine. Then
the count is raised again for it (`Removals.abandon`), and the next decision judges it again.
"""

from collections.abc import Callable

from reconciler.cluster.target import TargetRef
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.fresh import Reading
from reconciler.platforms.crusoe.writing.notes import Intent, Notes
from reconciler.platforms.crusoe.writing.write_answer import failed
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.values.plural import count_text


class Cancellations:
    """`read` returns the pool at this moment. All methods raise `CrusoeError`."""

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
            others = count_text(len(beside), "machine")
            message = f"{target} now has {others} apart from those that failed, so count {replicas} could end a running one"
            return WriteResult(code=WriteCode.STALE, message=message)
        if living and reading.facts.keeps_nodes:
            return WriteResult(code=WriteCode.REFUSED, message=f"{target}: {reading.facts.keeps_nodes}")
        if living:
            self._notes.put_all(_intents(reading, living, beside, replicas), reading.there)
        self._guard()
        self._account.set_count(reading.item.id, reading.item.count, replicas)
        if not living:
            return WriteResult()
        after = self._read(target)
        lost = sorted(beside - after.there) if after is not None else []
        if lost and after is not None and len(after.counted) <= after.item.count:
            sentence = f"{', '.join(lost)} left when the count was lowered for {', '.join(living)}"
            self._notes.pass_over(reading.item.id, sentence, *living)
            return WriteResult(code=WriteCode.PASSED_OVER, message=f"{target}: {sentence}")
        result = self._delete(target, living)
        if result.done:
            self._notes.drop(*living)
        return result

    def _delete(self, target: TargetRef, machines: list[str]) -> WriteResult:
        for name in machines:
            self._guard()
            try:
                self._account.delete_machine(name)
            except CrusoeError as error:
                if error.status != 404:
                    return failed(error, f"{target}, machine {name}")
        return WriteResult()


def _intents(reading: Reading, living: list[str], beside: frozenset[str], replicas: int) -> dict[str, Intent]:
    """One intent per machine. Each assumes that the count first falls for the requests without a machine, then by one for it."""
    pool, others = reading.item.id, tuple(sorted(beside))
    return {
        name: Intent(pool=pool, count=replicas + len(living) - number, beside=others, cancelled=True)
        for number, name in enumerate(living)
    }
