"""Taking back what never came, without ending what runs."""

import pytest

from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.crusoe.writing.notes import Intent, Noted, Notes
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


@pytest.mark.parametrize(("replicas", "code"), [(2, ""), (1, WriteCode.STALE)])
def test_as_many_as_there_are(service: Service, replicas: int, code: str) -> None:
    """The count may fall to what runs beside those that failed, and not below."""
    service.account.replaces_after = 10_000
    pool, writer = service.account.add(count=4, running=2), Writer(service)
    assert writer.provider.cancel(ref(pool), (), replicas, writer.bound(pool)).code == code
    assert pool.count == (4 if code else replicas)


@pytest.mark.parametrize(("missing", "told"), [(0, True), (1, True), (2, False)])
def test_one_that_leaves_while_another_is_taken_back(service: Service, missing: int, *, told: bool) -> None:
    """The platform took it where no more machines are left than are asked for; where there are, it left for another reason."""
    service.account.replaces_after = 10_000
    pool, writer = service.account.add(count=4), Writer(service)
    first, victim, *_ = service.account.of(pool)

    def leaves(method: str, _: str) -> None:
        if method == "PATCH":
            first.state = "DELETING"
            service.account.after.clear()
            pool.count -= missing - 1

    service.account.after.append(leaves)
    result = writer.provider.cancel(ref(pool), (victim.id,), 3, writer.bound(pool))
    sentence = f"{first.id} left when the count was lowered for {victim.id}"
    assert (result.code, sentence in result.message) == ((WriteCode.PASSED_OVER, True) if told else ("", False))
    assert Notes(writer.keeper).read().intents == {}
    assert service.account.deleted == ([] if told else [victim.id])


@pytest.mark.parametrize(("state", "count", "code"), [("RUNNING", 5, WriteCode.STALE), ("STOPPED", 4, WriteCode.REFUSED)])
def test_a_pool_that_is_not_what_was_judged(service: Service, state: str, count: int, code: WriteCode) -> None:
    """Somebody has asked for more meanwhile, or it may not be written: nothing is, and no machine goes."""
    pool, writer = service.account.add(count=4), Writer(service)
    bound, (victim, *_) = writer.bound(pool), ids(service, pool)
    pool.state, pool.count = state, count
    assert writer.provider.cancel(ref(pool), (victim,), 3, bound).code == code
    assert (pool.count, service.account.deleted, service.count("PATCH")) == (count, [], 0)


def test_the_platform_takes_the_one_that_is_cancelled(service: Service) -> None:
    """That is what was wanted, and nobody else has left."""
    service.account.replaces_after = 10_000
    pool, writer = service.account.add(count=4), Writer(service)
    victim, *_ = service.account.of(pool)
    service.account.after.append(lambda method, _: setattr(victim, "state", "DELETING") if method == "PATCH" else None)
    assert writer.provider.cancel(ref(pool), (victim.id,), 3, writer.bound(pool)).code == ""
    assert Notes(writer.keeper).read() == Noted()


@pytest.mark.parametrize(("status", "done"), [(404, True), (403, False), (500, False)])
def test_a_machine_that_has_gone_by_itself(service: Service, status: int, *, done: bool) -> None:
    """That is what was wanted; any other refusal ends it there."""
    pool, writer = service.account.add(count=2), Writer(service)
    service.account.faults.append(("DELETE", "", (status, {"code": "x", "message": "no"}, {})))
    assert writer.provider.cancel(ref(pool), (ids(service, pool)[0],), 2, writer.bound(pool)).done is done


def test_what_is_noted_of_two(service: Service) -> None:
    """As if the count fell by one for each, after it had fallen for the requests without a machine; what was noted of machines
    that are gone is over."""
    service.account.replaces_after = 10_000
    pool, writer = service.account.add(count=6, running=4), Writer(service)
    first, one, other, last = ids(service, pool)
    Notes(writer.keeper).put("gone", Intent(pool=pool.id, count=9, beside=()))
    Notes(writer.keeper).put("elsewhere", Intent(pool="another", count=9, beside=()))
    service.account.faults.append(("DELETE", "", (500, {"code": "x", "message": "no"}, {})))
    assert not writer.provider.cancel(ref(pool), (one, other), 2, writer.bound(pool)).done
    beside = (first, last)
    assert Notes(writer.keeper).read().intents == {
        one: Intent(pool=pool.id, count=4, beside=beside, cancelled=True),
        other: Intent(pool=pool.id, count=3, beside=beside, cancelled=True),
        "elsewhere": Intent(pool="another", count=9, beside=()),
    }
