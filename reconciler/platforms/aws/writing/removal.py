"""Removing the instances of empty nodes: exactly those, and AWS lowers desired capacity in the same step.

- In service, not asked yet: ended with decrement, then read again.
- In service, already asked: waits, because the read is older than the request.
- Terminating or gone: finished.
- Standby or detaching, not asked by us: a person has taken it out. Given up, and the node reopens.
- In service, and the group is at its minimum: AWS refuses, and the instance runs. Given up, and the node reopens.

If an answer is lost, the call is not repeated until the group was read again. Decrement and termination are one step, so a
terminating instance is already subtracted.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.facts.units import IN_SERVICE
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.platforms.aws.writing.fresh import Reading, seen_again
from reconciler.platforms.aws.writing.write_answer import ERRORS, NO_INSTANCE, failed, says
from reconciler.providers.cloud_writes import CloudWrites
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import not_ours, objection

_GOING = ("Terminating", "Terminated")
_ASKED_AGAIN_SECONDS = 300


class Removals:
    """The removals of one policy. `read` returns the group at this moment. Raises `AwsError` and `msgspec.ValidationError`.
    `foreign` is why nothing at all may be written (None: nothing is against it)."""

    def __init__(
        self,
        aws: Callable[[TargetRef], Aws],
        read: Callable[[TargetRef], Reading | None],
        monotonic: Callable[[], float] = time.monotonic,
        foreign: Callable[[TargetFacts], WriteResult | None] = lambda _: None,
    ) -> None:
        self._foreign = foreign
        self._aws = aws
        self._read = read
        self._monotonic = monotonic
        self._asked: dict[str, float] = {}
        """When each instance was asked to end, until a read shows it: a read may be older than the request."""

    def may_begin(self, target: TargetRef, machine: str, bound: Bound) -> WriteResult:
        """Whether the instance may be removed, as far as that is known before its node is empty."""
        reading = CloudWrites(self._read, ERRORS).reading(target)
        if isinstance(reading, WriteResult):
            return reading
        wrong = self._foreign(reading.facts) or objection(reading.facts, bound) or _unfit(reading, machine)
        if wrong is None and reading.item.desired_capacity <= reading.item.min_size:
            message = f"{target} is at its MinSize {reading.item.min_size}"
            wrong = WriteResult(code=WriteCode.REFUSED, message=message)
        return wrong or WriteResult()

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Ask every instance that is not ending yet to end, then read all of them once more."""
        reading = CloudWrites(self._read, ERRORS).reading(target)
        if isinstance(reading, WriteResult):
            if reading.code == WriteCode.NOT_FOUND:
                return tuple(TargetRemoval.failed(reading, reopen=False) for _ in leaving)
            return tuple(TargetRemoval.waiting(reading, untouched=one.machine not in self._asked) for one in leaving)
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
            # What was done stays if this fails. The next step reads again.
            with suppress(AwsError, msgspec.ValidationError):
                after = seen_again(self._aws(target), reading) or reading
        return tuple(self._outcome(after, one.machine, ended.get(one.machine)) for one in leaving)

    def _lately(self, machine: str) -> bool:
        return machine in self._asked and self._monotonic() - self._asked[machine] < _ASKED_AGAIN_SECONDS

    def _end(self, reading: Reading, machine: str, desired: int, floor: int) -> WriteResult:
        target = reading.facts.ref
        wrong = self._foreign(reading.facts) or not_ours(reading.facts) or _unfit(reading, machine)
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
            # One code covers an instance that is gone and one that may not end. The latter still runs.
            if not says(error, NO_INSTANCE):
                return failed(error, f"{target}, instance {machine}")
        self._asked[machine] = self._monotonic()
        return WriteResult()

    def _outcome(self, reading: Reading, machine: str, result: WriteResult | None) -> TargetRemoval:
        if _going(reading, machine):
            self._asked.pop(machine, None)
            return TargetRemoval(state=RemovalState.FINISHED, replicas=reading.item.desired_capacity)
        if result is None or result.done:
            message = f"instance {machine} was asked to end, but no read shows it ending yet"
            return TargetRemoval.waiting(WriteResult(code=WriteCode.UNAVAILABLE, message=message))
        if result.undecided:
            return TargetRemoval.waiting(result, untouched=result.code == WriteCode.UNAVAILABLE)
        return TargetRemoval.failed(result)


def _going(reading: Reading, machine: str) -> bool:
    instance = reading.instance(machine)
    return instance is None or instance.lifecycle_state.startswith(_GOING)


def _unfit(reading: Reading, machine: str) -> WriteResult | None:
    """Why this instance cannot be removed."""
    instance = reading.instance(machine)
    if instance is None:
        return WriteResult(code=WriteCode.NOT_FOUND, message=f"{reading.facts.ref} has no instance {machine}")
    if instance.lifecycle_state != IN_SERVICE:
        message = f"instance {machine} of {reading.facts.ref} is {instance.lifecycle_state}, not {IN_SERVICE}"
        return WriteResult(code=WriteCode.REFUSED, message=message)
    return None
