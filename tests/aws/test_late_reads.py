"""Growth while every answer takes a while and descriptions lag behind: nobody else writes, and nobody is taken for it."""

import random

import pytest

from reconciler.plan.plan import OwnerState
from tests.aws.service.server import Service
from tests.aws.test_loop import NO_HUMAN_HOLD, Loop, pending, sizes, told


def _grown(service: Service, latency: float, lag: float) -> Loop:
    """A pod every five seconds, twelve in all, for two groups of at most ten each."""
    loop = Loop(service)
    loop.groups["spot"].max_size = loop.groups["general"].max_size = 10
    service.advance(60)
    service.latency, service.lag = (lambda: latency), (lambda: lag)
    for number in range(60):
        if number < 12:
            loop.cluster.pods += pending(1, f"web{number}")
        report = loop.turn(5)
        assert report.plan is not None, report.unavailable
        held = [line.name for line in report.plan.groups if line.owner.state is not OwnerState.OURS]
        assert not held, told(report)
    return loop


@pytest.mark.parametrize(("latency", "lag"), [(0.15, 0), (0.3, 0), (0.8, 0), (0.3, 15), (2, 30)])
def test_growth_alone_is_no_second_writer(service: Service, latency: float, lag: float) -> None:
    """All pods get a node in the end, and no group is held on the way."""
    loop = _grown(service, latency, lag)
    assert sizes(loop) == (10, 2)
    assert loop.store.load().conflicts == {}


def test_growth_alone_is_no_second_writer_at_any_speed(service: Service) -> None:
    """The same with latency and lag that nobody has chosen."""
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    loop = _grown(service, dice.uniform(0, 5), dice.uniform(0, 30))
    assert (loop.store.load().conflicts, sizes(loop)) == ({}, (10, 2)), f"seed {seed}"


def test_somebody_who_sets_it_back_is_found_all_the_same(service: Service) -> None:
    """With reads half a minute old: three writes, three reversals, and no fourth write."""
    loop = Loop(service)
    loop.restart(NO_HUMAN_HOLD)
    loop.groups["general"].max_size = 0
    service.advance(60)
    service.latency, service.lag = (lambda: 0.3), (lambda: 30)
    loop.cluster.pods = pending(3)
    reversals = 0
    for _ in range(60):
        report = loop.turn(10)
        if loop.groups["spot"].desired == 3:
            loop.groups["spot"].desired, reversals = 1, reversals + 1
    assert report.plan is not None
    (line,) = [line for line in report.plan.groups if line.name == "spot"]
    assert (line.owner.by, reversals, service.count("SetDesiredCapacity")) == ("a second writer", 3, 3)
