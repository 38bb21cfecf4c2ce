"""What each step of a removal answers, word for word, and what lies in the notes afterwards."""

import msgspec
import pytest

from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Intent, Notes
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from tests.crusoe.documents import LOCATION
from tests.crusoe.service.server import Service
from tests.crusoe.service.state import Machine, Pool
from tests.crusoe.writes import Writer, ids, ref

NAME = f"NodePool {LOCATION}/h100"
DENIED = (403, {"code": "unauthorized", "message": "no"}, {})
MISSING = " (`reconciler doctor` lists the missing rights)"
BROKEN = (500, {"code": "internal_error", "message": "broken"}, {})
SLOW = (429, {"code": "too_many_requests", "message": "slow"}, {})
GONE = (404, {"code": "not_found", "message": "instance not found"}, {})


def waiting(code: WriteCode, message: str, *, untouched: bool = False) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.DRAINING, code=code, message=message, untouched=untouched)


def failed(code: WriteCode, message: str, *, reopen: bool = True) -> TargetRemoval:
    return TargetRemoval(state=RemovalState.FAILED, code=code, message=message, reopen=reopen)


def noted(writer: Writer) -> dict[str, Intent]:
    return Notes(writer.keeper).read().intents


def passed_over(writer: Writer) -> dict[str, str]:
    return Notes(writer.keeper).read().passed_over


def three(service: Service, **rest: object) -> tuple[Pool, Writer, list[Machine]]:
    """A pool whose missing machines are replaced much later."""
    service.account.replaces_after = 10_000
    pool = service.account.add(count=3, **rest)
    return pool, Writer(service), service.account.of(pool)


def test_a_pool_that_is_gone(service: Service) -> None:
    """Its nodes are not opened again, and nothing can be begun or taken back there."""
    pool, writer, (victim, *_) = three(service)
    bound = writer.bound(pool)
    pool.state = "DELETED"
    assert writer.remove(pool, victim.id) == (failed(WriteCode.NOT_FOUND, f"{NAME} does not exist", reopen=False),)
    gone = WriteResult(code=WriteCode.NOT_FOUND, message=f"{NAME} does not exist")
    assert writer.provider.may_begin(ref(pool), victim.id, "n", bound) == gone
    assert writer.provider.abandon(ref(pool), victim.id) == gone
    there = WriteResult(code=WriteCode.NOT_FOUND, message=f"{NAME} does not exist")
    assert [writer.provider.release(ref(pool), bound), writer.provider.cancel(ref(pool), (), 2, bound)] == [there, there]


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (BROKEN, WriteCode.UNAVAILABLE, f"{NAME} could not be read: internal_error: broken"),
        (DENIED, WriteCode.DENIED, f"{NAME}: no{MISSING}"),
        (GONE, WriteCode.NOT_FOUND, f"{NAME}: instance not found"),
    ],
)
def test_a_pool_that_cannot_be_read(service: Service, answer: object, code: WriteCode, message: str) -> None:
    """Tried again, but where AutoClusters say that there is no such thing."""
    pool, writer, (victim, *_) = three(service)
    bound = writer.bound(pool)
    service.account.faults.append(("GET", "autocluster-operations", answer))
    expected = failed(code, message, reopen=False) if code == WriteCode.NOT_FOUND else waiting(code, message)
    assert writer.remove(pool, victim.id) == (expected,)
    service.account.faults.append(("GET", "autocluster-operations", answer))
    assert writer.provider.may_begin(ref(pool), victim.id, "n", bound) == WriteResult(code=code, message=message)


def test_a_pool_that_cannot_be_understood(service: Service) -> None:
    """Nothing is written on it, whatever was asked for."""
    pool, writer, (victim, *_) = three(service)
    bound = writer.bound(pool)
    pool.extra["state"] = 7
    told = "cannot be understood: Expected `str`, got `int`"
    service.account.before.append(lambda *_: service.wrong.clear())
    (found,) = writer.remove(pool, victim.id)
    results = [writer.provider.may_begin(ref(pool), victim.id, "n", bound), writer.provider.resize(ref(pool), 4, bound)]
    assert (found.state, found.code, told in found.message) == (RemovalState.DRAINING, WriteCode.REFUSED, True)
    assert [(one.code, told in one.message) for one in results] == [(WriteCode.REFUSED, True)] * 2
    assert service.count("PATCH") == 0
    service.wrong.clear()


