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
from reconciler.platforms.aws.facts.ownership import SHIELD, foreign_protection
from reconciler.platforms.aws.facts.units import IN_SERVICE
from reconciler.platforms.aws.kinds import READ_LAG_SECONDS
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, NO_INSTANCE, Aws, AwsError, failed, says, unread
from reconciler.platforms.aws.writing.fresh import Reading, read_or_why, seen_again
from reconciler.platforms.aws.writing.growth import set_desired
from reconciler.platforms.aws.writing.marks import delete_tags, set_tags
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import not_ours, objection
from reconciler.values.whole_number import whole_number

# Withdrawing requests that never got an instance, without ever terminating a running instance.
#
# SOURCE: two ways in which others lost nodes. One is an absolute write based on an old read (kubernetes/autoscaler#10147: the
# missing instance had come meanwhile). The other is a value below the number of running instances (#9182: 32 busy nodes). If
# desired capacity is below the number of instances, the group's own policy chooses which to terminate. So it is never set below a
# number that was read for this write, and meanwhile every instance in service has scale-in protection. An instance that comes in
# between has no protection. It is the only one that AWS may terminate, and it runs nothing. AWS acts some seconds after the write
# (measured: 2 to 4). So the protection stays until a read that is certainly newer than the write shows no more instances than
# desired. A tag records the protection and when it began.

_PROTECTED_AT_ONCE = 50
_ENDING = ("Terminating", "Terminated")


class Cancellations:
    """Of one account and region. `aws` raises `AwsError`."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def cancel(self, reading: Reading, machines: tuple[str, ...], desired: int) -> WriteResult:
        """End exactly the instances that never became nodes, then withdraw the requests without one. Raises `AwsError`."""
        target = reading.facts.ref
        kept = desired == reading.item.desired_capacity
        for name in machines:
            result = self._end(target, reading, name, decrement=not kept)
            if not result.done:
                return result
        if kept:
            return WriteResult()
        return self._lower(target, seen_again(self._aws, reading) if machines else reading, desired)

    def _end(self, target: TargetRef, reading: Reading, name: str, *, decrement: bool) -> WriteResult:
        instance = reading.instance(name)
        if instance is None or instance.lifecycle_state.startswith(_ENDING):
            return WriteResult()
        try:
            self._aws.call(
                AUTO_SCALING, "TerminateInstanceInAutoScalingGroup", InstanceId=name, ShouldDecrementDesiredCapacity=decrement
            )
        except AwsError as error:
            if not says(error, NO_INSTANCE):
                return failed(error, f"{target}, instance {name}")
        return WriteResult()

    def _lower(self, target: TargetRef, now: Reading | None, desired: int) -> WriteResult:
        if now is None:
            return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} is gone")
        if now.item.desired_capacity <= desired:
            return WriteResult()
        if (wrong := _surplus(now, desired)) is not None:
            return wrong
        shielded = tuple(
            one.instance_id for one in now.counted if one.lifecycle_state == IN_SERVICE and not one.protected_from_scale_in
        )
        ours = SHIELD in dict(now.facts.annotations)
        if why := foreign_protection(now.item):
            return WriteResult(code=WriteCode.REFUSED, message=f"{target}: {why}: the unfulfilled requests stay")
        shields = bool(shielded) or ours
        lowered = False
        try:
            if shields:
                # Written first: a process that ends here leaves a record of the protection, which the next one removes.
                set_tags(self._aws, target.name, {SHIELD: str(now.date_seconds)})
                self._protect(target, shielded, protected=True)
            # Other writers were read a moment ago. The number of instances is read once more.
            last = seen_again(self._aws, now)
            if last is None:
                return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} is gone")
            if last.item.desired_capacity <= desired:
                return WriteResult()
            if last.item.desired_capacity != now.item.desired_capacity:
                return WriteResult(code=WriteCode.STALE, message=f"somebody else wrote {target} meanwhile")
            wrong = _surplus(last, desired)
            lowered = wrong is None
            return wrong or set_desired(self._aws, last, desired)
        except AwsError as error:
            lowered = lowered and error.sent
            raise
        finally:
            # The write may have been done, so the protection is removed later (`recover`), like that of an earlier write.
            if shields and not lowered and not ours:
                self.unshield(target, shielded)

    def unshield(self, target: TargetRef, names: tuple[str, ...]) -> None:
        """Remove our protection, then its record. Raises `AwsError`; the next read of the group then does it."""
        self._protect(target, names, protected=False)
        delete_tags(self._aws, target.name, (SHIELD,))

    def recover(self, reading: Reading) -> bool:
        """Remove what a cancellation, or a process that ended in one, has left. We protected only instances without protection.
        Returns whether nothing is left. Raises `AwsError`."""
        if shielded_since(reading.facts) is None:
            return True
        if not may_unshield(reading.facts, reading.date_seconds) or len(reading.counted) > reading.item.desired_capacity:
            return False
        left = tuple(
            one.instance_id for one in reading.counted if one.protected_from_scale_in and one.lifecycle_state == IN_SERVICE
        )
        self.unshield(reading.facts.ref, left)
        return True

    def _protect(self, target: TargetRef, names: tuple[str, ...], *, protected: bool) -> None:
        for start in range(0, len(names), _PROTECTED_AT_ONCE):
            some = list(names[start : start + _PROTECTED_AT_ONCE])
            try:
                self._set(target, some, protected=protected)
            except AwsError as error:
                if protected or "is not in InService" not in error.message:
                    raise
                # One has left meanwhile, so AWS refused the whole call: one by one.
                for name in some:
                    self._unprotect_one(target, name)

    def _unprotect_one(self, target: TargetRef, name: str) -> None:
        try:
            self._set(target, [name], protected=False)
        except AwsError as error:
            if "is not in InService" not in error.message:
                raise

    def _set(self, target: TargetRef, names: list[str], *, protected: bool) -> None:
        self._aws.call(
            AUTO_SCALING,
            "SetInstanceProtection",
            AutoScalingGroupName=target.name,
            InstanceIds=names,
            ProtectedFromScaleIn=protected,
        )


def shielded_since(facts: TargetFacts) -> int | None:
    """When our protection of the group's instances began, by the clock of AWS; None if there is none."""
    text = dict(facts.annotations).get(SHIELD)
    return None if text is None else whole_number(text) or 0


