"""Removing exactly the machines of drained nodes, where nothing goes when a count is lowered, and where something does."""

import pytest

from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.crusoe.writing.notes import Notes
from reconciler.providers.contract import RemovalState, WriteCode
from tests.crusoe.service.server import LOST, Service
from tests.crusoe.service.state import Pool
from tests.crusoe.writes import Writer, ids, ref

NOTHING_MAY_GO = 1 << 31


def kept(service: Service, pool: Pool, *names: str) -> bool:
    return ids(service, pool) == list(names)


def test_exactly_these(service: Service) -> None:
    """The chosen ones go, the count falls with them, no replacement comes."""
    pool, writer = service.account.add(count=5), Writer(service)
    first, second, *rest = ids(service, pool)
    found = writer.remove(pool, second, first)
    assert [(one.state, one.replicas) for one in found] == [(RemovalState.FINISHED, 4), (RemovalState.FINISHED, 3)]
    service.advance(300)
    assert (pool.count, kept(service, pool, *rest)) == (3, True)
    assert service.account.deleted == [second, first]
    assert not Notes(writer.keeper).read().intents


def test_a_read_that_is_older_than_our_write(service: Service) -> None:
    """What is told is the size that was written: an older one would make our own write look like somebody else's."""
    pool, writer, old = service.account.add(count=3), Writer(service), []
    service.lag = lambda: 50.0 if old else 0.0
    for _ in range(2):
        service.advance(60)
    service.account.before.append(lambda method, _: old.append(method) if method == "DELETE" else None)
    (found,) = writer.remove(pool, ids(service, pool)[0])
    assert (found.state, found.replicas, pool.count) == (RemovalState.FINISHED, 2, 2)


def test_a_read_that_is_older_than_our_last_write(service: Service) -> None:
    """The next removal waits for a read that shows it. Else the count would be lowered from its old value, and raised above that
    once the chosen machine proves not to be too many."""
    pool, writer, lag = service.account.add(count=3), Writer(service), [0.0]
    first, second, _ = ids(service, pool)
    service.lag = lambda: lag[0]
    for _ in range(6):
        service.advance(10)
    writer.remove(pool, first)
    lag[0] = 30
    counts = []
    service.account.after.append(lambda *_: counts.append(pool.count))
    ended = [writer.remove(pool, second)[0] for _ in range(3) if service.advance(5) is None]
    assert [one.state for one in ended] == 3 * [RemovalState.DRAINING]
    assert "shows count 3, which we had replaced by 2" in ended[0].message
    while writer.remove(pool, second)[0].state is not RemovalState.FINISHED:
        service.advance(10)
    assert (max(counts), pool.count, service.account.deleted) == (2, 1, [first, second])


