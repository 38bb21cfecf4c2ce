"""Instance refreshes in progress.

AWS lists them by group, so only groups with a suspected refresh are asked. Two things raise the suspicion. The read before a
write shows that somebody else sizes the group, or an activity names a refresh as its cause. Once a refresh is over, its group
is not asked again.
"""

from collections.abc import Iterable

from reconciler.platforms.aws.facts.ownership import REFRESHING
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError, Parameters

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
