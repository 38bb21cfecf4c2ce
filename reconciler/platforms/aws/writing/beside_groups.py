"""Groups and who else sizes them, asked before each write: one call for a single group, or one for all groups of a burst.

AWS has no precondition for a write, so groups, scaling policies and scheduled actions are read each time. AWS lists them for one
group or for many. For a dozen groups, single lists would take most of the calls of a burst from one bucket. A list for all groups
counts for as long as a burst takes to write. What it says of a group counts for one write. Instance refreshes of a group are read
again before each write.
"""

import threading
import time
from collections.abc import Callable, Iterable

import msgspec

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, Parameters, paged
from reconciler.platforms.aws.writing.machine_types import portions

TOGETHER_SECONDS = 5.0
_ALONE_AT_MOST = 2
"""Up to this many groups of a burst are asked for one by one: an account may have many more than are written."""
_NAMES_AT_ONCE = 100
_INSTANCES_AT_ONCE = 50


class Beside(msgspec.Struct, frozen=True):
    """Scaling policies and scheduled actions, of one group or of all."""

    policies: tuple[Parameters, ...]
    schedules: tuple[Parameters, ...]

    def of(self, name: str) -> "Beside":
        """Those of one group."""
        return Beside(
            tuple(one for one in self.policies if one["AutoScalingGroupName"] == name),
            tuple(one for one in self.schedules if one["AutoScalingGroupName"] == name),
        )


class BesideGroups:
    """Of one account and region. Threads that write groups side by side share it."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._alone: list[float] = []
        self._all: tuple[float, Beside] | None = None
        self._expected: dict[str, None] = {}
        self._read: dict[str, tuple[float, Parameters | None, int]] = {}
        self._members: tuple[float, tuple[str, ...], dict[str, str]] = (float("-inf"), (), {})

    def expect(self, names: Iterable[str]) -> None:
        """These groups are asked for next, each once."""
        with self._lock:
            self._expected, self._read = dict.fromkeys(names), {}
            if len(self._expected) > _ALONE_AT_MOST:
                self._alone = [self._monotonic()] * _ALONE_AT_MOST

    def described(self, aws: Aws, name: str) -> tuple[Parameters | None, int]:
        """One group as AWS describes it (None: it does not exist), and the service's clock at the read. Raises `AwsError`."""
        with self._lock:
            now = self._monotonic()
            if name in self._expected:
                some = [name, *(one for one in self._expected if one != name)][:_NAMES_AT_ONCE]
                for one in some:
                    del self._expected[one]
                items, date = _described(aws, some)
                found = {item["AutoScalingGroupName"]: item for item in items}
                self._read |= {one: (now, found.get(one), date) for one in some}
            at, item, date = self._read.pop(name, (float("-inf"), None, 0))
            if now - at < TOGETHER_SECONDS:
                return item, date
        items, date = _described(aws, [name])
        return next(iter(items), None), date

    def groups_of(self, aws: Aws, instances: tuple[str, ...]) -> dict[str, str]:
        """The names of the groups of these instances, now or some seconds ago, for those in a group. Raises `AwsError`."""
        with self._lock:
            at, asked, groups = self._members
            now = self._monotonic()
            if asked == instances and now - at < TOGETHER_SECONDS:
                return groups
            found: dict[str, str] = {}
            for some in portions(list(instances), _INSTANCES_AT_ONCE):
                answer = aws.call(AUTO_SCALING, "DescribeAutoScalingInstances", InstanceIds=some)
                members = answer.body.get("AutoScalingInstances") or ()
                found.update((one["InstanceId"], one["AutoScalingGroupName"]) for one in members)
            self._members = now, instances, found
            return found

    def of(self, aws: Aws, name: str) -> Beside:
        """Who else sizes one group, now or some seconds ago. Raises `AwsError`."""
        with self._lock:
            now = self._monotonic()
            if self._all is not None and now - self._all[0] < TOGETHER_SECONDS:
                return self._all[1].of(name)
            self._alone = [at for at in self._alone if now - at < TOGETHER_SECONDS]
            if len(self._alone) < _ALONE_AT_MOST:
                self._alone.append(now)
                return _asked(aws, AutoScalingGroupName=name)
            beside = _asked(aws)
            # Dated by its beginning: the list may miss what was added meanwhile.
            self._all = now, beside
            return beside.of(name)


def _described(aws: Aws, names: list[str]) -> tuple[list[Parameters], int]:
    return paged(aws, AUTO_SCALING, "DescribeAutoScalingGroups", "AutoScalingGroups", _NAMES_AT_ONCE, AutoScalingGroupNames=names)


def _asked(aws: Aws, **of_one: str) -> Beside:
    policies, _ = paged(aws, AUTO_SCALING, "DescribePolicies", "ScalingPolicies", 100, **of_one)
    schedules, _ = paged(aws, AUTO_SCALING, "DescribeScheduledActions", "ScheduledUpdateGroupActions", 100, **of_one)
    return Beside(tuple(policies), tuple(schedules))
