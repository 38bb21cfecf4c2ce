"""Taking back what never came, without ending what runs."""

import pytest

from reconciler.kube.leading.lease import NotLeaderError
from reconciler.providers.contract import WriteCode
from tests.crusoe.service.server import Service
from tests.crusoe.writes import Writer, ids, ref


def test_requests_that_never_came(service: Service) -> None:
    """The count falls to what is there, and nothing goes, whether or not the platform trims."""
    for trims in (False, True):
        service.reset()
        service.account.reservations["r1"], service.account.trims = 2, trims
        pool, writer = service.account.add(count=2, reservation="r1"), Writer(service, lowering="")
        pool.count = 4
        service.advance(60)
        before = ids(service, pool)
        assert writer.provider.cancel(ref(pool), (), 2, writer.bound(pool)).done
        service.advance(60)
        assert (pool.count, ids(service, pool), service.account.trimmed) == (2, before, [])


def test_they_have_come_meanwhile(service: Service) -> None:
    """Read for this write, there are more machines than the count would be: nothing is lowered."""
    pool, writer = service.account.add(count=3), Writer(service)
    assert writer.provider.cancel(ref(pool), (), 2, writer.bound(pool)).code == WriteCode.STALE
    assert (pool.count, len(ids(service, pool))) == (3, 3)


def test_a_machine_that_never_became_a_node(service: Service) -> None:
    """Exactly it goes; with the count kept, another one comes in its place."""
    pool, writer = service.account.add(count=3), Writer(service)
    first, victim, last = ids(service, pool)
    assert writer.provider.cancel(ref(pool), (victim,), 2, writer.bound(pool)).done
    assert (pool.count, ids(service, pool)) == (2, [first, last])
    assert writer.provider.cancel(ref(pool), (last,), 2, writer.bound(pool)).done
    service.advance(60)
    assert (pool.count, len(ids(service, pool)), last in ids(service, pool)) == (2, 2, False)


def test_a_machine_where_nobody_has_said(service: Service) -> None:
    """A count is not lowered below what runs."""
    pool, writer = service.account.add(count=3), Writer(service, lowering="")
    assert writer.provider.cancel(ref(pool), (ids(service, pool)[0],), 2, writer.bound(pool)).code == WriteCode.REFUSED
    assert pool.count == 3


def test_it_trims_while_one_is_taken_back(service: Service) -> None:
    """Noticed: the machine that failed stays, and the pool keeps its nodes."""
    service.account.trims = True
    pool, writer = service.account.add(count=3), Writer(service)
    first, second, victim = ids(service, pool)
    assert writer.provider.cancel(ref(pool), (victim,), 2, writer.bound(pool)).code == WriteCode.PASSED_OVER
    assert (ids(service, pool), service.account.trimmed) == ([second, victim], [first])
    assert "nobody had drained" in writer.provider.may_begin(ref(pool), victim, "n", writer.bound(pool)).message


def test_only_the_leader_takes_back(service: Service) -> None:
    """A process that has lost the Lease neither lowers nor deletes."""

    def guard() -> None:
        raise NotLeaderError("not the leader")

    pool, writer = service.account.add(count=3), Writer(service, guard=guard)
    for replicas in (2, 3):
        with pytest.raises(NotLeaderError):
            writer.provider.cancel(ref(pool), (ids(service, pool)[0],), replicas, writer.bound(pool))
    assert (service.count("PATCH"), service.count("DELETE")) == (0, 0)