def test_what_is_begun(service: Service) -> None:
    """A machine that runs may be removed where nothing stands against it; of another pool, or none, it may not."""
    pool, writer, (victim, *_) = three(service)
    assert writer.provider.may_begin(ref(pool), victim.id, "n", writer.bound(pool)) == WriteResult()
    result = writer.provider.may_begin(ref(pool), "m-9", "n", writer.bound(pool))
    assert result == WriteResult(code=WriteCode.NOT_FOUND, message=f"{NAME} has no running machine m-9")
    trims = Writer(service, lowering="Trims")
    result = trims.provider.may_begin(ref(pool), victim.id, "n", trims.bound(pool))
    why = "if its count is lowered here, the platform chooses the machine that it deletes"
    assert result == WriteResult(code=WriteCode.REFUSED, message=f"{NAME}: {why}")
    assert trims.provider.may_begin(ref(pool), "m-9", "n", trims.bound(pool)) == result
    stale = WriteResult(code=WriteCode.STALE, message=f"{NAME} has 3 replicas, and 4 when the plan was made")
    judged = msgspec.structs.replace(trims.bound(pool), replicas=4)
    assert trims.provider.may_begin(ref(pool), victim.id, "n", judged) == stale


def test_one_after_the_other(service: Service) -> None:
    """What is not certain lets those behind it wait, untouched; those before it are done."""
    pool, writer, (first, second, third) = three(service)
    service.account.faults.append(("DELETE", second.id, BROKEN))
    assert writer.remove(pool, first.id, second.id, third.id) == (
        TargetRemoval(state=RemovalState.FINISHED, replicas=2),
        waiting(WriteCode.UNKNOWN, f"{NAME}, machine {second.id}: broken"),
        waiting(WriteCode.UNAVAILABLE, "waits for the previous removal", untouched=True),
    )
    assert (pool.count, list(noted(writer))) == (1, [second.id])


def test_a_pool_that_follows_its_own_count(service: Service) -> None:
    """For a moment it is not RUNNING: before anything was noted the machine is untouched, afterwards it is not."""
    pool, writer, (victim, *_) = three(service)
    pool.state = "UPDATING"
    (found,) = writer.remove(pool, victim.id)
    assert (found.state, found.untouched) == (RemovalState.DRAINING, True)
    Notes(writer.keeper).put(victim.id, Intent(pool=pool.id, count=3, beside=()))
    (found,) = writer.remove(pool, victim.id)
    assert (found.state, found.untouched) == (RemovalState.DRAINING, False)


@pytest.mark.parametrize(
    ("answer", "code", "message", "again"),
    [
        (SLOW, WriteCode.UNAVAILABLE, f"{NAME}: slow", True),
        (BROKEN, WriteCode.UNKNOWN, f"{NAME}: broken", True),
        (DENIED, WriteCode.DENIED, f"{NAME}: no{MISSING}", False),
    ],
)
def test_a_count_that_is_not_lowered(service: Service, answer: object, code: WriteCode, message: str, *, again: bool) -> None:
    """What was noted stays where the answer leaves a doubt, and goes where it leaves none."""
    pool, writer, (victim, *others) = three(service)
    service.account.faults.append(("PATCH", pool.id, answer))
    assert writer.remove(pool, victim.id) == ((waiting if again else failed)(code, message),)
    left = {victim.id: Intent(pool=pool.id, count=3, beside=tuple(sorted(one.id for one in others)))}
    assert (noted(writer), pool.count) == (left if again else {}, 3)


def test_a_count_that_is_not_what_was_written(service: Service) -> None:
    """Somebody wrote in the same moment: nothing is deleted before that is understood."""
    pool, writer, (victim, *_) = three(service)
    service.account.after.append(lambda method, _: setattr(pool, "count", 5) if method == "PATCH" else None)
    assert writer.remove(pool, victim.id) == (waiting(WriteCode.UNAVAILABLE, f"{NAME} was lowered to 2 and is at 5"),)
    assert (service.account.deleted, noted(writer)[victim.id].count) == ([], 3)
    message = f"somebody else raised {NAME} to 5 meanwhile"
    assert writer.remove(pool, victim.id) == (failed(WriteCode.STALE, message),)
    assert noted(writer) == {}


