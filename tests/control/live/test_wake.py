"""Events are gathered into turns; a turn begins once a period anyway."""

import threading

import pytest

from reconciler.control.live.wake import Wake, WakeReason


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_turn_begins_when_the_events_have_been_quiet_for_the_idle_time():
    """The last event is one idle time ago: due at once."""
    clock = Hand()
    wake = Wake(clock, period_seconds=1000, idle_seconds=1, most_seconds=10)
    wake.notify()
    clock.now += 1
    assert wake.wait() is WakeReason.EVENT


def test_events_that_do_not_end_wait_for_the_longest_time_only():
    """An event every half second never leaves the idle time; after ten seconds the turn begins all the same."""
    clock = Hand()
    wake = Wake(clock, period_seconds=1000, idle_seconds=1, most_seconds=10)
    for _ in range(20):
        wake.notify()
        clock.now += 0.5
    wake.notify()
    assert wake.wait() is WakeReason.EVENT


def test_a_scheduler_that_goes_on_writing_delays_a_turn_by_two_seconds():
    """As the loop has it: statuses of pods are written all the time, and demand that has come does not wait for that."""
    clock = Hand()
    wake = Wake(clock, period_seconds=1000)
    for _ in range(8):
        wake.notify()
        clock.now += 0.25
    wake.notify()
    assert wake.wait() is WakeReason.EVENT
    assert clock.now == 102.0


def test_events_are_used_up_by_the_turn_that_they_cause():
    """After the turn nothing is left but the period."""
    clock = Hand()
    wake = Wake(clock, period_seconds=0, idle_seconds=0, most_seconds=0)
    wake.notify()
    assert [wake.wait(), wake.wait()] == [WakeReason.EVENT, WakeReason.PERIOD]


def test_an_event_ends_the_wait_of_another_thread():
    """The waiting thread returns although its period is an hour."""
    import time

    wake = Wake(time.monotonic, period_seconds=3600, idle_seconds=0, most_seconds=0)
    found: list[WakeReason] = []
    waiting = threading.Thread(target=lambda: found.append(wake.wait()))
    waiting.start()
    wake.notify()
    waiting.join(30)
    assert found == [WakeReason.EVENT]


def test_stop_ends_all_waits_now_and_later():
    """A stopped loop turns no more, whatever happens."""
    wake = Wake(Hand(), period_seconds=3600)
    wake.notify()
    wake.stop()
    assert [wake.wait(), wake.wait()] == [WakeReason.STOP, WakeReason.STOP]
    assert wake.stopped


def test_a_turn_that_was_asked_for_begins_in_its_time_once():
    """Five seconds from now, though the period is an hour and no event comes; the turn after it waits for the period."""
    clock = Hand()
    wake = Wake(clock, period_seconds=3600, idle_seconds=1, most_seconds=10)
    wake.again(5)
    clock.now += 5
    assert wake.wait() is WakeReason.PERIOD
    clock.now += 3600
    wake.again(7200)
    wake.notify()
    clock.now += 1
    assert wake.wait() is WakeReason.EVENT


class Waiting:
    """A `Wake` as the loop has it, whose waits take no time: they move its clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Hand()
        self.wake = Wake(self.clock)
        self.waits: list[float] = []
        monkeypatch.setattr(self.wake._changed, "wait", self._wait)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.now += seconds


def test_ten_seconds_after_the_turn_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened (row S18)."""
    waiting = Waiting(monkeypatch)
    assert (waiting.wake.wait(), waiting.waits) == (WakeReason.PERIOD, [10])


def test_one_second_after_the_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting(monkeypatch)
    waiting.wake.notify()
    assert (waiting.wake.wait(), waiting.waits) == (WakeReason.EVENT, [1])


def test_two_seconds_after_the_first_event_where_there_is_no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every half second comes another one: neither before nor after."""
    waiting = Waiting(monkeypatch)

    def more(_: float) -> None:
        waiting.clock.now += 0.5
        waiting.wake.notify()

    monkeypatch.setattr(waiting.wake._changed, "wait", more)
    waiting.wake.notify()
    assert (waiting.wake.wait(), waiting.clock.now) == (WakeReason.EVENT, 102)


@pytest.mark.parametrize(("events", "reason"), [(0, WakeReason.PERIOD), (1, WakeReason.EVENT)])
def test_not_before_it_was_asked_for(events: int, reason: WakeReason, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second from now, before the period and before the second of quiet; then the period is waited for again."""
    waiting = Waiting(monkeypatch)
    for _ in range(events):
        waiting.wake.notify()
    waiting.wake.again(0.5)
    assert (waiting.wake.wait(), waiting.waits) == (reason, [0.5])
    assert (waiting.wake.wait(), waiting.waits) == (WakeReason.PERIOD, [0.5, 10])
