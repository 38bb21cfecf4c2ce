"""How long other clients of a server that was away may still be reconnecting."""

import random

import pytest

from reconciler.kube.connection.outages import Outages


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_server_that_was_never_away_is_waited_for_by_nobody() -> None:
    """Answers alone, also those that say no."""
    outages = Outages(Clock())
    outages.answered()
    outages.answered(409)
    assert outages.reconnecting_seconds() == 0


@pytest.mark.parametrize(("away_seconds", "wait_seconds"), [(0, 6.6), (4, 14.6), (20, 46.6), (300, 65.0)])
def test_the_wait_after_an_outage(away_seconds: float, wait_seconds: float) -> None:
    """2 T + 1.6 s, at most 60, and 5 s for what follows. It counts from the first answer, and later answers do not extend it."""
    clock = Clock()
    outages = Outages(clock)
    for step in range(5):
        clock.now = 1000 + away_seconds * step / 4
        outages.failed()
        assert outages.reconnecting_seconds() == 65
    outages.answered()
    assert outages.reconnecting_seconds() == pytest.approx(wait_seconds)
    clock.now += 3
    outages.answered()
    assert outages.reconnecting_seconds() == pytest.approx(wait_seconds - 3)
    clock.now += 65
    assert outages.reconnecting_seconds() == 0


def test_outages_close_together_count_as_one() -> None:
    """Reflectors start over with short waits only after two minutes without a failure."""
    clock = Clock()
    outages = Outages(clock)
    outages.failed()
    outages.answered()
    clock.now += 119
    outages.failed()
    outages.answered()
    assert outages.reconnecting_seconds() == 65
    clock.now += 121
    outages.failed()
    outages.answered()
    assert outages.reconnecting_seconds() == pytest.approx(6.6)


def test_a_server_without_its_etcd_counts_as_away() -> None:
    """It answers 500, and watches of all its clients have ended."""
    outages = Outages(Clock())
    outages.answered(500)
    assert outages.reconnecting_seconds() == 65


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_a_server_that_starts_is_still_away(status: int) -> None:
    """Seen on a killed API server: it breaks all watches at once, says 403 after 0.85 s and serves seconds later."""
    clock = Clock()
    outages = Outages(clock)
    outages.failed()
    clock.now += 1
    outages.answered(status)
    clock.now += 3
    assert outages.reconnecting_seconds() == 65
    outages.answered(200)
    assert outages.reconnecting_seconds() == pytest.approx(14.6)


def test_a_reflector_is_back_before_the_wait_is_over() -> None:
    """Reflectors of client-go simulated by their own rule, with random jitter and outages: none retries after our wait."""
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for _ in range(2000):
        away = draw.uniform(0, 240)
        clock = Clock()
        outages = Outages(clock)
        outages.failed()
        clock.now += away
        outages.failed()
        outages.answered()
        retry, wait = 0.0, 0.8
        while retry <= away:
            retry += wait * draw.uniform(1, 2)
            wait = min(2 * wait, 30)
        assert retry <= away + outages.reconnecting_seconds()
