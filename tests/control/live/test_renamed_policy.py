"""The Lease of a loop whose policy the source has no more: the policy with the new name need not wait for its silence."""

from reconciler.kube.leading.ended_policies import EndedPolicies
from reconciler.kube.leading.lease import LeaderLease
from tests.control.live.test_live_process import EU, NOW, _Made
from tests.kube.api_server import FakeApiServer
from tests.kube.scripted import ManualPace

SPACE = "reconciler"


def _lease(server: FakeApiServer) -> LeaderLease:
    return LeaderLease(
        server, namespace=SPACE, name="reconciler-prod", identity="pod-1", pace=ManualPace(), wall_seconds=lambda: float(NOW)  # type: ignore[arg-type]
    )  # fmt: skip


def _ended(server: FakeApiServer) -> bool:
    """As a process that starts now sees it."""
    return EndedPolicies(server, SPACE, lambda: 0.0).ended("prod")  # type: ignore[arg-type]


def _stopped(server: FakeApiServer, *gone: bool, made: _Made | None = None) -> None:
    """The loop leads, looks at its source as often as said, and ends in order."""
    made = made or _Made()
    made.process.lease = _lease(server)
    assert made.process.lease.step()
    for one in gone:
        made.process.tell_gone(gone=one)
        assert made.process.lease.step()
        assert not _ended(server)
    made.process.lease.release()


def test_the_lease_of_a_policy_that_is_gone_says_so_once_it_is_released() -> None:
    """While the loop runs by its last good policy it has not ended. A loop that starts again under the name takes it back."""
    server = FakeApiServer()
    _stopped(server, True)
    assert _ended(server)
    _stopped(server, False)
    assert not _ended(server)


def test_a_policy_that_came_back_has_not_ended() -> None:
    """The last look counts."""
    server = FakeApiServer()
    _stopped(server, True, False)
    assert not _ended(server)


def test_leases_of_a_fleet_are_left_to_the_fleet() -> None:
    """Which loops there are is decided for all of them together."""
    server = FakeApiServer()
    _stopped(server, True, made=_Made(cluster=EU))
    assert not _ended(server)
