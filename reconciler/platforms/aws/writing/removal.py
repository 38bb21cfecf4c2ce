"""Removing the instances of nodes that are empty: exactly they, and desired capacity falls by as many in the same step of AWS.

| instance now                   | asked for by us | then                                                        |
|--------------------------------|-----------------|-------------------------------------------------------------|
| in service                     | no              | ended with decrement, then looked at again                  |
| in service                     | yes             | waits: what was read is older than what was asked           |
| terminating, gone              | either          | finished                                                    |
| standby, detaching             | no              | a person has taken it out: given up, node reopened          |
| in service, at the minimum     | no              | given up, node reopened: AWS refuses, and the instance runs |

A call whose answer was lost is not repeated until the group was read again: the decrement belongs to the same step as the end, so
that an instance which is terminating has been counted off.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.writing.answer import NO_INSTANCE, failed, says, unread
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.platforms.aws.writing.fresh import IN_SERVICE, Reading, seen_again
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import not_ours, objection

_GOING = ("Terminating", "Terminated")
_ASKED_AGAIN_SECONDS = 300
_TRANSIENT = (WriteCode.UNAVAILABLE, WriteCode.UNKNOWN)


class Removals:
    """Of one policy. `read` gives the group as it is at this moment, raising `AwsError` and `msgspec.ValidationError`."""

    def __init__(
        self,
        aws: Callable[[TargetRef], Aws],
        read: Callable[[TargetRef], Reading | None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._aws = aws
        self._read = read
        self._monotonic = monotonic
        self._asked: dict[str, float] = {}
        """When an instance was asked to go, until it is seen going: a read may be older than that."""

    def may_begin(self, target: TargetRef, machine: str, bound: Bound) -> WriteResult:
        """Whether the instance may be removed, as far as can be told before its node is empty."""
        try:
            reading = self._read(target)
        except AwsError as error:
            return unread(error, str(target))
        except msgspec.ValidationError as error:
            return WriteResult(code=WriteCode.REFUSED, message=f"{target} cannot be understood: {error}")
        if reading is None:
            return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} is gone")
        wrong = objection(reading.facts, bound) or _unfit(reading, machine)
        if wrong is None and reading.item.desired_capacity <= reading.item.min_size:
            message = f"{target} is at its MinSize {reading.item.min_size}"
            wrong = WriteResult(code=WriteCode.REFUSED, message=message)
        return wrong or WriteResult()

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Every instance that is not going yet is asked to, then all are looked at once more."""
        try:
            reading = self._read(target)
        except AwsError as error:
            return tuple(_waiting(unread(error, str(target)), untouched=one.machine not in self._asked) for one in leaving)
        except msgspec.ValidationError as error:
            why = WriteResult(code=WriteCode.REFUSED, message=f"{target} cannot be understood: {error}")
            return tuple(_waiting(why, untouched=True) for _ in leaving)
        if reading is None:
            gone = WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} is gone")
            return tuple(_failed(gone, reopen=False) for _ in leaving)
        desired = reading.item.desired_capacity
        ended: dict[str, WriteResult] = {}
        for one in leaving:
            if _going(reading, one.machine) or self._lately(one.machine):
                continue
            ended[one.machine] = self._end(reading, one.machine, desired, floor)
            if ended[one.machine].done:
                desired -= 1
        after = reading
        if any(result.done or result.code == WriteCode.UNKNOWN for result in ended.values()):
            # What was done stands where this fails; the next step looks.
            with suppress(AwsError, msgspec.ValidationError):
                after = seen_again(self._aws(target), reading) or reading
        return tuple(self._told(after, one.machine, ended.get(one.machine)) for one in leaving)

    def _lately(self, machine: str) -> bool:
        return machine in self._asked and self._monotonic() - self._asked[machine] < _ASKED_AGAIN_SECONDS

    def _end(self, reading: Reading, machine: str, desired: int, floor: int) -> WriteResult:
        target = reading.facts.ref
        wrong = not_ours(reading.facts) or _unfit(reading, machine)
        lowest = max(floor, reading.item.min_size)
        if wrong is None and desired - 1 < lowest:
            message = f"{target} has desired capacity {desired} and must keep {lowest}"
            wrong = WriteResult(code=WriteCode.REFUSED, message=message)
        if wrong is not None:
            return wrong
        try:
            self._aws(target).call(
                AUTO_SCALING, "TerminateInstanceInAutoScalingGroup", InstanceId=machine, ShouldDecrementDesiredCapacity=True
            )
        except AwsError as error:
            # One code stands for an instance that is gone and for one that may not go: the latter still runs.
            if not says(error, NO_INSTANCE):
                return failed(error, f"{target}, instance {machine}")
        self._asked[machine] = self._monotonic()
        return WriteResult()

    def _told(self, reading: Reading, machine: str, result: WriteResult | None) -> TargetRemoval:
        if _going(reading, machine):
            self._asked.pop(machine, None)
            return TargetRemoval(state=RemovalState.FINISHED, replicas=reading.item.desired_capacity)
        if result is None or result.done:
            message = f"instance {machine} was asked to go and is not seen going yet"
            return _waiting(WriteResult(code=WriteCode.UNAVAILABLE, message=message))
        if result.code in _TRANSIENT:
            return _waiting(result, untouched=result.code == WriteCode.UNAVAILABLE)
        return _failed(result)


def _going(reading: Reading, machine: str) -> bool:
    found = reading.instance(machine)
    return found is None or found.lifecycle_state.startswith(_GOING)


def _unfit(reading: Reading, machine: str) -> WriteResult | None:
    """Why this is no instance to remove."""
    found = reading.instance(machine)
    if found is None:
        return WriteResult(code=WriteCode.NOT_FOUND, message=f"{reading.facts.ref} has no instance {machine}")
    if found.lifecycle_state != IN_SERVICE:
        message = f"instance {machine} of {reading.facts.ref} is {found.lifecycle_state}, not {IN_SERVICE}"
        return WriteResult(code=WriteCode.REFUSED, message=message)
    return None


def _waiting(why: WriteResult, *, untouched: bool = False) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.DRAINING, code=why.code, message=why.message, untouched=untouched)


def _failed(why: WriteResult, *, reopen: bool = True) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.FAILED, code=why.code, message=why.message, reopen=reopen)
