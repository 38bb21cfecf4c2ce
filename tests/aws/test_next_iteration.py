"""What the loop knows one turn later: a storm that is told once, an autoscaler that came back, a hold that was taken off, a size
that was written by a process which ended right after."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from reconciler.control.live.live_run import LiveRun
from reconciler.control.live.wake import Wake
from reconciler.control.log import Log
from reconciler.control.turn.figures import Figures
from reconciler.kube.leading.rival import RivalWatch
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.test_bursts import burst, pods
from tests.aws.test_holding import _asked, held
from tests.aws.test_loop import Loop, pending, sizes, told
from tests.kube.leading.test_rival import NOON, Server

__all__ = ["_asked"]

_THROTTLED = ServiceError("Throttling", "Rate exceeded")
_ACTIONS = (
    "DescribeAutoScalingGroups", "SetDesiredCapacity", "DescribePolicies", "DescribeScheduledActions", "CreateOrUpdateTags",
    "DescribeInstanceRefreshes", "DescribeScalingActivities", "DescribeLaunchTemplateVersions", "DescribeInstanceTypes",
)  # fmt: skip


class _Logged:
    """A loop whose turns are told, with the doubts of a view that is polled."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._stream = io.StringIO()
        clock = loop.cluster.polled.clock
        log = Log(self._stream, loop.cluster.now)
        self._run = LiveRun(
            loop.loop, self, Wake(clock), Figures(), log, term=lambda: 1, policy_missing=lambda: "", monotonic=clock,
            wall_seconds=loop.cluster.now,
        )  # fmt: skip

    def doubts(self) -> tuple[str, ...]:
        return ()

    def age_seconds(self) -> float:
        return 0.5

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.loop.cluster.polled.turn(5)
            self._run.look()

    def lines(self, code: str = "Resize") -> list[str]:
        """Messages of the lines so far, whatever the outcome adds to the code."""
        lines = [json.loads(line) for line in self._stream.getvalue().splitlines()]
        return [line["message"] for line in lines if line["code"].startswith(code) and line["level"] != "info"]


def test_a_storm_is_one_line(service: Service) -> None:
    """Twelve groups are to grow for five minutes in which AWS refuses every call, one more from the second minute on."""
    loop = burst(service)
    service.account.faults.update({action: [_THROTTLED] * 999 for action in _ACTIONS})
    logged = _Logged(loop)
    loop.cluster.pods = pods()[:11]
    logged.turns(24)
    loop.cluster.pods = pods()
    logged.turns(36)
    (line,) = logged.lines()
    assert "11 targets" in line, line
    assert "Throttling" in line, line
    service.account.faults.clear()
    logged.turns(24)
    assert len(logged.lines()) == 1


class _Autoscaler:
    """A Cluster Autoscaler that ended long ago, and what a loop beside it knows of it."""

    def __init__(self, service: Service) -> None:
        self._service, self.server = service, Server()
        self._began = service.account.now
        self.server.lease("2027-01-15T00:00:00Z")
        watch = RivalWatch((self.server,), (), monotonic=self._seconds, wall_seconds=lambda: NOON + self._seconds())
        self.loop = Loop(service, rivals=watch.evidence, rivals_at_write=watch.before_write)

    def _seconds(self) -> float:
        return self._service.account.now - self._began

    def returns(self) -> None:
        self.server.lease("2027-01-15T12:00:00Z")


@pytest.mark.usefixtures("at_once")
def test_no_write_after_the_autoscaler_is_back(service: Service) -> None:
    """It renews its Lease a second before our write, in the same turn as our look at it: nothing is bought."""
    there = _Autoscaler(service)
    loop = there.loop
    loop.turns(2)
    loop.cluster.pods = pending(2)
    looked = loop.cluster.observe

    def observe() -> Any:
        service.advance(2)
        there.returns()
        return looked()

    loop.cluster.observe = observe  # type: ignore[method-assign]
    report = loop.turn(1)
    assert (sizes(loop), service.count("SetDesiredCapacity")) == ((0, 0), 0), told(report)
    assert "cluster-autoscaler is renewed by ca-0" in str(told(report))
    report = loop.turn(10)
    assert report.plan is not None
    assert {line.owner.by for line in report.plan.groups} == {"cluster-autoscaler"}


