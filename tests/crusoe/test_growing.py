"""Raising a count: after the read that was judged, never downwards, never on what is old."""

from typing import Any

import pytest

from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.write_answer import failed, unread
from reconciler.providers.contract import WriteCode, WriteResult
from tests.crusoe.service.server import LOST, Service
from tests.crusoe.writes import Writer, ids, ref


def test_the_count_alone_is_written(service: Service) -> None:
    """What else a pool has stays; machines follow."""
    pool, writer = service.account.add(count=1, labels={"team": "a"}), Writer(service)
    assert writer.provider.resize(ref(pool), 3, writer.bound(pool)).done
    assert (pool.count, pool.labels, len(ids(service, pool))) == (3, {"team": "a"}, 3)
    service.advance(60)
    assert {one.state for one in service.account.of(pool)} == {"RUNNING"}


def test_written_once_though_the_answer_was_lost(service: Service) -> None:
    """Nobody knows whether it was done; bound to what was before, it is stale."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    service.account.faults.append(("PATCH", pool.id, LOST))
    assert writer.provider.resize(ref(pool), 3, bound).code == WriteCode.UNKNOWN
    assert writer.provider.resize(ref(pool), 3, bound).code == WriteCode.STALE
    assert (pool.count, service.count("PATCH")) == (3, 1)


def test_somebody_else_has_written(service: Service) -> None:
    """Between the decision and the write: theirs stays."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    pool.count = 5
    assert writer.provider.resize(ref(pool), 3, bound).code == WriteCode.STALE
    assert (pool.count, service.count("PATCH")) == (5, 0)


def test_never_downwards(service: Service) -> None:
    """Nobody knows which machines would go."""
    pool, writer = service.account.add(count=3), Writer(service)
    assert writer.provider.resize(ref(pool), 2, writer.bound(pool)).code == WriteCode.REFUSED
    assert pool.count == 3


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"state": "ROTATING"}, WriteCode.CONFLICT, "ROTATING"),
        ({"state": "NEVER_SEEN"}, WriteCode.REFUSED, "NEVER_SEEN"),
        (
            {"extra": {"autoscaling_config": {"enabled": True, "min_node_size": 0, "max_node_size": 2}}},
            WriteCode.CONFLICT,
            "0 to 2",
        ),
    ],
)
def test_held_at_the_last_moment(service: Service, change: dict[str, Any], code: WriteCode, word: str) -> None:
    """What holds it is read before every write."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    for name, value in change.items():
        setattr(pool, name, value)
    result = writer.provider.resize(ref(pool), 2, bound)
    assert (result.code, pool.count, service.count("PATCH")) == (code, 1, 0)
    assert word in result.message


def test_auto_clusters_at_work(service: Service) -> None:
    """A replacement that is under way holds the pool."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    service.account.remediations.append({"operation_id": "o", "state": "IN_PROGRESS", "metadata": {"vm": ids(service, pool)[0]}})
    assert "AutoClusters" in writer.provider.resize(ref(pool), 2, bound).message
    assert service.count("PATCH") == 0


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((400, {"code": "bad_request", "message": "count must be below 9"}, {}), WriteCode.REFUSED),
        ((400, {"code": "bad_request", "message": "rpc error: code = X desc = out of stock"}, {}), WriteCode.FAILED),
        ((403, {"code": "unauthorized", "message": "not authorized"}, {}), WriteCode.DENIED),
        ((404, {"code": "not_found", "message": "gone"}, {}), WriteCode.NOT_FOUND),
        ((429, {"code": "too_many_requests", "message": "slow"}, {"Retry-After": "1"}), WriteCode.UNAVAILABLE),
        ((500, {"code": "internal_error", "message": "broken"}, {}), WriteCode.UNKNOWN),
    ],
)
def test_refusals(service: Service, answer: Any, code: WriteCode) -> None:
    """What each answer means; nothing was written."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    service.account.faults.append(("PATCH", pool.id, answer))
    assert writer.provider.resize(ref(pool), 2, bound).code == code
    assert pool.count == 1


def test_nothing_is_written_on_what_could_not_be_read(service: Service) -> None:
    """Also where only those who replace machines could not be."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    service.account.faults.append(("GET", "autocluster-operations", (500, {"code": "x", "message": "y"}, {})))
    assert writer.provider.resize(ref(pool), 2, bound).code == WriteCode.UNAVAILABLE
    service.account.faults.append(("GET", "/vms", (403, {"code": "unauthorized", "message": "no"}, {})))
    assert writer.provider.resize(ref(pool), 2, bound).code == WriteCode.DENIED
    assert service.count("PATCH") == 0


def test_a_part_of_it(service: Service) -> None:
    """An operation that succeeded in part: the write stands, and what did not come is told."""
    pool, writer = service.account.add(count=1, reservation="r1"), Writer(service)
    service.account.reservations["r1"] = 2
    result = writer.provider.resize(ref(pool), 4, writer.bound(pool))
    assert result.done
    assert "out of stock" in result.message
    assert (pool.count, len(ids(service, pool))) == (4, 2)


