"""Removing the machines of empty nodes: exactly those, although the platform has no call that does it in one step.

The count is lowered first, since the platform replaces a deleted machine at once while the count still includes it. Between the
two steps nothing may go wrong unseen, so each step reads before it writes:

- The machine runs, without a note, and none is too many. It is noted, the count is lowered by one, and the pool is read again.
- It runs, and the count is as noted: the process ended before its write, so the count is lowered now.
- It runs, the count is lowered, and one is too many: once the operation is over, exactly this machine is deleted. The pool is
  read again.
- It runs, the count is lowered, none is too many, and others left: the platform took another one. Removals from this pool stop
  and that is reported.
- It runs, the count is lowered, none is too many, and all are there: another one was stopped. Given up, and the node reopens.
- It is stopped: a person has stopped it. Given up and left to them.
- It is being deleted: finished.

"One is too many" means: more machines run than the count includes, apart from those that other removals have lowered it for. That
is a legal state of a pool whose platform deletes nothing when its count is lowered.
"""

from collections.abc import Callable

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.plan.plan import Bound
from reconciler.platforms.crusoe.facts.states import STOPPED, bare
from reconciler.platforms.crusoe.writing.account import IN_PROGRESS, Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.fresh import Reading, current
from reconciler.platforms.crusoe.writing.notes import Intent, Notes
from reconciler.platforms.crusoe.writing.write_answer import ERRORS, failed, unread
from reconciler.providers.cloud_writes import CloudWrites
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import not_ours, objection
from reconciler.values.two_sentences import two_sentences


