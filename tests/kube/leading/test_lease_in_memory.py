"""What test_lease.py asks of a real API server, asked of the one in memory: quick enough to be asked after every change."""

import pytest

from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.lease import LeaderLease, Timing
from tests.kube.api_server import FakeApiServer, asked
from tests.kube.leading import test_lease

globals().update(asked(test_lease))


@pytest.fixture
def api() -> FakeApiServer:
    return FakeApiServer()


def _two() -> tuple[FakeApiServer, test_lease.Two]:
    server = FakeApiServer()
    return server, test_lease.Two(server, "ours")


@pytest.mark.parametrize(("status", "refused"), [(403, True), (404, True), (500, False), (409, False)])
def test_what_waiting_does_not_mend(status: int, refused: bool) -> None:
    """No right and no namespace are told as such, and not for longer than they last; a busy server is not."""
    server, two = _two()
    path = f"{test_lease.LEASES}"
    server.refused[path] = ApiError(status, "Reason", "no")
    assert not two.first.step()
    assert (two.first.refused, two.first.holder) == (refused, "")
    assert two.first.message == ("" if status == 409 else f"{status} Reason: no")
    server.refused.clear()
    assert two.first.step()
    assert (two.first.refused, two.first.message) == (False, "")


@pytest.mark.parametrize(("status", "told"), [(403, "403 Reason: no"), (500, "500 Reason: no"), (409, ""), (404, "")])
def test_a_renewal_that_is_refused(status: int, told: str) -> None:
    """It is told, but where the lease was written or taken away by somebody who was faster."""
    server, two = _two()
    assert two.first.step()
    (path,) = server.objects
    server.refused[path] = ApiError(status, "Reason", "no")
    two.first.step()
    assert two.first.message == told


def test_a_lease_that_goes_between_reading_and_writing() -> None:
    """Somebody was faster: we do not lead, and nothing is told as a fault."""
    server, two = _two()
    two.second.step()
    two.first.step()
    two.pace.now += 16
    server.between = server.objects.clear
    assert not two.first.step()
    assert (two.first.message, two.first.term()) == ("", 0)


def test_a_renewal_is_one_write() -> None:
    """Nothing is read while nobody else writes. A write of somebody else is read, and what it says stays."""
    server, two = _two()
    two.first.step()
    server.reads.clear(), server.sent.clear()
    assert two.first.step()
    assert ([method for method, _, _ in server.sent], server.reads) == (["PUT"], [])
    (path,) = server.objects
    server.write("PATCH", path, {"metadata": {"annotations": {"other": "1"}}})
    assert two.first.step()
    assert (len(server.reads), two.first.term(), two.first.annotations) == (1, 1, {"other": "1"})


def test_a_renewal_that_is_not_due() -> None:
    """Steps send nothing before. After one that failed, the next tries again."""
    server = FakeApiServer()
    pace = test_lease.ManualPace()
    timing = Timing(renew_seconds=5)
    lease = LeaderLease(
        server, namespace="default", name="n", identity="one", pace=pace, wall_seconds=lambda: 0.0, timing=timing
    )  # fmt: skip
    sent = []
    for second in (0, 2, 4, 6, 8, 10, 11.5):
        pace.now = second
        server.away = second == 11.5
        before = len(server.sent) + len(server.reads)
        assert lease.step()
        sent.append(len(server.sent) + len(server.reads) - before)
    assert sent[:6] == [2, 0, 0, 1, 0, 0]
    assert sent[6] > 0
    pace.now, server.away, before = 13, False, len(server.sent)
    assert lease.step()
    assert len(server.sent) == before + 1


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"), [(10, 10, 2), (15, 10, 10 / 1.2), (15, 10, 0), (15, 10, -1), (15, 2, 2)]
)
def test_timings_that_two_could_lead_by(duration: int, deadline: float, retry: float) -> None:
    """Each bound has to be truly below the next."""
    with pytest.raises(ValueError, match="renew deadline"):
        Timing(duration_seconds=duration, renew_deadline_seconds=deadline, retry_seconds=retry)


def test_what_timing_is_without_a_word() -> None:
    """Those of client-go: 15, 10 and 2 s; one call may take half of the deadline."""
    timing = Timing()
    assert (timing.duration_seconds, timing.renew_deadline_seconds, timing.retry_seconds) == (15, 10, 2)
    assert timing.call_timeout_seconds == 5
    assert Timing(retry_seconds=0.5).retry_seconds == 0.5


def test_the_standing_of_a_lease() -> None:
    """Who holds it, since when in the holder's words, and for how long: that of the lease, else ours."""
    server, two = _two()
    assert two.second.standing == ("", "", 0)
    assert (two.second.refused, two.second.transitions) == (False, 0)
    path = f"{test_lease.LEASES}/ours"
    spec = {"holderIdentity": "one", "renewTime": "then", "leaseDurationSeconds": 40, "leaseTransitions": 3}
    server.put(path, {"metadata": {"name": "ours"}, "spec": spec})
    assert not two.second.step()
    assert two.second.standing == ("one", "then", 40)
    two.pace.now += 39
    assert not two.second.step()
    server.put(path, {"metadata": {"name": "ours"}, "spec": {"holderIdentity": "one"}})
    assert not two.second.step()
    assert two.second.standing == ("one", "", 15)
    two.pace.now += 15
    assert two.second.step()
    assert (two.stored()["leaseTransitions"], two.second.term()) == (1, 1)  # tries in vain are no terms
    server.put(path, {"metadata": {"name": "ours"}})
    assert two.first.step()  # nobody holds it: nobody is waited for


def test_an_expired_lease_begins_anew() -> None:
    """Whoever takes it over acquired it now; a renewal keeps the time at which it was acquired."""
    _, two = _two()
    times = iter((1.0, 2.0, 3.0))
    two.first._wall_seconds = two.second._wall_seconds = lambda: next(times)
    two.first.step()
    two.first.step()
    spec = two.stored()
    assert (spec["acquireTime"], spec["renewTime"]) == ("1970-01-01T00:00:01.000000Z", "1970-01-01T00:00:02.000000Z")
    two.second.step()
    two.pace.now += 15
    two.second.step()
    assert two.stored()["acquireTime"] == "1970-01-01T00:00:03.000000Z"


def test_giving_back_is_best_effort() -> None:
    """A server that does not answer is told, not raised; the lease is given for one second, and only once."""
    server, two = _two()
    two.first.release()
    assert server.sent == []
    two.first.step()
    two.line.cut = True
    two.first.release()
    assert two.first.message == "UnreachableError: cut"
    two.line.cut = False
    two.first.step()
    two.first.release()
    sent = len(server.sent)
    two.first.release()
    assert len(server.sent) == sent
    assert (two.stored()["holderIdentity"], two.stored()["leaseDurationSeconds"]) == ("", 1)


def test_giving_back_what_somebody_deleted() -> None:
    """There is nothing to give back, and no fault."""
    server, two = _two()
    two.first.step()
    server.objects.clear()
    sent = len(server.sent)
    two.first.release()
    assert (two.first.message, len(server.sent)) == ("", sent)


def test_a_fault_of_any_kind_ends_no_thread() -> None:
    """Credentials fail in ways of their own: told with its type, and the next step tries again."""
    _, two = _two()
    two.line.get = lambda path, query=None: {}[path]  # type: ignore[method-assign]
    assert not two.first.step()
    assert two.first.message.startswith("KeyError: ")