def test_operations_of_others(service: Service) -> None:
    """An operation that cannot be read any more is no obstacle: the pool is followed."""
    pool, writer = service.account.add(count=1), Writer(service)
    service.account.operation_life = -1
    assert writer.provider.resize(ref(pool), 2, writer.bound(pool)).done
    assert len(ids(service, pool)) == 2


def test_only_the_leader_writes(service: Service) -> None:
    """A process that has lost the Lease sends nothing."""

    def guard() -> None:
        raise NotLeaderError("not the leader")

    pool, writer = service.account.add(count=1), Writer(service, guard=guard)
    with pytest.raises(NotLeaderError):
        writer.provider.resize(ref(pool), 2, writer.bound(pool))
    assert service.count("PATCH") == 0


def test_what_is_not_there(service: Service) -> None:
    """No write makes a pool, adopts one, or marks one."""
    pool, writer = service.account.add(count=1), Writer(service)
    bound = writer.bound(pool)
    assert writer.provider.adopt(ref(pool), 1, bound).code == WriteCode.REFUSED
    assert writer.provider.release(ref(pool), bound).done
    service.account.pools.clear()
    assert writer.provider.resize(ref(pool), 2, bound).code == WriteCode.NOT_FOUND
    assert service.count("PATCH") == 0


@pytest.mark.parametrize(
    ("failed", "partial", "expected"),
    [
        (False, "", WriteResult()),
        (False, "rpc error: code = X desc = 1 of 2 came", WriteResult(message="only a part was done: 1 of 2 came")),
        (
            True,
            "rpc error: code = X desc = out of stock",
            WriteResult(code=WriteCode.FAILED, message="NodePool us-east1-a/h100: Stock: out of stock"),
        ),
        (True, "", WriteResult()),
    ],
)
def test_what_is_said_of_it_at_once(service: Service, *, failed: bool, partial: str, expected: WriteResult) -> None:
    """The write stands; what its operation says is told, and one that failed is a failure."""
    pool, writer = service.account.add(count=1), Writer(service)
    service.account.partial = partial
    service.account.after.append(lambda *_: [setattr(one, "failed", failed) for one in service.account.operations.values()])
    assert writer.provider.resize(ref(pool), 2, writer.bound(pool)) == expected
    assert pool.count == 2


@pytest.mark.parametrize(
    "answer",
    [
        (500, {"code": "x", "message": "y"}, {}),
        (404, {"code": "not_found", "message": "y"}, {}),
        (200, {}, {}),
        (200, {"result": None}, {}),
        (200, {"result": {"details": None}}, {}),
        (200, {"result": {"details": {"error": None}}}, {}),
    ],
)
def test_an_operation_that_cannot_be_read(service: Service, answer: object) -> None:
    """The write stands all the same; one that says nothing is no failure."""
    pool, writer = service.account.add(count=1), Writer(service)
    service.account.faults.append(("GET", "/operations/", answer))
    assert writer.provider.resize(ref(pool), 2, writer.bound(pool)) == WriteResult()


def test_as_large_as_it_is(service: Service) -> None:
    """Nothing is written for a count that is there already."""
    pool, writer = service.account.add(count=2), Writer(service)
    assert writer.provider.resize(ref(pool), 2, writer.bound(pool)) == WriteResult()
    assert (service.count("PATCH"), writer.provider.marked_by(ref(pool), ids(service, pool)[0])) == (0, "")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CrusoeError("bad_credential", "no", status=401), WriteCode.UNAVAILABLE),
        (CrusoeError("NoCredentials", "no"), WriteCode.UNAVAILABLE),
        (CrusoeError("Unreachable", "no"), WriteCode.UNAVAILABLE),
        (CrusoeError("Unreachable", "no", sent=True), WriteCode.UNKNOWN),
        (CrusoeError("bad_request", "quota exceeded", status=400), WriteCode.REFUSED),
        (CrusoeError("bad_request", "out of stock", status=400), WriteCode.FAILED),
        (CrusoeError("bad_request", "no", status=402), WriteCode.REFUSED),
    ],
)
def test_what_a_refusal_means(error: CrusoeError, code: WriteCode) -> None:
    """Later, perhaps, or not so."""
    assert failed(error, "x").code == code


@pytest.mark.parametrize(
    ("status", "code"),
    [(403, WriteCode.DENIED), (404, WriteCode.NOT_FOUND), (405, WriteCode.UNAVAILABLE), (500, WriteCode.UNAVAILABLE)],
)
def test_what_could_not_be_read(status: int, code: WriteCode) -> None:
    """Forbidden and gone are definite; all else may be read later."""
    assert unread(CrusoeError("code", "words", status=status), "x").code == code


def test_a_refusal_without_words() -> None:
    """The code stands in their place."""
    assert failed(CrusoeError("bad_request", "", status=400), "x").message == "x: bad_request"
    assert unread(CrusoeError("bad_request", "no", status=400), "x").message == "x could not be read: bad_request: no"