def test_a_count_that_was_noted_and_not_lowered(service: Service) -> None:
    """A process ended in between: it is lowered now, once, and not below the floor."""
    pool, writer, (victim, *others) = three(service)
    intent = Intent(pool=pool.id, count=3, beside=tuple(sorted(one.id for one in others)))
    Notes(writer.keeper).put(victim.id, intent)
    message = f"{NAME} has count 3 and must keep 3"
    assert writer.remove(pool, victim.id, floor=3) == (failed(WriteCode.REFUSED, message),)
    Notes(writer.keeper).put(victim.id, intent)
    assert writer.remove(pool, victim.id) == (TargetRemoval(state=RemovalState.FINISHED, replicas=2),)
    assert (pool.count, service.count("PATCH"), service.account.deleted) == (2, 1, [victim.id])


def test_a_deletion_without_an_effect(service: Service) -> None:
    """Answered as if the machine were gone, which is seen to run: looked at again."""
    pool, writer, (victim, *_) = three(service)
    service.account.faults.append(("DELETE", victim.id, GONE))
    message = f"machine {victim.id} was deleted, but no read shows it leaving yet"
    assert writer.remove(pool, victim.id) == (waiting(WriteCode.UNAVAILABLE, message),)
    assert writer.remove(pool, victim.id) == (TargetRemoval(state=RemovalState.FINISHED, replicas=2),)


def test_what_a_deletion_did_cannot_be_read(service: Service) -> None:
    """It stands: the next step looks."""
    pool, writer, (victim, *_) = three(service)

    def away(method: str, _: str) -> None:
        if method == "DELETE":
            service.account.faults.append(("GET", "autocluster-operations", BROKEN))

    service.account.after.append(away)
    message = f"machine {victim.id} was deleted, but no read shows it leaving yet"
    assert writer.remove(pool, victim.id) == (waiting(WriteCode.UNAVAILABLE, message),)
    assert writer.remove(pool, victim.id) == (TargetRemoval(state=RemovalState.FINISHED, replicas=2),)
    assert (pool.count, service.account.deleted) == (2, [victim.id])


def test_a_deletion_that_is_refused(service: Service) -> None:
    """The count is as before, which is told with why."""
    pool, writer, (victim, *_) = three(service)
    service.account.faults.append(("DELETE", victim.id, DENIED))
    message = f"{NAME}, machine {victim.id}: no{MISSING}. Its count is 3 again"
    assert writer.remove(pool, victim.id) == (failed(WriteCode.DENIED, message),)
    assert (pool.count, noted(writer)) == (3, {})


@pytest.mark.parametrize(("running", "told"), [(3, True), (5, False)])
def test_another_one_that_leaves_with_it(service: Service, running: int, *, told: bool) -> None:
    """Where the count is not met any more the platform has taken it, and no node goes before a person has looked; where enough
    are left, somebody had asked for more."""
    service.account.replaces_after = 10_000
    pool, writer = service.account.add(count=3, running=running), Writer(service)
    victim, other, *_ = service.account.of(pool)
    service.account.after.append(lambda method, _: setattr(other, "state", "DELETING") if method == "DELETE" else None)
    assert writer.remove(pool, victim.id)[0].state is RemovalState.FINISHED
    sentence = f"{other.id} left as well when machine {victim.id} was deleted"
    assert passed_over(writer) == ({pool.id: sentence} if told else {})


def test_another_removal_that_goes_on_is_none_that_left(service: Service) -> None:
    """Its machine is noted itself."""
    pool, writer, (victim, other, _) = three(service)
    Notes(writer.keeper).put(other.id, Intent(pool=pool.id, count=2, beside=()))
    service.account.after.append(lambda method, _: setattr(other, "state", "DELETING") if method == "DELETE" else None)
    assert writer.remove(pool, victim.id)[0].state is RemovalState.FINISHED
    assert passed_over(writer) == {}


def test_stopped_by_a_person(service: Service) -> None:
    """It is left to them, and what was noted is over."""
    pool, writer, (victim, *_) = three(service)
    Notes(writer.keeper).put(victim.id, Intent(pool=pool.id, count=3, beside=()))
    victim.state = "SHUTOFF"
    message = f"machine {victim.id} is stopped: it is left to the person who stopped it"
    assert writer.remove(pool, victim.id) == (failed(WriteCode.REFUSED, message),)
    assert noted(writer) == {}


