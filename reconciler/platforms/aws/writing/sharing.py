"""The reads of one region and role, for all loops of a process: however many clusters ask, AWS is asked once.

The loops of a fleet have the same discovery, so their questions are the same, seconds apart. A call for the groups of one cluster
by name also asks for those groups of the others that are due.

A write of this process ends what was read before it. So a loop never takes an answer that is older than its own write.
"""

import threading
import time
from collections.abc import Callable
from functools import partial

import msgspec

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Answer, Aws, AwsError, Parameters, paged
from reconciler.providers.shared_answers import SharedAnswers

COUNTS_SECONDS = 8.0
"""Less than the pause between two rounds of a loop whose groups change."""
REMEMBERED_SECONDS = 120.0
"""So long after a group was asked by name, calls for others ask for it too. Longer than the time between two lists."""
_GROUPS = "DescribeAutoScalingGroups"
_NAMES, _NAMES_AT_ONCE = "AutoScalingGroupNames", 100
_LONG = {
    "DescribePolicies": 600.0,
    "DescribeScheduledActions": 600.0,
    "DescribeLaunchTemplateVersions": 600.0,
    "DescribeInstanceTypes": 3600.0,
    "DescribeLaunchConfigurations": 3600.0,
    "DescribeNodegroup": 30.0,
    "DescribeCapacityReservations": 30.0,
    "ListManagedResources": 30.0,
}
"""What changes rarely, or costs one call for each group."""
RENEWED_SECONDS = 10.0
"""How long an answer counts at most, whatever it is about, for loops whose pods wait."""
_AWAITED = ("DescribePolicies", "DescribeScheduledActions", "DescribeLaunchTemplateVersions")
_OF_SIZES = ("DescribePolicies", "DescribeScheduledActions", "DescribeInstanceRefreshes", "DescribeNodegroup")


class _Seen(msgspec.Struct, frozen=True):
    """A group as it was read, from `at` on; None: it does not exist."""

    at: float
    item: Parameters | None


class SharedReads:
    """An `Aws` for reads of polls. `aws` makes the calls."""

    def __init__(self, aws: Aws, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._aws = aws
        self._monotonic = monotonic
        self._answers = SharedAnswers(monotonic, _refused, COUNTS_SECONDS)
        self._naming = threading.Lock()
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._asked: dict[str, float] = {}
        self._forgotten = 0
        self._renewed = float("-inf")

    def call(self, service: str, action: str, **parameters: object) -> Answer:
        """The answer of AWS, or the one that another loop has got. Raises `AwsError`."""
        names = parameters.get(_NAMES)
        if action == _GROUPS and isinstance(names, list):
            return self._named(tuple(names))
        question = service, action, msgspec.json.encode(parameters, order="deterministic")
        seconds = _LONG.get(action, COUNTS_SECONDS)
        return self._answers.of(question, seconds, lambda: self._aws.call(service, action, **parameters))

    def wrote(self, name: str, *, others: bool) -> None:
        """This process has written a group, or tried to; `others`: somebody else sizes it, which earlier reads do not show."""
        with self._lock:
            self._forgotten += 1
            self._seen.pop(name, None)
        short = ("DescribeScalingActivities", _GROUPS)
        self._answers.forget(lambda question: _action(question) in (short if not others else (*short, *_OF_SIZES)))

    def renew(self) -> None:
        """Pods of some loop wait: what may let a group grow counts for a few seconds only."""
        with self._lock:
            if self._monotonic() - self._renewed < RENEWED_SECONDS:
                return
            self._renewed = self._monotonic()
        self._answers.forget(lambda question: _action(question) in _AWAITED)

    def _named(self, names: tuple[str, ...]) -> Answer:
        """One at a time: what the first one asks for is often what the next one needs."""
        with self._naming:
            now = self._monotonic()
            with self._lock:
                self._asked = {name: at for name, at in self._asked.items() if now - at < REMEMBERED_SECONDS}
                self._asked.update(dict.fromkeys(names, now))
                missing = [name for name in names if not self._counts(name, now)]
                rest = [name for name in self._asked if name not in missing and not self._counts(name, now)]
                rest.sort(key=lambda name: (self._seen[name].at if name in self._seen else float("-inf"), name))
                forgotten = self._forgotten
                # Before the call: a write that ends what was seen does not make a group disappear.
                found = {name: self._seen[name].item for name in names if name not in missing}
            fresh = self._read((*missing, *rest[: -len(missing) % _NAMES_AT_ONCE])) if missing else {}
            with self._lock:
                if forgotten == self._forgotten:
                    self._seen.update({name: _Seen(now, item) for name, item in fresh.items()})
                    self._seen = {name: seen for name, seen in self._seen.items() if name in self._asked}
        found |= fresh
        return Answer({"AutoScalingGroups": [item for name in names if (item := found[name]) is not None]}, 0)

    def _counts(self, name: str, now: float) -> bool:
        return name in self._seen and now - self._seen[name].at < COUNTS_SECONDS

    def _read(self, names: tuple[str, ...]) -> dict[str, Parameters | None]:
        found: dict[str, Parameters | None] = {}
        for start in range(0, len(names), _NAMES_AT_ONCE):
            some = list(names[start : start + _NAMES_AT_ONCE])
            # So that a refusal counts for all who ask the same.
            items = self._answers.of(("named", _GROUPS, tuple(some)), COUNTS_SECONDS, partial(self._list, some))
            found.update(dict.fromkeys(some))
            found.update((item["AutoScalingGroupName"], item) for item in items)
        return found

    def _list(self, names: list[str]) -> list[Parameters]:
        return paged(self._aws, AUTO_SCALING, _GROUPS, "AutoScalingGroups", 100, **{_NAMES: names})[0]


def _action(question: object) -> object:
    return question[1] if isinstance(question, tuple) else ""


def _refused(error: Exception) -> bool:
    return isinstance(error, AwsError) and error.denied