def test_a_count_that_was_not_written_replaces_nothing(service: Service) -> None:
    """The write is refused: reads that show the count from before it show what is."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim, *rest = ids(service, pool)
    refused = 500, {"code": "internal_error", "message": "try later"}, {}
    service.account.faults.append(("PATCH", "", refused))
    assert writer.remove(pool, victim)[0].state is RemovalState.DRAINING
    assert writer.remove(pool, victim)[0].state is RemovalState.FINISHED
    assert (pool.count, kept(service, pool, *rest)) == (2, True)


def test_a_step_that_writes_nothing_is_no_news(service: Service) -> None:
    """Else each step of a removal that waits would have everything read again at once, and news bring the next step."""
    pool, writer, told = service.account.add(count=2), Writer(service), list[str]()
    writer.account.on_write(lambda: told.append("wrote"))
    victim = ids(service, pool)[0]
    writer.remove(pool, victim, floor=2)
    stale = writer.bound(pool)
    pool.count = 3
    writer.provider.resize(ref(pool), 4, stale)
    assert told == []
    pool.count = 2
    writer.remove(pool, victim)
    assert told == ["wrote"]


def test_a_person_may_write_the_old_count_again(service: Service) -> None:
    """No read is called old for longer than reads are late."""
    pool, writer = service.account.add(count=3), Writer(service)
    first, second, _ = ids(service, pool)
    writer.remove(pool, first)
    pool.count = 3
    assert writer.remove(pool, second)[0].state is RemovalState.DRAINING
    service.advance(60)
    assert writer.remove(pool, second)[0].state is RemovalState.FINISHED


def test_the_order_matters(service: Service) -> None:
    """Deleted while the count still asks for it, a machine is replaced at once: that is never done."""
    pool, writer = service.account.add(count=2), Writer(service)
    counts = []
    service.account.before.append(lambda method, _: counts.append(pool.count) if method == "DELETE" else None)
    writer.remove(pool, ids(service, pool)[0])
    assert counts == [1]
    assert len(service.account.machines) == 2


def test_again_changes_nothing(service: Service) -> None:
    """What is going, and what is gone, is finished."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim = ids(service, pool)[0]
    writer.remove(pool, victim)
    assert writer.remove(pool, victim)[0].state is RemovalState.FINISHED
    service.advance(120)
    assert Writer(service).remove(pool, victim)[0].state is RemovalState.FINISHED
    assert (pool.count, service.count("DELETE"), service.count("PATCH")) == (2, 1, 1)


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_lost_answer(service: Service, method: str) -> None:
    """Done or not is seen by reading; never twice."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim, *rest = ids(service, pool)
    service.account.faults.append((method, "", LOST))
    assert writer.remove(pool, victim)[0].state is RemovalState.DRAINING
    assert writer.remove(pool, victim)[0].state is RemovalState.FINISHED
    assert (pool.count, kept(service, pool, *rest), service.count("PATCH"), service.count("DELETE")) == (2, True, 1, 1)


def test_the_platform_that_trims_is_noticed(service: Service) -> None:
    """Told to keep machines when a count is lowered, it takes one: the chosen one stays, and nothing is removed any more."""
    service.account.trims = True
    pool, writer = service.account.add(count=4), Writer(service)
    first, second, third, fourth = ids(service, pool)
    (found,) = writer.remove(pool, third)
    assert (found.state, found.code, found.reopen) == (RemovalState.FAILED, WriteCode.PASSED_OVER, True)
    assert first in found.message
    assert (pool.count, kept(service, pool, second, third, fourth)) == (3, True)
    again = Writer(service, writer.keeper)
    assert "nobody had drained" in again.provider.may_begin(ref(pool), third, "n", again.bound(pool)).message
    (found,) = again.remove(pool, third)
    assert (found.state, found.code) == (RemovalState.FAILED, WriteCode.REFUSED)
    assert (service.count("PATCH"), service.account.deleted, len(service.account.trimmed)) == (1, [], 1)


def test_it_trims_the_chosen_one_by_chance(service: Service) -> None:
    """Then exactly that has happened which was wanted."""
    service.account.trims = True
    pool, writer = service.account.add(count=3), Writer(service)
    victim, *rest = ids(service, pool)
    assert writer.remove(pool, victim)[0].state in (RemovalState.FINISHED, RemovalState.FAILED)
    assert (pool.count, kept(service, pool, *rest), service.account.deleted) == (2, True, [])


@pytest.mark.parametrize("lowering", ["", "Trims"])
def test_nothing_goes_before_somebody_has_tried(service: Service, lowering: str) -> None:
    """Where nobody has said that machines stay, or somebody that they do not: no count is lowered, so that none is lost."""
    service.account.trims = True
    pool, writer = service.account.add(count=3), Writer(service, lowering=lowering)
    victim = ids(service, pool)[1]
    assert writer.provider.may_begin(ref(pool), victim, "n", writer.bound(pool)).code == WriteCode.REFUSED
    assert writer.remove(pool, victim)[0].state is RemovalState.FAILED
    assert (pool.count, len(ids(service, pool)), service.count("PATCH"), service.count("DELETE")) == (3, 3, 0, 0)


def test_what_the_platform_does_is_waited_for(service: Service) -> None:
    """While the operation that lowered the count is under way nothing is deleted; one that trims late is noticed too."""
    service.account.operation_seconds, service.account.trims, service.account.trims_after = 30, True, 20
    pool, writer = service.account.add(count=3), Writer(service)
    victim = ids(service, pool)[2]
    assert writer.remove(pool, victim)[0].state is RemovalState.DRAINING
    assert service.count("DELETE") == 0
    service.advance(40)
    assert writer.remove(pool, victim)[0].code == WriteCode.PASSED_OVER
    assert (service.count("DELETE"), len(ids(service, pool))) == (0, 2)


def test_not_below_the_floor(service: Service) -> None:
    """The plan's floor holds for all removals together."""
    pool, writer = service.account.add(count=3), Writer(service)
    found = writer.remove(pool, *ids(service, pool), floor=2)
    assert [one.state for one in found] == [RemovalState.FINISHED, RemovalState.FAILED, RemovalState.FAILED]
    assert all(one.reopen for one in found[1:])
    assert pool.count == 2


def test_called_off_after_it_was_lowered(service: Service) -> None:
    """The count is what it was, and the machine stays."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim = ids(service, pool)[0]
    service.account.faults.append(("DELETE", victim, (429, {"code": "too_many_requests", "message": "slow"}, {})))
    assert writer.remove(pool, victim)[0].state is RemovalState.DRAINING
    assert pool.count == 2
    again = Writer(service, writer.keeper)
    (found,) = again.remove(pool, victim, floor=NOTHING_MAY_GO)
    assert (found.state, found.reopen, pool.count) == (RemovalState.FAILED, True, 3)
    assert (len(ids(service, pool)), Notes(writer.keeper).read().intents) == (3, {})


def test_a_deletion_that_is_refused(service: Service) -> None:
    """The pool is not left one short: its count is what it was."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim = ids(service, pool)[0]
    service.account.faults.append(("DELETE", victim, (403, {"code": "unauthorized", "message": "no"}, {})))
    (found,) = writer.remove(pool, victim)
    assert (found.state, found.code, pool.count, len(ids(service, pool))) == (RemovalState.FAILED, WriteCode.DENIED, 3, 3)