def may_unshield(facts: TargetFacts, date_seconds: int) -> bool:
    """Whether AWS has acted by now, and a read shows it."""
    since = shielded_since(facts)
    return since is not None and date_seconds > since + READ_LAG_SECONDS


def _surplus(reading: Reading, desired: int) -> WriteResult | None:
    there = len(reading.counted)
    if there <= desired:
        return None
    message = f"{reading.facts.ref} now has {there} instances: desired capacity {desired} would end a running one"
    return WriteResult(code=WriteCode.STALE, message=message)


_GOING = ("Terminating", "Terminated")
_ASKED_AGAIN_SECONDS = 300
_TRANSIENT = (WriteCode.UNAVAILABLE, WriteCode.UNKNOWN)


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
        reading = read_or_why(self._read, target)
        if isinstance(reading, WriteResult):
            return reading
        wrong = self._foreign(reading.facts) or objection(reading.facts, bound) or _unfit(reading, machine)
        if wrong is None and reading.item.desired_capacity <= reading.item.min_size:
            message = f"{target} is at its MinSize {reading.item.min_size}"
            wrong = WriteResult(code=WriteCode.REFUSED, message=message)
        return wrong or WriteResult()

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Ask every instance that is not ending yet to end, then read all of them once more."""
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
            return _waiting(WriteResult(code=WriteCode.UNAVAILABLE, message=message))
        if result.code in _TRANSIENT:
            return _waiting(result, untouched=result.code == WriteCode.UNAVAILABLE)
        return _failed(result)


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


def _waiting(why: WriteResult, *, untouched: bool = False) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.DRAINING, code=why.code, message=why.message, untouched=untouched)


def _failed(why: WriteResult, *, reopen: bool = True) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.FAILED, code=why.code, message=why.message, reopen=reopen)