@pytest.mark.usefixtures("at_once")
def test_no_instance_ends_after_the_autoscaler_is_back(service: Service) -> None:
    """Two nodes are empty and marked; it is back before AWS is asked to end them."""
    there = _Autoscaler(service)
    loop = there.loop
    loop.cluster.pods = pending(2)
    loop.turns(7)
    loop.cluster.pods = []
    while not loop.cluster.leaving:
        loop.turn(5)
    there.returns()
    loop.turn(2)
    assert (service.account.ended, service.count("TerminateInstance"), loop.groups["spot"].desired) == ([], 0, 2)


@pytest.mark.usefixtures("at_once")
def test_another_one_wrote_a_second_before(service: Service) -> None:
    """The size moved after our view and before our write: what is read before the write refuses it, and the next turn counts."""
    loop = Loop(service)
    loop.turn()
    loop.cluster.pods = pending(2)

    def writes(action: str, _: dict[str, Any]) -> None:
        if action == "DescribeAutoScalingGroups" and loop.groups["spot"].desired == 0:
            loop.groups["spot"].desired = 4

    loop.cluster.polled.turn(10)
    service.account.before.append(writes)
    loop.loop.turn()
    assert (sizes(loop), service.count("SetDesiredCapacity")) == ((4, 0), 0)
    service.account.before.clear()
    loop.turns(3)
    assert sizes(loop) == (4, 0)


def test_a_release_is_seen_at_the_next_iteration(service: Service) -> None:
    """A group rests under a hold for a quarter of an hour; taken off, it grows within one pause of the poll and a turn."""
    loop = Loop(service)
    loop.turn()
    held(service, loop.groups["spot"], "maintenance")
    poll = loop.cluster.polled.poll
    for _ in range(30):
        report = loop.turn(poll._pause_seconds())
    assert report.plan is not None
    assert [line.name for line in report.plan.groups if line.held] == ["spot"]
    before = service.count()
    seconds = service.account.now
    while service.account.now - seconds < 300:
        loop.turn(poll._pause_seconds())
    assert service.count() - before <= 7 * 5 + 5, "calls of five minutes"
    held(service, loop.groups["spot"], "")
    pause = poll._pause_seconds()
    loop.cluster.pods = pending(1)
    report = loop.turn(pause)
    assert (pause <= 10, sizes(loop)) == (True, (1, 0)), told(report)


def _killed_at(service: Service, action: str, *, after: bool) -> tuple[Loop, Callable[[], None]]:
    """A loop of one spot instance whose process ends at its next write, before or after AWS has done it."""
    loop = Loop(service)
    loop.cluster.pods = pending(1)
    loop.turns(6)
    assert loop.groups["spot"].tags["reconciler.dev/desired"].startswith("1.")

    class Killed(BaseException):
        pass

    def dies() -> None:
        loop.cluster.pods += pending(1, "more")
        loop.cluster.polled.turn(10)
        account = loop.cluster.polled.accounts.of(loop.groups["spot"].region, "")
        call = account.call

        def killed(service_name: str, name: str, **parameters: Any) -> Any:
            if name != action:
                return call(service_name, name, **parameters)
            if after:
                call(service_name, name, **parameters)
            raise Killed

        account.call = killed  # type: ignore[method-assign]
        with pytest.raises(Killed):
            loop.loop.turn()
        account.call = call  # type: ignore[method-assign]

    return loop, dies


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("action", ["SetDesiredCapacity", "CreateOrUpdateTags"])
def test_killed_around_a_write_and_its_mark(service: Service, action: str, *, after: bool) -> None:
    """kill -9 at either of the two: two pods have two instances, nobody is said to have raised the size, nothing is held, and the
    mark tells of the size that stands."""
    loop, dies = _killed_at(service, action, after=after)
    dies()
    loop.restart()
    said: set[str] = set()
    for _ in range(8):
        report = loop.turn()
        assert report.plan is not None
        said |= {reason.code for line in report.plan.groups for reason in line.reasons}
        assert not [line.name for line in report.plan.groups if line.held], told(report)
    assert (sizes(loop), len(loop.groups["spot"].counted)) == ((2, 0), 2)
    assert "RaisedByOthers" not in said
    assert loop.groups["spot"].tags["reconciler.dev/desired"].partition(".")[0] == "2"
