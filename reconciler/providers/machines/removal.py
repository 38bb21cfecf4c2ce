"""Deleting exactly the chosen machines of a target: all marked first, then replicas lowered by as many in one write.

If all of the target's machines are removed, one mark on the target replaces theirs, in the write that lowers replicas. At 0
replicas the platform has nothing to choose. SOURCE: measured on Cluster API 1.14, two cores. Each mark on a Machine makes it
reconcile the Machine again. A hundred marks cost it 4 to 5 s, in addition to the 17 to 21 s in which it deletes the hundred.

A later process recognizes a removal from the API objects alone. The Node has our taint (the drain's). The Machine or its target
has our mark, with the target's generation G and replicas R at that time. The target now has generation g and replicas r.

- No mark, and the target is ours: the node is drained and nothing is written. Mark the machine.
- No mark, and the target is not ours, is rolling out or is at its floor: it must not be done. Give up and reopen the node.
- Our mark, g = G, and the target is ours: it is marked, but replicas are not lowered. Lower them.
- Our mark, g = G, and the target is not ours: replicas may not be lowered. Remove the mark, give up and reopen the node.
- Our mark, g > G, and r < R: replicas are lowered, and the platform follows. Finished.
- The same, but no more than r machines live: another one went. Remove the mark, give up and reopen the node.
- Our mark, g > G, and r >= R: nobody can tell what happened. Remove the mark, give up and reopen the node.
- Our mark, and the machine is being deleted: finished.
- Another mark: somebody else removes it. Give up, reopen the node and keep the mark.
- The machine is being deleted, but not by us: somebody else deleted it. Give up, do not count it, and leave the node.
- The machine is gone: it went without us. Give up and leave the node.

"Nobody can tell" means that replicas fell and rose again, or that something else wrote the spec between our two writes. In that
case nothing is lowered: else the next decision would remove a node too many. If a living machine has our mark but its node has
no taint, the drain was undone first. Then the mark goes too, unless replicas were lowered and the platform has yet to follow.

SOURCE for the machine that is passed over: measured on Cluster API 1.14. A MachineSet counts a Machine that somebody else deletes
as one of its own, and takes it before the marked ones. Our mark would wait for the next scale down, when its node may have pods.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.owner import EMPTIED_MARK
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.side_by_side import side_by_side
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.machine_rules import below, kept, others_first, unfit
from reconciler.providers.machines.marks import MachineMarks
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.recent_machines import RecentMachines
from reconciler.providers.machines.shared_readings import SharedReadings
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.marks import DeleteMark
from reconciler.providers.ownership_guard import not_ours, objection
from reconciler.providers.target_mark import emptied_by
from reconciler.values.two_sentences import two_sentences

_TRIES, _ROUNDS = 3, 2
_WORTH_LISTING = 8
_FORBIDDEN = (403, 422)
_TRANSIENT = (WriteCode.STALE, WriteCode.UNAVAILABLE, WriteCode.UNKNOWN)


class MachineRemovals:
    """Removals of one owner (a policy). Marks of others are never touched, even if the same program made them."""

    def __init__(self, targets: MachineTargets, marks: MachineMarks, hearing: PlatformHearing) -> None:
        self._targets = targets
        self._marks = marks
        self._hearing = hearing
        self._beginning = SharedReadings(partial(targets.read, rollout=True))
        self._machines = RecentMachines(targets)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the machine may be removed, as far as that is known before its node is empty."""
        try:
            reading = self._beginning.recent(target)
            current = self._machines.one(reading, machine)
            if self._against(reading, current, machine, node, bound) is not None:
                # A recent shared reading forbids it: read the current state and judge that.
                reading, current = self._beginning.of(target), self.machine(target, machine)
        except (ApiError, UnreachableError) as error:
            return unread(error, f"{target}, Machine {machine}")
        return self._against(reading, current, machine, node, bound) or WriteResult(generation=reading.facts.generation)

    def _against(
        self, reading: Reading, current: MachineReading | None, named: str, node: str, bound: Bound
    ) -> WriteResult | None:
        """Why a removal may not begin."""
        wrong = unfit(current, named, node) or self._marks.of_others(current) or self._marks.left_behind(reading, current)
        return wrong or objection(reading.facts, bound) or kept(reading, named)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Continue removals of empty nodes by the table above, never below `floor`. A conflict is read again once."""
        ended: dict[str, TargetRemoval] = {}
        for _ in range(_ROUNDS):
            left = sorted((one for one in leaving if one.node not in ended), key=lambda one: not one.marked)
            if left:
                ended |= self._round(target, left, floor)
        stale = WriteResult(code=WriteCode.STALE, message=f"{target} changed during each of three attempts")
        return tuple(ended.get(one.node) or TargetRemoval.waiting(stale) for one in leaving)

    def _round(self, target: TargetRef, leaving: list[LeavingMachine], floor: int) -> dict[str, TargetRemoval]:
        """The outcome of those without a conflict."""
        ended: dict[str, TargetRemoval] = {}
        try:
            reading = self._targets.read(target, rollout=True)
        except (ApiError, UnreachableError, msgspec.DecodeError) as error:
            return dict.fromkeys((one.node for one in leaving), _unread(error, str(target)))
        going: list[tuple[LeavingMachine, MachineReading]] = []
        living = cache(lambda: self._targets.dialect.living_machines(self._targets.api, reading.facts))
        together = frozenset(one.machine for one in leaving)
        listed = self._listed(reading, len(leaving))
        readings = side_by_side(lambda one: listed.get(one.machine) or self._machine_or_why(target, one.machine), leaving)
        for one, answer in zip(leaving, readings, strict=True):
            if isinstance(answer, TargetRemoval):
                ended[one.node] = answer
                if one.marked:
                    # If two are marked, the platform may take either when replicas fall by one.
                    return {other.node: ended.get(other.node, ended[one.node]) for other in leaving}
                continue
            outcome = self._tried(target, one, partial(self._judged, reading, answer, one, floor, len(going), living, together))
            if isinstance(outcome, TargetRemoval):
                ended[one.node] = outcome
            elif outcome is None and answer is not None:
                going.append((one, answer))
        return ended | self._lower(reading, going, listed)

    def _lower(
        self, reading: Reading, going: list[tuple[LeavingMachine, MachineReading]], listed: Mapping[str, MachineReading]
    ) -> dict[str, TargetRemoval]:
        """Write the marks, then lower replicas once. The marks show a later process what was not done."""
        target = reading.facts.ref
        whole = self._mark_of_all(reading, {machine.name: machine for _, machine in going}, listed)
        if whole:
            ended = self._lowered_to_nothing(reading, [one for one, _ in going], whole)
            if ended is not None:
                return ended
        outcomes = side_by_side(lambda pair: self._marked(reading, *pair), going)
        ended = {
            one.node: outcome for (one, _), outcome in zip(going, outcomes, strict=True) if isinstance(outcome, TargetRemoval)
        }
        marked = [one for (one, _), outcome in zip(going, outcomes, strict=True) if outcome is None]
        doubt = next((removal for removal in ended.values() if removal.state is RemovalState.DRAINING), None)
        if doubt is not None:
            # It may have a mark now, and the platform takes any marked machine. So nothing is lowered without it.
            untouched = msgspec.structs.replace(doubt, untouched=True)
            conflicts = dict.fromkeys((one.node for one, _ in going), untouched)
            return conflicts | dict.fromkeys((one.node for one in marked), doubt) | ended
        early = self._hearing.objection(target) if len(marked) < (reading.facts.replicas or 0) else None
        if early is not None:
            return ended | {one.node: TargetRemoval.waiting(early) for one in marked}
        if marked:
            if any(self._marks.own(machine) is None for one, machine in going if one in marked):
                self._hearing.wait()
            try:
                ended |= dict.fromkeys((one.node for one in marked), self._applied(reading, len(marked)))
            except (ApiError, UnreachableError, msgspec.DecodeError) as error:
                result = _result(error, str(target))
                if result.code != WriteCode.STALE:
                    ended |= {one.node: self._after(target, one, result) for one in marked}
        return ended

    def _mark_of_all(self, reading: Reading, going: Mapping[str, MachineReading], listed: Mapping[str, MachineReading]) -> str:
        """The mark on the target in place of its machines' marks. Empty if a machine stays that was not removed before either."""
        if not going or not listed or len(going) != reading.facts.replicas:
            return ""
        others = [machine for machine in listed.values() if not machine.deleting and machine.name not in going]
        if not all((mark := self._marks.of(reading, machine)) and self._lowered(reading, mark) for machine in others):
            return ""
        return self._marks.of_all(reading, [*going.values(), *others])

    def _lowered_to_nothing(self, reading: Reading, going: list[LeavingMachine], whole: str) -> dict[str, TargetRemoval] | None:
        """Write mark and replicas at once, so that no process can end between them. None if somebody forbids the mark.

        SOURCE: measured on Cluster API 1.14. By default it reconciles each object at most once per second. After a mark just
        before, it saw the replicas a second later, and its MachineSet another second later.
        """
        try:
            try:
                done = self._applied(reading, len(going), whole)
            except ApiError as error:
                if not any(EMPTIED_MARK in cause.field for cause in error.causes):
                    raise
                # An Update set it, in an earlier version or for one machine of several. An apply may not override that.
                self._marks.put_on_target(reading, whole)
                done = self._applied(reading, len(going))
        except (ApiError, UnreachableError, msgspec.DecodeError) as error:
            if isinstance(error, ApiError) and error.status in _FORBIDDEN:
                return None
            result = _result(error, str(reading.facts.ref))
            return (
                {} if result.code == WriteCode.STALE else {one.node: self._after(reading.facts.ref, one, result) for one in going}
            )
        return dict.fromkeys((one.node for one in going), done)

    def _marked(self, reading: Reading, one: LeavingMachine, machine: MachineReading) -> TargetRemoval | WriteResult | None:
        """None: the machine has our mark."""
        if self._marks.own(machine) is not None:
            return None
        return self._tried(reading.facts.ref, one, partial(self._marks.put, reading, machine))

    def _applied(self, judged: Reading, fewer: int, whole: str = "") -> TargetRemoval:
        """Lower what was read a moment ago. While machines go, the platform writes the target's status many times a second, and
        each write moves its version. Raises as the connection does."""
        reading = self._targets.read(judged.facts.ref)
        facts = reading.facts
        if facts.generation != judged.facts.generation or not_ours(facts) is not None:
            raise ApiError(409, "Conflict", f"{facts.ref} was written while its machines were marked")
        replicas = (facts.replicas or 0) - fewer
        written = self._targets.apply(reading, replicas, whole)
        return TargetRemoval(state=RemovalState.FINISHED, replicas=replicas, generation=written.generation)

    def _tried(
        self, target: TargetRef, one: LeavingMachine, act: Callable[[], TargetRemoval | None]
    ) -> TargetRemoval | WriteResult | None:
        """The result of `act`. A `WriteResult` is a conflict, to be read again."""
        try:
            return act()
        except (ApiError, UnreachableError, msgspec.DecodeError) as error:
            result = _result(error, f"{target}, Machine {one.machine}")
            return result if result.code == WriteCode.STALE else self._after(target, one, result)

    def _after(self, target: TargetRef, one: LeavingMachine, result: WriteResult) -> TargetRemoval:
        return TargetRemoval.waiting(result) if result.code in _TRANSIENT else self._give_up(target, one.machine, result)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Remove our mark, unless the machine is being deleted, or replicas were lowered for it and it may still go."""
        for _ in range(_TRIES):
            try:
                current = self.machine(target, machine)
                if current is None or current.deleting:
                    return WriteResult()
                reading = self._targets.read(target, rollout=True)
                mark = self._marks.of(reading, current)
                if mark is None:
                    return WriteResult()
                living = partial(self._targets.dialect.living_machines, self._targets.api, reading.facts)
                if self._lowered(reading, mark) and not _passed_over(reading, current, living):
                    return WriteResult()
                self._marks.take_off(reading, current)
                return WriteResult(message=f"our mark was removed from Machine {machine} of {target}")
            except (ApiError, UnreachableError) as error:
                result = failed(error, f"Machine {machine}")
                if result.code != WriteCode.STALE:
                    return result
        return result

    def _judged(
        self,
        reading: Reading,
        current: MachineReading | None,
        one: LeavingMachine,
        floor: int,
        before: int,
        living: Callable[[], frozenset[str]],
        together: frozenset[str],
    ) -> TargetRemoval | None:
        """How the removal ended. None: it may go on, after `before` others of the same write. `together` are all machines whose
        nodes are empty."""
        facts = reading.facts
        mark = self._marks.of(reading, current)
        if current is not None and mark is not None and (current.deleting or self._lowered(reading, mark)):
            replicas = facts.replicas or 0
            if current.deleting or not _passed_over(reading, current, living):
                return TargetRemoval(state=RemovalState.FINISHED, replicas=replicas, generation=facts.generation)
            message = f"{facts.ref} was lowered to {replicas} for Machine {one.machine}. The platform took another one instead"
            return self._give_up(facts.ref, one.machine, WriteResult(code=WriteCode.PASSED_OVER, message=message))
        gone = unfit(current, one.machine, one.node)
        if gone is not None:
            leaving = current is None or current.deleting
            return TargetRemoval.failed(gone, reopen=not leaving)
        foreign = self._marks.of_others(current)
        if foreign is not None:
            return self._give_up(facts.ref, one.machine, foreign) if mark is not None else TargetRemoval.failed(foreign)
        late = others_first(reading, one.machine, together)
        if late is not None:
            return TargetRemoval.waiting(late, untouched=True)
        wrong = not_ours(facts) or kept(reading, one.machine) or below(reading, floor, before)
        if mark is not None and not mark.not_lowered(facts.generation):
            message = f"somebody else wrote {facts.ref} after {one.machine} was marked: cannot tell whether it shrank"
            wrong = WriteResult(code=WriteCode.STALE, message=message)
        return self._give_up(facts.ref, one.machine, wrong) if wrong is not None else None

    def _lowered(self, reading: Reading, mark: DeleteMark) -> bool:
        return mark.lowered(reading.facts.generation, reading.facts.replicas or 0)

    def _give_up(self, target: TargetRef, machine: str, why: WriteResult) -> TargetRemoval:
        unmarked = self.abandon(target, machine)
        if not unmarked.done:
            # The mark must go before the taint: without the taint, this process would not look for the mark.
            return TargetRemoval.waiting(unmarked)
        if unmarked.message:
            why = msgspec.structs.replace(why, message=two_sentences(why.message, unmarked.message))
        return TargetRemoval.failed(why)

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """The policy in our program's mark; empty: none, or it cannot be read."""
        try:
            current = self.machine(target, machine)
            if current is None or current.mark is not None:
                return DeleteMark.policy(current.mark) if current is not None else ""
            return emptied_by(self._targets.read(target).facts, machine)
        except (ApiError, UnreachableError, msgspec.DecodeError):
            return ""

    def _machine_or_why(self, target: TargetRef, machine: str) -> MachineReading | TargetRemoval | None:
        try:
            return self.machine(target, machine)
        except (ApiError, UnreachableError, msgspec.DecodeError) as error:
            return _unread(error, f"{target}, Machine {machine}")

    def _listed(self, reading: Reading, asked: int) -> Mapping[str, MachineReading]:
        """All Machines of the target in one answer, if most of them are needed anyway; else none. A machine that is missing in it
        is asked for by its name: it may be gone, or have no label."""
        if asked < _WORTH_LISTING or asked * 2 < (reading.facts.replicas or 0):
            return {}
        try:
            return self._targets.dialect.machines_of(self._targets.api, reading.facts)
        except (ApiError, UnreachableError, msgspec.DecodeError):
            return {}

    def machine(self, target: TargetRef, machine: str) -> MachineReading | None:
        """The Machine now; None: gone."""
        return self._targets.dialect.read_machine(self._targets.api, target.namespace, machine)


def _passed_over(reading: Reading, machine: MachineReading, living: Callable[[], frozenset[str]]) -> bool:
    """Whether the platform has followed a lowered target, and took another machine than this one. Then no more machines live
    than desired, and the others stay. `living` reads their names, and raises as the connection does."""
    if not reading.followed or reading.facts.rolling_out:
        return False
    names = living()
    return machine.name in names and len(names) <= (reading.facts.replicas or 0)


def _result(error: ApiError | UnreachableError | msgspec.DecodeError, what: str) -> WriteResult:
    if isinstance(error, msgspec.DecodeError):
        message = f"the answer to a write of {what} cannot be understood: {error}"
        return WriteResult(code=WriteCode.UNKNOWN, message=message)
    return failed(error, what)


def _unread(error: ApiError | UnreachableError | msgspec.DecodeError, what: str) -> TargetRemoval:
    if isinstance(error, msgspec.DecodeError):
        why = WriteResult(code=WriteCode.REFUSED, message=f"{what} cannot be understood: {error}")
    else:
        why = unread(error, what)
    return TargetRemoval.waiting(why, untouched=True)
