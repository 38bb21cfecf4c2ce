"""A process that ends between any two calls of a removal, and what the next one makes of what it finds."""

import pytest

from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Notes
from reconciler.providers.contract import RemovalState
from tests.aws.policies import policy_set
from tests.crusoe.loops import HEAD, Cluster, group_text
from tests.crusoe.service.server import Service
from tests.crusoe.service.state import Pool
from tests.crusoe.writes import KilledError, Writer, ids, ref

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


CANCEL_CALLS = 12
CANCEL_POINTS = [(number, after) for number in range(1, CANCEL_CALLS + 1) for after in (False, True)]


@pytest.mark.parametrize(("at", "after"), CANCEL_POINTS)
def test_machines_that_are_taken_back(service: Service, at: int, *, after: bool) -> None:
    """Two that never became nodes: however far the process came, the next ones end with exactly them gone, none too many, and the
    count lower by two; nothing that lies in the notes speaks of a machine that is there."""
    pool, keeper = service.account.add(count=5), InMemoryKeeper()
    first, one, second, other, last = ids(service, pool)
    killed = Writer(service, keeper, killed=(at, after))
    try:
        killed.provider.cancel(ref(pool), (one, other), 3, killed.bound(pool))
    except KilledError:
        _turns(service, keeper, pool, (one, other))
    service.advance(120)
    assert (pool.count, ids(service, pool)) == (3, [first, second, last])
    assert (sorted(service.account.deleted), service.account.trimmed) == ([one, other], [])
    assert not set(Notes(keeper).read().intents) & set(service.account.machines)


@pytest.mark.parametrize("status", [429, 500, 403])
def test_a_machine_that_cannot_be_deleted(service: Service, status: int) -> None:
    """The process lives on: the count is raised again for the machine that stays, and it is asked for anew."""
    pool, keeper = service.account.add(count=3), InMemoryKeeper()
    victim = ids(service, pool)[1]
    writer = Writer(service, keeper)
    service.account.faults.append(("DELETE", victim, (status, {"code": "x", "message": "no"}, {})))
    assert not writer.provider.cancel(ref(pool), (victim,), 2, writer.bound(pool)).done
    assert (pool.count, len(ids(service, pool))) == (2, 3)
    again = Writer(service, keeper)
    assert "3 again" in again.provider.abandon(ref(pool), victim).message
    assert (pool.count, len(ids(service, pool)), Notes(keeper).read().intents) == (3, 3, {})


def _turns(service: Service, keeper: InMemoryKeeper, pool: Pool, never: tuple[str, ...]) -> None:
    """Turns of the next process, as the loop makes them: what is marked in the view is given up, then a decision asks to take
    back those that never became nodes, once there are no more machines than are asked for."""
    writer = Writer(service, keeper)
    for _ in range(4):
        poll = Cluster(service, policy_set(HEAD + group_text(pool.name)), writer)
        poll.poll.ask()
        world = poll.observe()
        for machine in world.machines:
            if machine.delete_marked and not machine.deleting:
                assert writer.provider.abandon(ref(pool), machine.name).done
        running = ids(service, pool)
        left = tuple(name for name in never if name in running)
        if left and pool.count == len(running):
            assert writer.provider.cancel(ref(pool), left, pool.count - len(left), writer.bound(pool)).done
        service.advance(30)


def test_the_points_cover_all_calls(service: Service) -> None:
    """One removal, and one cancellation, makes no more calls than there are points."""
    pool = service.account.add(count=4)
    writer = Writer(service, killed=(10_000, False))
    assert writer.remove(pool, ids(service, pool)[1])[0].state is RemovalState.FINISHED
    assert writer.killing is not None
    assert 8 < writer.killing.calls <= CALLS, writer.killing.calls
    cancelling = Writer(service, killed=(10_000, False))
    _, one, other = ids(service, pool)
    assert cancelling.provider.cancel(ref(pool), (one, other), 1, cancelling.bound(pool)).done
    assert cancelling.killing is not None
    assert 8 < cancelling.killing.calls <= CANCEL_CALLS, cancelling.killing.calls