def test_a_count_that_is_low_already(service: Service) -> None:
    """Somebody lowered it to have one machine less: the drained one is that, and the count is not lowered again."""
    pool, writer = service.account.add(count=2, running=3), Writer(service)
    victim, *rest = ids(service, pool)
    assert writer.remove(pool, victim)[0].state is RemovalState.FINISHED
    assert (pool.count, kept(service, pool, *rest), service.count("PATCH")) == (2, True, 0)


def test_of_two_each_has_its_own(service: Service) -> None:
    """A count that was lowered for one machine is not taken for the other one's."""
    pool, writer = service.account.add(count=4), Writer(service)
    first, second, *rest = ids(service, pool)
    service.account.faults.append(("DELETE", first, (500, {"code": "x", "message": "y"}, {})))
    assert [one.state for one in writer.remove(pool, first, second)] == [RemovalState.DRAINING] * 2
    assert pool.count == 3
    assert writer.remove(pool, second)[0].state is RemovalState.FINISHED
    assert writer.remove(pool, first)[0].state is RemovalState.FINISHED
    assert (pool.count, kept(service, pool, *rest)) == (2, True)


def test_stopped_by_a_person(service: Service) -> None:
    """It is left to them, whatever was meant."""
    pool, writer = service.account.add(count=3), Writer(service)
    service.account.replaces_after = 600
    victim = service.account.counted(pool)[0]
    victim.state = "SHUTOFF"
    assert writer.provider.may_begin(ref(pool), victim.id, "n", writer.bound(pool)).code == WriteCode.NOT_FOUND
    (found,) = writer.remove(pool, victim.id)
    assert (found.state, found.reopen, service.count("PATCH"), service.count("DELETE")) == (RemovalState.FAILED, True, 0, 0)


def test_another_one_stops_meanwhile(service: Service) -> None:
    """The count was lowered, and a crash made another machine missing: none is too many, the count is as before."""
    pool, writer = service.account.add(count=3), Writer(service)
    service.account.replaces_after = 600
    victim, other, _ = service.account.counted(pool)

    def crash(method: str, _: str) -> None:
        if method == "PATCH":
            other.state = "SHUTOFF"
            service.account.after.clear()

    service.account.after.append(crash)
    (found,) = writer.remove(pool, victim.id)
    assert (found.state, found.code, pool.count) == (RemovalState.FAILED, WriteCode.STALE, 3)
    assert service.account.deleted == []


def test_raised_by_somebody_else(service: Service) -> None:
    """Between the two steps: theirs stays, and nothing is deleted."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim = ids(service, pool)[0]
    service.account.operation_seconds = 60
    assert writer.remove(pool, victim)[0].state is RemovalState.DRAINING
    pool.count = 5
    service.advance(90)
    (found,) = writer.remove(pool, victim)
    assert (found.state, found.code, pool.count, service.account.deleted) == (RemovalState.FAILED, WriteCode.STALE, 5, [])


def test_rotation_begins(service: Service) -> None:
    """Held by it, and told; a pool that only follows its own last write is waited for."""
    pool, writer = service.account.add(count=3), Writer(service)
    victim = ids(service, pool)[0]
    pool.state = "UPDATING"
    assert writer.remove(pool, victim)[0].state is RemovalState.DRAINING
    pool.state = "ROTATING"
    (found,) = writer.remove(pool, victim)
    assert (found.state, found.reopen) == (RemovalState.FAILED, True)
    assert "ROTATING" in found.message
    assert service.count("PATCH") == 0


def test_notes_that_cannot_be_kept(service: Service) -> None:
    """What must be remembered is written first: where that fails nothing is done."""

    class Broken:
        def load(self, part: str) -> bytes | None:
            return None

        def save(self, part: str, content: bytes) -> bool:
            raise OSError("the ConfigMap cannot be written")

    pool, writer = service.account.add(count=3), Writer(service, Broken())
    assert writer.remove(pool, ids(service, pool)[0])[0].state is RemovalState.DRAINING
    assert (pool.count, service.count("PATCH")) == (3, 0)


def test_only_the_leader_removes(service: Service) -> None:
    """A process that has lost the Lease neither lowers nor deletes."""

    def guard() -> None:
        raise NotLeaderError("not the leader")

    pool, writer = service.account.add(count=3), Writer(service, guard=guard)
    for running in (3, 4):
        if running > len(ids(service, pool)):
            service.account.made(pool).state = "RUNNING"
        with pytest.raises(NotLeaderError):
            writer.remove(pool, ids(service, pool)[0])
    assert (service.count("PATCH"), service.count("DELETE")) == (0, 0)
