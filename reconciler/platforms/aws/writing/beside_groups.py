"""Groups and who else sizes them, asked before each write: one call for a single group, or one for all groups of a burst.

AWS has no precondition for a write, so groups, scaling policies and scheduled actions are read each time. AWS lists them for one
group or for many. For a dozen groups, single lists would take most of the calls of a burst from one bucket. A list for all groups
counts for as long as a burst takes to write. What it says of a group counts for one write. Instance refreshes of a group are read
again before each write.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from reconciler.platforms.aws.facts.ownership import REFRESHING
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EC2, Aws, AwsError, Parameters, paged

# Instance refreshes in progress. AWS lists them by group, so only groups with a suspected refresh are asked.
#
# Two things raise the suspicion. The read before a write shows that somebody else sizes the group, or an activity names a refresh
# as its cause. Once a refresh is over, its group is not asked again.

AGAIN_SECONDS = 60.0
_CAUSE = "instance refresh"


class Refreshes:
    """Refreshes of one account and region."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._due: dict[str, float] = {}
        self._refreshes: dict[str, Parameters] = {}

    def suspect(self, name: str) -> None:
        """Record that this group may have a refresh."""
        self._due.setdefault(name, float("-inf"))

    def follow(self, activities: Iterable[Parameters], *, first: bool = False) -> None:
        """Take activities in AWS's words. Finished activities count in the `first` read only: an older refresh may be waiting
        between two instances."""
        for item in activities:
            ended = item.get("StatusCode") in ("Successful", "Failed", "Cancelled")
            if _CAUSE in item.get("Cause", "") and (first or not ended):
                self.suspect(item["AutoScalingGroupName"])

    def ask(self, now: float, known: Iterable[str]) -> None:
        """Ask for every suspected refresh that is due. Groups that are no longer `known` are forgotten. Raises `AwsError`."""
        there = set(known)
        for name in self._due.keys() - there:
            self._forget(name)
        for name in sorted(one for one, due in self._due.items() if now >= due):
            try:
                answer = self._aws.call(AUTO_SCALING, "DescribeInstanceRefreshes", AutoScalingGroupName=name, MaxRecords=1)
            except AwsError as error:
                if error.throttled or error.code == "Unreachable":
                    raise
                # Denied, or gone: the read before the next write reports it.
                self._forget(name)
                continue
            newest = next(iter(answer.body.get("InstanceRefreshes") or ()), None)
            if newest is None or newest.get("Status") not in REFRESHING:
                self._forget(name)
                continue
            self._refreshes[name] = newest
            self._due[name] = now + AGAIN_SECONDS

    def items(self) -> list[Parameters]:
        """Refreshes that are under way."""
        return [item for _, item in sorted(self._refreshes.items())]

    def _forget(self, name: str) -> None:
        self._due.pop(name, None)
        self._refreshes.pop(name, None)


# Current facts about machines, from AWS: the types that groups name and, if the permissions allow it, launch configurations.
#
# The built-in table dates from one day. Newer and corrected types come from here. No permission is required: without them, the
# table is used.

TYPES_SECONDS = 86_400.0
_TYPES_AT_ONCE = 100
_CONFIGURATIONS_AT_ONCE = 50
_UNKNOWN = "InvalidInstanceType"


class MachineTypes:
    """The last answers of one account and region."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._asked: dict[str, float] = {}
        self._types: dict[str, Parameters] = {}
        self._configurations: dict[str, Parameters] = {}
        self._without = set[str]()

    def ask(self, now: float, groups: Iterable[Parameters], templates: Iterable[Parameters]) -> bool:
        """Ask for everything that groups name and that was not asked for within a day. Returns whether there is news. Raises
        `AwsError` for anything but a refusal."""
        listed = list(groups)
        before = len(self._configurations)
        wanted = {item["LaunchConfigurationName"] for item in listed if item.get("LaunchConfigurationName")}
        for some in _portions(sorted(wanted - self._configurations.keys() - self._without), _CONFIGURATIONS_AT_ONCE):
            self._ask_configurations(some)
        named = types_of(listed, templates) | {item["InstanceType"] for item in self._configurations.values()}
        due = sorted(name for name in named if now - self._asked.get(name, float("-inf")) >= TYPES_SECONDS)
        for some in _portions(due, _TYPES_AT_ONCE):
            self._ask_types(some)
            self._asked.update(dict.fromkeys(some, now))
        return len(self._configurations) != before or bool(due)

    def items(self) -> dict[str, list[Parameters]]:
        """All that is known, by kind. A kind without an answer is missing."""
        by_kind = {"InstanceType": self._types, "LaunchConfiguration": self._configurations}
        return {kind: [item for _, item in sorted(items.items())] for kind, items in by_kind.items() if items}

    def _ask_configurations(self, names: list[str]) -> None:
        action, key = "DescribeLaunchConfigurations", "LaunchConfigurations"
        try:
            items, _ = paged(self._aws, AUTO_SCALING, action, key, 100, LaunchConfigurationNames=names)
        except AwsError as error:
            if not error.denied:
                raise
            items = []
        self._configurations.update((item["LaunchConfigurationName"], item) for item in items)
        self._without |= set(names) - self._configurations.keys()

    def _ask_types(self, names: list[str]) -> None:
        """One unknown name makes AWS refuse the whole call. AWS names it, and the others are asked for again."""
        left = names
        while left:
            try:
                answer = self._aws.call(EC2, "DescribeInstanceTypes", InstanceTypes=left)
            except AwsError as error:
                if error.code == _UNKNOWN and (known := [name for name in left if name not in error.message]) != left:
                    left = known
                    continue
                if error.denied or error.code == _UNKNOWN:
                    return
                raise
            self._types.update((item["InstanceType"], item) for item in answer.body.get("InstanceTypes") or ())
            return


def types_of(groups: Iterable[Parameters], templates: Iterable[Parameters]) -> set[str]:
    """The instance types that templates, overrides and instances name."""
    names = {(item.get("LaunchTemplateData") or {}).get("InstanceType") for item in templates}
    for item in groups:
        mixed: Mapping[str, Parameters] = item.get("MixedInstancesPolicy") or {}
        names |= {one.get("InstanceType") for one in (mixed.get("LaunchTemplate") or {}).get("Overrides") or ()}
        names |= {one.get("InstanceType") for one in item.get("Instances") or ()}
    return {name for name in names if name}


def _portions(names: list[str], size: int) -> list[list[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


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
            for some in _portions(list(instances), _INSTANCES_AT_ONCE):
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
