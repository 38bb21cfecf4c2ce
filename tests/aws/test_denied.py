"""Rights that are missing for a while: told as what they are, tried again now and then, and over once they are given."""

import pytest

from reconciler.plan.plan import OwnerState
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.test_loop import Loop, bind, pending, sizes, told

_ACTION = "TerminateInstanceInAutoScalingGroup"


def _deny(service: Service, action: str) -> None:
    told = f"User: arn:aws:sts::123456789012:assumed-role/r/s is not authorized to perform: autoscaling:{action}"
    service.account.faults[action] = [ServiceError("AccessDenied", told, 403) for _ in range(500)]


def _bought(service: Service, count: int) -> Loop:
    loop = Loop(service)
    loop.cluster.pods = pending(count)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    loop.turns(10)
    return loop


@pytest.mark.usefixtures("at_once")
def test_denied_removals_are_no_second_writer(service: Service) -> None:
    """Two nodes are idle and may not be ended for five minutes: never held, told as denied, few calls; then they go."""
    loop = _bought(service, 2)
    _deny(service, _ACTION)
    loop.cluster.pods = []
    messages: set[str] = set()
    for _ in range(30):
        report = loop.turn()
        assert report.plan is not None
        (line,) = [line for line in report.plan.groups if line.name == "spot"]
        assert line.owner.state is OwnerState.OURS, told(report)
        messages.update(reason.code for reason in line.reasons)
    assert "WriteDenied" in messages
    assert service.count(_ACTION) <= 12
    assert loop.store.load().conflicts == {}
    service.account.faults.clear()
    report = loop.turns(45)
    assert sizes(loop) == (0, 0), told(report)
    assert loop.store.load().denials == {}
    assert report.plan is not None
    assert not [reason for line in report.plan.groups for reason in line.reasons if reason.code == "WriteDenied"]


@pytest.mark.parametrize("action", ["SetDesiredCapacity", "DescribeScheduledActions"])
def test_denied_growth_is_told_and_the_next_tier_asked(service: Service, action: str) -> None:
    """What is denied for one group is tried for the next, each less and less often; once allowed, pods get their nodes."""
    loop = Loop(service)
    loop.turn()
    _deny(service, action)
    loop.cluster.pods = pending(2)
    report = loop.turns(6)
    assert report.plan is not None
    denied = [line.name for line in report.plan.groups if "WriteDenied" in {one.code for one in line.reasons}]
    assert sorted(denied) == ["general", "spot"]
    loop.turns(24)
    assert service.count(action) < 20
    assert loop.store.load().backoffs == {}
    service.account.faults.clear()
    report = loop.turns(31)
    assert sum(sizes(loop)) == 2, told(report)


def test_denied_removals_stop_no_growth(service: Service) -> None:
    """A group whose instances may not be ended grows all the same."""
    loop = _bought(service, 2)
    _deny(service, _ACTION)
    loop.cluster.pods = []
    loop.turns(6)
    loop.cluster.pods = pending(3, "late")
    loop.turns(4)
    assert sum(sizes(loop)) == 3
