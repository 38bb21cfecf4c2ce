"""Withdrawing requests that never got an instance, without ever terminating a running instance.

SOURCE: two ways in which others lost nodes. One is an absolute write based on an old read (kubernetes/autoscaler#10147: the
missing instance had come meanwhile). The other is a value below the number of running instances (#9182: 32 busy nodes). If
desired capacity is below the number of instances, the group's own policy chooses which to terminate. So it is never set below a
number that was read for this write, and meanwhile every instance in service has scale-in protection. An instance that comes in
between has no protection. It is the only one that AWS may terminate, and it runs nothing. AWS acts some seconds after the write
(measured: 2 to 4). So the protection stays until a read that is certainly newer than the write shows no more instances than
desired. A tag records the protection and when it began.
"""

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.platforms.aws.facts.ownership import SHIELD, foreign_protection
from reconciler.platforms.aws.facts.units import IN_SERVICE
from reconciler.platforms.aws.kinds import READ_LAG_SECONDS
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError
from reconciler.platforms.aws.writing.fresh import Reading, seen_again
from reconciler.platforms.aws.writing.growth import set_desired
from reconciler.platforms.aws.writing.marks import delete_tags, set_tags
from reconciler.platforms.aws.writing.write_answer import NO_INSTANCE, failed, says
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.values.whole_number import whole_number

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
