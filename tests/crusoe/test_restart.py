"""A process that ends between any two calls of a removal, and what the next one makes of what it finds."""

import pytest

from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Notes
from reconciler.providers.contract import RemovalState
from tests.crusoe.service.server import Service
from tests.crusoe.writes import KilledError, Writer, ids

# Reads (pools, machines, AutoClusters), notes and writes of one removal, in order.
CALLS = 16
POINTS = [(number, after) for number in range(1, CALLS + 1) for after in (False, True)]


def _finish(service: Service, keeper: InMemoryKeeper, pool_name: str, victim: str) -> str:
    """What later processes do until the removal has ended."""
    pool = next(one for one in service.account.pools.values() if one.name == pool_name)
    for _ in range(10):
        (found,) = Writer(service, keeper).remove(pool, victim)
        if found.state is not RemovalState.DRAINING:
            return str(found.code)
        service.advance(10)
    raise AssertionError("the removal did not end")


@pytest.mark.parametrize(("at", "after"), POINTS)
def test_machines_that_stay_when_the_count_falls(service: Service, at: int, *, after: bool) -> None:
    """The named one goes and no other; the count falls by one; nothing is left in the notes."""
    pool, keeper = service.account.add(count=4), InMemoryKeeper()
    first, victim, *rest = ids(service, pool)
    writer = Writer(service, keeper, killed=(at, after))
    try:
        writer.remove(pool, victim)
    except KilledError:
        _finish(service, keeper, pool.name, victim)
    service.advance(120)
    assert (pool.count, ids(service, pool)) == (3, [first, *rest])
    assert (service.account.deleted, service.account.trimmed) == ([victim], [])
    assert not Notes(keeper).read().intents


@pytest.mark.parametrize(("at", "after"), POINTS)
def test_machines_that_go_when_the_count_falls(service: Service, at: int, *, after: bool) -> None:
    """Told that they stay, which is wrong: at most the one that the platform took is lost, and never two for one."""
    service.account.trims = True
    pool, keeper = service.account.add(count=4), InMemoryKeeper()
    first, second, victim, last = ids(service, pool)
    try:
        Writer(service, keeper, killed=(at, after)).remove(pool, victim)
    except KilledError:
        _finish(service, keeper, pool.name, victim)
    for _ in range(3):
        Writer(service, keeper).remove(pool, victim, last)
        service.advance(60)
    assert (service.account.trimmed, service.account.deleted) == ([first], [])
    assert (pool.count, ids(service, pool)) == (3, [second, victim, last])


@pytest.mark.parametrize(("at", "after"), POINTS[:12])
def test_nobody_has_said(service: Service, at: int, *, after: bool) -> None:
    """No machine is lost that nobody drained, whatever the platform does and wherever the process ends."""
    service.account.trims = True
    pool, keeper = service.account.add(count=3), InMemoryKeeper()
    before = ids(service, pool)
    for lowering in ("", "Trims"):
        try:
            Writer(service, keeper, killed=(at, after), lowering=lowering).remove(pool, before[1])
        except KilledError:
            Writer(service, keeper, lowering=lowering).remove(pool, before[1])
    service.advance(120)
    assert (pool.count, ids(service, pool), service.account.deleted) == (3, before, [])


def test_the_points_cover_all_calls(service: Service) -> None:
    """One removal makes no more calls than there are points."""
    pool = service.account.add(count=4)
    writer = Writer(service, killed=(10_000, False))
    assert writer.remove(pool, ids(service, pool)[1])[0].state is RemovalState.FINISHED
    assert writer.killing is not None
    assert 8 < writer.killing.calls <= CALLS, writer.killing.calls