@pytest.mark.parametrize(("count", "floor", "goes"), [(3, 2, True), (3, 3, False), (1, 1, False), (1, 0, True)])
def test_the_floor(service: Service, count: int, floor: int, *, goes: bool) -> None:
    """The count after the removal may be the floor, and not less."""
    service.account.replaces_after = 10_000
    pool, writer = service.account.add(count=count), Writer(service)
    victim = ids(service, pool)[0]
    message = f"{NAME} has count {count} and must keep {floor}"
    finished = TargetRemoval(state=RemovalState.FINISHED, replicas=count - 1)
    assert writer.remove(pool, victim, floor=floor) == (finished if goes else failed(WriteCode.REFUSED, message),)


def test_the_floor_of_one_that_was_lowered(service: Service) -> None:
    """It was counted off already: the floor holds for what is there now, and the count is raised again where it rose."""
    pool, writer, (victim, *_) = three(service)
    service.account.faults.append(("DELETE", victim.id, BROKEN))
    writer.remove(pool, victim.id)
    assert (pool.count, noted(writer)[victim.id].count) == (2, 3)
    message = f"{NAME} has count 2 and must keep 3, and its count is 3 again"
    assert writer.remove(pool, victim.id, floor=3) == (failed(WriteCode.REFUSED, message),)
    assert (pool.count, noted(writer)) == (3, {})


def test_one_that_was_lowered_may_reach_the_floor(service: Service) -> None:
    """It is not counted off twice."""
    pool, writer, (victim, *_) = three(service)
    service.account.faults.append(("DELETE", victim.id, BROKEN))
    writer.remove(pool, victim.id)
    assert writer.remove(pool, victim.id, floor=2) == (TargetRemoval(state=RemovalState.FINISHED, replicas=2),)
    assert (pool.count, service.account.deleted) == (2, [victim.id])


def lowered(service: Service, count: int, *counts: int) -> tuple[Pool, Writer, list[str]]:
    """A pool whose count was lowered for one machine after the other, from these on, and none of them deleted."""
    service.account.replaces_after = 10_000
    pool = service.account.add(count=count, running=max(counts))
    writer, names = Writer(service), ids(service, pool)
    for name, before in zip(names, counts, strict=False):
        Notes(writer.keeper).put(name, Intent(pool=pool.id, count=before, beside=()))
    return pool, writer, names


@pytest.mark.parametrize(
    ("count", "counts", "given_up", "after", "left"),
    [
        (3, (4,), 0, 4, {}),
        (2, (4, 3), 0, 3, {1: 4}),
        (2, (4, 3), 1, 3, {0: 4}),
        (3, (4, 3), 0, 4, {1: 4}),
        (1, (4, 3, 2), 1, 2, {0: 4, 2: 3}),
        (2, (4,), 0, 2, {}),
        (4, (4,), 0, 4, {}),
    ],
)
def test_what_is_given_up(
    service: Service, count: int, counts: tuple[int, ...], given_up: int, after: int, left: dict[int, int]
) -> None:
    """The count rises by one for it, where nobody else has written it since; what was lowered later was so from one more."""
    pool, writer, names = lowered(service, count, *counts)
    result = writer.provider.abandon(ref(pool), names[given_up])
    assert result == WriteResult(message=f"its count is {after} again" if after != count else "")
    assert (pool.count, {name: one.count for name, one in noted(writer).items()}) == (
        after,
        {names[place]: before for place, before in left.items()},
    )
    assert writer.provider.abandon(ref(pool), names[given_up]) == WriteResult()
    assert pool.count == after


def test_what_another_pool_was_lowered_for(service: Service) -> None:
    """Its notes say nothing of this one."""
    pool, writer, names = lowered(service, 3, 4)
    Notes(writer.keeper).put(names[1], Intent(pool="another", count=4, beside=()))
    assert writer.provider.abandon(ref(pool), names[0]).message == "its count is 4 again"
    assert noted(writer) == {names[1]: Intent(pool="another", count=4, beside=())}


def test_notes_after_a_count_was_raised_again() -> None:
    """What was lowered after it was so from one more; what was not, or of another pool, stays as it is."""
    notes = Notes(InMemoryKeeper())
    for machine, pool, count in (("a", "p", 4), ("b", "p", 4), ("c", "p", 3), ("d", "p", 5), ("e", "q", 3)):
        notes.put(machine, Intent(pool=pool, count=count, beside=()))
    notes.restored("a")
    assert {name: one.count for name, one in notes.read().intents.items()} == {"b": 4, "c": 4, "d": 5, "e": 3}
    notes.restored("unknown")
    assert len(notes.read().intents) == 4


