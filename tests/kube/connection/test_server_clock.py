"""The clock of an API server, by the dates of its answers."""

import pytest

from reconciler.kube.connection.server_clock import ServerClock, farthest

DATE, SECONDS = "Sun, 29 Nov 2026 11:00:00 GMT", 1_795_950_000


class Clock:
    """A monotonic clock that the test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def _read(*dates: str | None, took_seconds: float = 0.1) -> tuple[ServerClock, Clock]:
    monotonic = Clock()
    clock = ServerClock(monotonic)
    for date in dates:
        began = clock.began()
        monotonic.now += took_seconds
        clock.answered(date, began)
    return clock, monotonic


@pytest.mark.parametrize(
    ("dates", "took", "wall", "ahead"),
    [
        ((DATE,), 0.1, SECONDS, 0),
        ((DATE,), 0.1, SECONDS + 3, 0),
        ((DATE,), 0.1, SECONDS + 3600, 3600),
        ((DATE,), 0.1, SECONDS - 360, -360),
        ((), 0.1, SECONDS + 3600, 0),
        ((None, "yesterday", ""), 0.1, SECONDS + 3600, 0),
        ((DATE,), 6.0, SECONDS + 3600, 0),
    ],
)
def test_how_far_a_clock_is_ahead(dates: tuple[str | None, ...], took: float, wall: float, ahead: int) -> None:
    """By whole seconds; nothing is known without a date that can be read, or from an answer that took long."""
    clock, _ = _read(*dates, took_seconds=took)
    assert clock.ahead_seconds(wall) == ahead


def test_a_clock_that_jumps_after_the_answer() -> None:
    """The monotonic clock goes on meanwhile, so no new answer is needed to see it."""
    clock, monotonic = _read(DATE)
    monotonic.now += 600
    assert clock.ahead_seconds(SECONDS + 600) == 0
    assert clock.ahead_seconds(SECONDS + 4200) == 3600


def test_the_farthest_of_several_servers() -> None:
    near, _ = _read(DATE)
    far, _ = _read("Sun, 29 Nov 2026 12:00:00 GMT")
    assert (farthest((near, far), SECONDS), farthest((), SECONDS)) == (-3600, 0)
