"""Who else sizes groups, asked before a write: of one group by itself, and of many that are written at once for all together.

AWS lists scaling policies and scheduled actions of one group or of all, and has no precondition for a write, so that they are
asked each time. Of a dozen groups that is half of the calls of a burst, all of one bucket. What was listed for all counts for as
long as a burst takes to write; the group itself and its instance refreshes are read anew before each write.
"""

import time
from collections.abc import Callable

import msgspec

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, Parameters, paged

TOGETHER_SECONDS = 5.0
_ALONE_AT_MOST = 2
"""Groups of a burst that are asked for one by one: an account may have many more than are written."""


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
    """Of one account and region."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._alone: list[float] = []
        self._all: tuple[float, Beside] | None = None

    def of(self, aws: Aws, name: str) -> Beside:
        """Those of one group, now or some seconds ago. Raises `AwsError`."""
        now = self._monotonic()
        if self._all is not None and now - self._all[0] < TOGETHER_SECONDS:
            return self._all[1].of(name)
        self._alone = [at for at in self._alone if now - at < TOGETHER_SECONDS]
        if len(self._alone) < _ALONE_AT_MOST:
            self._alone.append(now)
            return _asked(aws, AutoScalingGroupName=name)
        found = _asked(aws)
        # Dated by its beginning: what came while it was listed may be missing.
        self._all = now, found
        return found.of(name)


def _asked(aws: Aws, **of_one: str) -> Beside:
    policies, _ = paged(aws, AUTO_SCALING, "DescribePolicies", "ScalingPolicies", 100, **of_one)
    schedules, _ = paged(aws, AUTO_SCALING, "DescribeScheduledActions", "ScheduledUpdateGroupActions", 100, **of_one)
    return Beside(tuple(policies), tuple(schedules))