def test_given_up_though_somebody_sizes_it(service: Service) -> None:
    """What is not ours is not written: the note goes, and the count stays as they want it."""
    pool, writer, names = lowered(service, 3, 4)
    pool.state = "ROTATING"
    assert writer.provider.abandon(ref(pool), names[0]) == WriteResult()
    assert (pool.count, noted(writer), service.count("PATCH")) == (3, {}, 0)


def test_given_up_beside_one_that_stopped(service: Service) -> None:
    """It was lowered for that one as well, and by whom it was stopped nobody can tell: the count is left as it is."""
    pool, writer, names = lowered(service, 2, 4, 3)
    service.account.machines[names[1]].state = "SHUTOFF"
    assert writer.provider.abandon(ref(pool), names[0]) == WriteResult()
    assert (pool.count, list(noted(writer))) == (2, [names[1]])


def test_given_up_when_it_has_gone(service: Service) -> None:
    """Nothing is asked for in its place."""
    pool, writer, names = lowered(service, 3, 4)
    service.account.machines[names[0]].state = "DELETING"
    assert writer.provider.abandon(ref(pool), names[0]) == WriteResult()
    assert (pool.count, noted(writer)) == (3, {})


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [(SLOW, WriteCode.UNAVAILABLE, f"{NAME}: slow"), (BROKEN, WriteCode.UNKNOWN, f"{NAME}: broken")],
)
def test_given_up_and_refused(service: Service, answer: object, code: WriteCode, message: str) -> None:
    """The note stays, so that the next process tries again."""
    pool, writer, names = lowered(service, 3, 4)
    service.account.faults.append(("PATCH", pool.id, answer))
    assert writer.provider.abandon(ref(pool), names[0]) == WriteResult(code=code, message=message)
    assert list(noted(writer)) == names[:1]


def test_a_surplus_that_belongs_to_another_removal(service: Service) -> None:
    """One machine is too many, and the count was lowered for another one: for this one it is lowered again."""
    pool, writer, (other, victim, *_) = lowered(service, 3, 4)
    assert writer.remove(pool, victim) == (TargetRemoval(state=RemovalState.FINISHED, replicas=2),)
    assert (service.account.deleted, list(noted(writer))) == ([victim], [other])


def test_a_surplus_beside_notes_of_another_pool(service: Service) -> None:
    """They say nothing of this one: its count is low already."""
    pool, writer, (_, victim, noted_elsewhere, *_rest) = lowered(service, 3, 4)
    Notes(writer.keeper).drop(ids(service, pool)[0])
    Notes(writer.keeper).put(noted_elsewhere, Intent(pool="another", count=9, beside=()))
    assert writer.remove(pool, victim) == (TargetRemoval(state=RemovalState.FINISHED, replicas=3),)
    assert (pool.count, service.account.deleted) == (3, [victim])


def test_a_surplus_beside_a_machine_that_stopped(service: Service) -> None:
    """What was lowered for one that runs no more takes no other's place: this one is too many, and the count stays."""
    pool, writer, (stopped, victim, *_) = lowered(service, 2, 4)
    service.account.machines[stopped].state = "SHUTOFF"
    assert writer.remove(pool, victim) == (TargetRemoval(state=RemovalState.FINISHED, replicas=2),)
    assert (pool.count, service.account.deleted) == (2, [victim])


def test_notes_that_cannot_be_read(service: Service) -> None:
    """Nothing is done without them, and why is said."""

    class Broken:
        def load(self, part: str) -> bytes | None:
            return b"{"

        def save(self, part: str, content: bytes) -> bool:
            raise AssertionError

    pool, (victim, *_) = service.account.add(count=2), ids(service, next(iter(service.account.pools.values())))
    bound, writer = Writer(service).bound(pool), Writer(service, Broken())
    results = [
        writer.provider.resize(ref(pool), 3, bound),
        writer.provider.abandon(ref(pool), victim),
        writer.provider.may_begin(ref(pool), victim, "n", bound),
    ]
    (found,) = writer.remove(pool, victim)
    assert {one.code for one in (*results, found)} == {WriteCode.UNAVAILABLE}
    assert all(
        "the note that must come first cannot be saved: the notes cannot be read" in one.message for one in (*results, found)
    )
    assert service.account.calls[-1][0] == "GET"
