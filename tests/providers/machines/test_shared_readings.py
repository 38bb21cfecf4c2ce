"""Many who ask for one target at the same time are told by few readings, none of which is older than the question."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import ApiError
from reconciler.providers.machines.dialect import Reading
from reconciler.providers.machines.shared_readings import SharedReadings
from tests.providers.machines_in_memory import GENERAL, MachinesInMemory


class Source:
    """Readings whose version is their number; each waits until it is let go."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)
        self.count = 0
        self.shared = SharedReadings(self.read)

    def read(self, target: TargetRef) -> Reading:
        self.count += 1
        number = self.count
        self.began.release()
        assert self.let_go.acquire(timeout=60)
        if number == 2:
            raise ApiError(503, "ServiceUnavailable", "not now")
        return Reading(MachinesInMemory().facts(), b"%d" % number)


def test_who_asks_during_a_reading_is_told_by_a_later_one() -> None:
    """The first reading began before seven others asked. The second, theirs, fails for the one that made it; of the six that are
    left each reads or shares what began after it had asked."""
    source = Source()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(source.shared.of, GENERAL)
        assert source.began.acquire(timeout=60)
        others = [pool.submit(source.shared.of, GENERAL) for _ in range(7)]
        source.let_go.release()
        assert first.result(timeout=60).body == b"1"
        assert source.began.acquire(timeout=60)
        source.let_go.release(8)
        failed = [other for other in others if other.exception(timeout=60) is not None]
        assert len(failed) == 1
        assert all(int(other.result().body) >= 3 for other in others if other not in failed)
    assert source.count <= 9


def test_one_after_the_other_each_reads() -> None:
    """What was read for somebody else is never handed on."""
    source = Source()
    source.let_go.release(9)
    assert source.shared.of(GENERAL).body == b"1"
    with pytest.raises(ApiError):
        source.shared.of(GENERAL)
    assert source.shared.of(GENERAL).body == b"3"


def test_what_was_read_just_now_will_do_for_a_first_look() -> None:
    """For half a second from its beginning, and no other target's; who asks by `of` reads all the same."""
    now = 10.0
    count = 0

    def read(target: TargetRef) -> Reading:
        nonlocal now, count
        count += 1
        now += 0.25
        return Reading(MachinesInMemory().facts(), b"%d" % count)

    shared = SharedReadings(read, lambda: now)
    other = TargetRef(kind="Set", namespace="prod", name="other")
    assert [shared.recent(GENERAL).body, shared.recent(GENERAL).body] == [b"1", b"1"]
    assert shared.recent(other).body == b"2"
    assert shared.recent(GENERAL).body == b"1"
    now += 0.01
    assert shared.recent(GENERAL).body == b"3"
    assert shared.of(GENERAL).body == b"4"
    assert shared.recent(GENERAL).body == b"4"


class Joined(dict[TargetRef, Any]):
    """The rounds that wait; who has joined one is counted."""

    def __init__(self) -> None:
        self.who = threading.Semaphore(0)

    def setdefault(self, *given: Any) -> Any:
        found = super().setdefault(*given)
        self.who.release()
        return found


def test_who_waits_for_a_reading_shares_it() -> None:
    """Three that wait behind a reading are told by one."""
    source = Source()
    source.count = 2
    source.shared._next = joined = Joined()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(source.shared.of, GENERAL)
        assert source.began.acquire(timeout=60)
        gathered = [pool.submit(source.shared.of, GENERAL) for _ in range(3)]
        for _ in range(4):
            assert joined.who.acquire(timeout=60)
        source.let_go.release(9)
        assert {other.result(timeout=60).body for other in gathered} == {b"4"}
    assert first.result().body == b"3"
