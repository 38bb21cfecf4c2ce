"""Instance refreshes that are under way: asked for group by group, since AWS lists them so, and only where one is suspected.

Two things raise the suspicion: the read before a write has met somebody who sizes the group, or an activity names a refresh as
its cause. One that is over is not asked for again.
"""

from collections.abc import Iterable

from reconciler.platforms.aws.facts.ownership import REFRESHING
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws, AwsError, Parameters

AGAIN_SECONDS = 60.0
_CAUSE = "instance refresh"


class Refreshes:
    """Those of one account and region."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._due: dict[str, float] = {}
        self._found: dict[str, Parameters] = {}

    def suspect(self, name: str) -> None:
        """There may be one on this group."""
        self._due.setdefault(name, float("-inf"))

    def told_by(self, activities: Iterable[Parameters], *, first: bool = False) -> None:
        """Activities as AWS words them. Those that have ended count in the `first` read only: a refresh that began before it may
        be waiting between two instances."""
        for item in activities:
            ended = item.get("StatusCode") in ("Successful", "Failed", "Cancelled")
            if _CAUSE in item.get("Cause", "") and (first or not ended):
                self.suspect(item["AutoScalingGroupName"])

    def ask(self, now: float, known: Iterable[str]) -> None:
        """Every suspected one that is due; those of groups that are not `known` any more are forgotten. Raises `AwsError`."""
        there = set(known)
        for name in self._due.keys() - there:
            self._forget(name)
        for name in sorted(one for one, due in self._due.items() if now >= due):
            try:
                answer = self._aws.call(AUTO_SCALING, "DescribeInstanceRefreshes", AutoScalingGroupName=name, MaxRecords=1)
            except AwsError as error:
                if error.throttled or error.code == "Unreachable":
                    raise
                # Not allowed, or gone: the read before the next write says so.
                self._forget(name)
                continue
            newest = next(iter(answer.body.get("InstanceRefreshes") or ()), None)
            if newest is None or newest.get("Status") not in REFRESHING:
                self._forget(name)
                continue
            self._found[name] = newest
            self._due[name] = now + AGAIN_SECONDS

    def items(self) -> list[Parameters]:
        """Those that are under way."""
        return [item for _, item in sorted(self._found.items())]

    def _forget(self, name: str) -> None:
        self._due.pop(name, None)
        self._found.pop(name, None)