class Removals:
    """The removals of one policy. `read` returns the pool at this moment. It raises `CrusoeError` and
    `msgspec.ValidationError`. `guard` raises if this process may not write."""

    def __init__(
        self, account: Account, notes: Notes, read: Callable[[TargetRef], Reading | None], guard: Callable[[], None]
    ) -> None:
        self._account = account
        self._notes = notes
        self._read = read
        self._guard = guard
        self.writes = CloudWrites(lambda target: current(account, read(target)), ERRORS)

    def may_begin(self, target: TargetRef, machine: str, bound: Bound) -> WriteResult:
        """Whether the machine may be removed, as far as that is known before its node is empty."""
        reading = self.writes.reading(target)
        if isinstance(reading, WriteResult):
            return reading
        wrong = objection(reading.facts, bound)
        if wrong is None and reading.facts.keeps_nodes:
            wrong = _refused(f"{target}: {reading.facts.keeps_nodes}")
        if wrong is None and machine not in reading.counted:
            message = f"{target} has no running machine {machine}"
            wrong = WriteResult(code=WriteCode.NOT_FOUND, message=message)
        return wrong or WriteResult()

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """One after the other, each with its own read. An uncertain step makes the later ones wait. A denied one ends the others,
        which are denied as well."""
        removals: list[TargetRemoval] = []
        for one in leaving:
            if removals and removals[-1].code == WriteCode.DENIED:
                removals.append(removals[-1])
                continue
            if removals and removals[-1].state is RemovalState.DRAINING:
                before = WriteResult(code=WriteCode.UNAVAILABLE, message="waits for the previous removal")
                removals.append(TargetRemoval.waiting(before, untouched=True))
                continue
            reading = self.writes.reading(target)
            if isinstance(reading, WriteResult):
                removals.append(_unreadable(reading))
                continue
            try:
                removals.append(self._remove(reading, one.machine, floor))
            except CrusoeError as error:
                removals.append(TargetRemoval.waiting(unread(error, str(target))))
        return tuple(removals)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Raise a count again that was lowered for a machine which stays. Raises `CrusoeError`."""
        reading = self.writes.reading(target)
        if isinstance(reading, WriteResult):
            return reading
        return WriteResult(message=self._restored(reading, machine))

    def _after(self, target: TargetRef) -> Reading | WriteResult:
        """What a write has led to, as far as a read shows it yet."""
        return CloudWrites(self._read, ERRORS).reading(target)

    def _remove(self, reading: Reading, machine: str, floor: int) -> TargetRemoval:
        intent = reading.noted.intents.get(machine)
        if machine not in reading.there:
            self._notes.drop(machine)
            return TargetRemoval(state=RemovalState.FINISHED, replicas=reading.item.count)
        if bare(reading.view.state(machine)) in STOPPED:
            self._notes.drop(machine)
            return TargetRemoval.failed(_refused(f"machine {machine} is stopped: it is left to the person who stopped it"))
        lowered = intent is not None and reading.item.count < intent.count
        if reading.item.count - (0 if lowered else 1) < floor:
            restored = self._restored(reading, machine)
            message = f"{reading.facts.ref} has count {reading.item.count} and must keep {floor}{restored and ', and '}{restored}"
            return TargetRemoval.failed(_refused(message))
        if (wrong := not_ours(reading.facts)) is not None:
            # A pool is not RUNNING for a moment after its count was written.
            return TargetRemoval.waiting(wrong, untouched=intent is None) if reading.changing else TargetRemoval.failed(wrong)
        if reading.facts.keeps_nodes:
            return TargetRemoval.failed(_refused(f"{reading.facts.ref}: {reading.facts.keeps_nodes}"))
        if lowered or _free_surplus(reading, machine) > 0:
            # If the count is already low without a note of ours, this machine is the surplus one.
            beside = frozenset(intent.beside) if intent is not None else reading.counted - {machine}
            return self._delete(reading, machine, beside, intent.operation if intent is not None else "")
        if intent is not None and reading.item.count > intent.count:
            self._notes.drop(machine)
            message = f"somebody else raised {reading.facts.ref} to {reading.item.count} meanwhile"
            return TargetRemoval.failed(WriteResult(code=WriteCode.STALE, message=message))
        return self._lower(reading, machine)

    def _lower(self, reading: Reading, machine: str) -> TargetRemoval:
        target, count = reading.facts.ref, reading.item.count
        intent = Intent(pool=reading.item.id, count=count, beside=tuple(sorted(reading.counted - {machine})))
        self._notes.put(machine, intent)
        self._guard()
        try:
            operation = self._account.set_count(reading.item.id, count, count - 1)
        except CrusoeError as error:
            result = failed(error, str(target))
            if not result.undecided:
                self._notes.drop(machine)
            return TargetRemoval.waiting(result) if result.undecided else TargetRemoval.failed(result)
        if operation:
            self._notes.put(machine, msgspec.structs.replace(intent, operation=operation))
        after = self._after(target)
        if isinstance(after, WriteResult):
            return TargetRemoval.waiting(after)
        if after.item.count != count - 1:
            return TargetRemoval.waiting(_unseen(f"{target} was lowered to {count - 1} and is at {after.item.count}"))
        return self._delete(after, machine, frozenset(intent.beside), operation)

    def _delete(self, reading: Reading, machine: str, beside: frozenset[str], operation: str) -> TargetRemoval:
        """`beside` are the machines that ran next to it. `operation` is that of the write which lowered the count (empty:
        unknown)."""
        target = reading.facts.ref
        if _free_surplus(reading, machine) < 1:
            return self._no_surplus(reading, machine, beside)
        if self._under_way(operation):
            return TargetRemoval.waiting(_unseen(f"the operation that lowered {target} is still running"))
        self._guard()
        try:
            self._account.delete_machine(machine)
        except CrusoeError as error:
            result = failed(error, f"{target}, machine {machine}")
            if result.undecided:
                return TargetRemoval.waiting(result)
            if result.code != WriteCode.NOT_FOUND:
                return TargetRemoval.failed(
                    msgspec.structs.replace(result, message=two_sentences(result.message, self._restored(reading, machine)))
                )
        # What was done stays if this fails. The next step reads again.
        after = self._after(target)
        if isinstance(after, WriteResult) or machine in after.there:
            return TargetRemoval.waiting(_unseen(f"machine {machine} was deleted, but no read shows it leaving yet"))
        lost = sorted(beside - after.there - after.noted.intents.keys())
        if lost and len(after.counted) < after.item.count:
            self._notes.pass_over(after.item.id, f"{', '.join(lost)} left as well when machine {machine} was deleted", machine)
        self._notes.drop(machine)
        # `after` may show a count from before the write. The reading by which the machine was chosen does not.
        return TargetRemoval(state=RemovalState.FINISHED, replicas=reading.item.count)

    def _no_surplus(self, reading: Reading, machine: str, beside: frozenset[str]) -> TargetRemoval:
        """The count was lowered, and yet no machine is surplus: nothing may be deleted."""
        lost = sorted(beside - reading.there)
        if lost:
            sentence = f"{', '.join(lost)} left when the count was lowered for {machine}"
            self._notes.pass_over(reading.item.id, sentence, machine)
            return TargetRemoval.failed(WriteResult(code=WriteCode.PASSED_OVER, message=f"{reading.facts.ref}: {sentence}"))
        restored = self._restored(reading, machine)
        message = f"another machine of {reading.facts.ref} has stopped, so none is too many{restored and ', and '}{restored}"
        return TargetRemoval.failed(WriteResult(code=WriteCode.STALE, message=message))

    def _under_way(self, operation: str) -> bool:
        """Whether the platform may still act on the lower count. An operation that cannot be read any more is over."""
        state = self._account.operation(operation) if operation else None
        return state is not None and state.get("state") == IN_PROGRESS

    def _restored(self, reading: Reading, machine: str) -> str:
        """Raise the count again if it was lowered for a machine that stays and nobody wrote since. Returns what was done, or
        empty. Raises `CrusoeError`."""
        intent = reading.noted.intents.get(machine)
        if intent is None:
            return ""
        sentence = ""
        others = _others_lowered(reading, intent)
        if reading.item.count == intent.count - 1 - others and machine in reading.counted and not_ours(reading.facts) is None:
            self._guard()
            self._account.set_count(reading.item.id, reading.item.count, reading.item.count + 1)
            sentence = f"its count is {reading.item.count + 1} again"
            self._notes.restored(machine)
        else:
            self._notes.drop(machine)
        return sentence


def _others_lowered(reading: Reading, mine: Intent) -> int:
    """For how many other machines that still run the count was lowered after this one."""
    counts = (
        intent.count
        for name, intent in reading.noted.intents.items()
        if intent.pool == reading.item.id and name in reading.counted
    )
    return sum(1 for count in counts if reading.item.count < count < mine.count)


def _free_surplus(reading: Reading, machine: str) -> int:
    """How many machines are too many, apart from those that other removals have lowered the count for."""
    others = sum(
        1
        for name, intent in reading.noted.intents.items()
        if name != machine and intent.pool == reading.item.id and name in reading.counted and reading.item.count < intent.count
    )
    return len(reading.counted) - reading.item.count - others


def _refused(message: str) -> WriteResult:
    return WriteResult(code=WriteCode.REFUSED, message=message)


def _unseen(message: str) -> WriteResult:
    return WriteResult(code=WriteCode.UNAVAILABLE, message=message)


def _unreadable(why: WriteResult) -> TargetRemoval:
    return TargetRemoval.failed(why, reopen=False) if why.code == WriteCode.NOT_FOUND else TargetRemoval.waiting(why)
