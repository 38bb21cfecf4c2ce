"""A day of one account on the service's own clock: every call counted, beside what the Cluster Autoscaler's rules ask."""

from collections import Counter
from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.call_rate import Metered
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Answer
from reconciler.platforms.aws.writing.fresh import NOT_COUNTED
from reconciler.platforms.aws.writing.polling import MOVING_SECONDS, RESTING_SECONDS, AwsPoll
from reconciler.platforms.aws.writing.provider import AwsProvider
from reconciler.providers.contract import LeavingMachine
from tests.aws.documents import REGION
from tests.aws.policies import policy_set
from tests.aws.service.behaviour import settle
from tests.aws.service.server import HANDLERS
from tests.aws.service.state import Account
from tests.aws.test_asking import POLICY, TAG, Clock
from tests.aws.writes import bound_by, workers

DAY, HOUR = 86_400, 3600
GROUPS, GROWN = 100, 3
REFRESH_SECONDS, PAGE = 60, 100


class Direct:
    """The service without HTTP: the same handlers, one call after the other. `counted`: not a look of the test's own."""

    def __init__(self, account: Account, *, counted: bool = True) -> None:
        self.account = account
        self._counted = counted

    def call(self, service: str, action: str, **parameters: Any) -> Answer:
        if self._counted:
            self.account.calls.append((action, parameters))
        return Answer(HANDLERS[service, action](self.account, REGION, parameters), int(self.account.now))


class Day:
    """A hundred groups; every hour one of them grows by three instances, and half an hour later shrinks by as many."""

    def __init__(self) -> None:
        self.account = Account()
        for number in range(GROUPS):
            self.account.add(workers(f"g{number:03}", desired=2, max_size=100, tags={TAG: "owned"}))
        self.clock = Clock()
        self.accounts = Accounts(lambda _region, _role: Direct(self.account))
        metered = Metered(Direct(self.account), monotonic=self.clock, sleep=self.clock.sleep)
        self.accounts.put(REGION, "", metered)
        policy = policy_set(POLICY)
        self.poll = AwsPoll(self.accounts, lambda: policy, self.clock)
        self.accounts.on_write(self.poll._wrote)
        self.provider = AwsProvider(self.accounts)
        self.theirs = Counter[str]()
        self._refreshed = float("-inf")

    def run(self) -> None:
        done = 0
        while self.clock.seconds < DAY:
            if self.clock.seconds >= (done + 1) * HOUR / 2:
                done += 1
                self._acts(done)
            self._as_the_autoscaler()
            self.poll.ask()
            moving = any(region.moving() for region in self.poll._regions.values())
            self._later(MOVING_SECONDS if moving else RESTING_SECONDS)

    def _later(self, seconds: float) -> None:
        self.clock.seconds += seconds
        self.account.now += seconds
        settle(self.account)

    def _acts(self, half_hour: int) -> None:
        group = self.account.groups[REGION, f"g{half_hour // 2 % GROUPS:03}" if half_hour % 2 == 0 else self._last]
        self._last = group.name
        target = TargetRef(kind=AUTO_SCALING_GROUP, region=REGION, name=group.name)
        if half_hour % 2 == 0:
            # What a decision binds its action to comes from the view, and asks nothing.
            bound = bound_by(Direct(self.account, counted=False), target)
            assert self.provider.resize(target, group.desired + GROWN, bound).done
            self.theirs["SetDesiredCapacity"] += 1
        elif len(group.instances) > 2:
            leaving = tuple(LeavingMachine(machine=name, node=name) for name in sorted(group.instances)[-GROWN:])
            assert len(self.provider.step(target, leaving, 0)) == GROWN
            # One call an instance, whoever asks.
            self.theirs["TerminateInstanceInAutoScalingGroup"] += GROWN

    _last = "g000"

    def _as_the_autoscaler(self) -> None:
        """SOURCE: cluster-autoscaler, AWS provider: the cache is read anew at most once a minute, in pages of 100 groups; in each
        such reading the activities of every group that misses instances are asked for."""
        if self.clock.seconds - self._refreshed < REFRESH_SECONDS:
            return
        self._refreshed = self.clock.seconds
        self.theirs["DescribeAutoScalingGroups"] += -(-GROUPS // PAGE)
        missing = [
            one
            for one in self.account.groups.values()
            if one.desired > sum(not item.state.startswith((*NOT_COUNTED, "Pending")) for item in one.instances.values())
        ]
        self.theirs["DescribeScalingActivities"] += len(missing)


@pytest.fixture(scope="module")
def day() -> Day:
    """One day for all tests."""
    found = Day()
    found.run()
    return found


def test_a_day_beside_the_cluster_autoscaler(day: Day) -> None:
    """Fewer lists of groups, and no more calls in all, though whoever else sizes a group is asked for before each write."""
    services = {action: service for service, action in HANDLERS}
    ours = Counter(action for action, _ in day.account.calls if services[action] == AUTO_SCALING)
    assert ours["DescribeAutoScalingGroups"] < 0.85 * day.theirs["DescribeAutoScalingGroups"]
    assert sum(ours.values()) < sum(day.theirs.values())
    assert ours["SetDesiredCapacity"] == day.theirs["SetDesiredCapacity"] == 23
    assert ours["TerminateInstanceInAutoScalingGroup"] == day.theirs["TerminateInstanceInAutoScalingGroup"] == 69


def test_the_day_came_to_its_end(day: Day) -> None:
    """What was bought was given back."""
    assert {group.desired for group in day.account.groups.values()} <= {2, 5}
    assert sum(group.desired for group in day.account.groups.values()) in (2 * GROUPS, 2 * GROUPS + GROWN)
    assert day.account.throttled == 0
