"""The leader's lease on a real API server; time is the tests' own."""

import json
import threading
from collections.abc import Mapping

import pytest

from reconciler.kube.connection.api import ApiError, ContentType, UnreachableError
from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.leading.lease import LeaderLease, NotLeaderError, Timing
from tests.kube.scripted import ManualPace
from tests.testbed.control_plane import ControlPlane

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> KubernetesApi:
    return connect(control_plane.kubeconfig)


class Unreliable:
    """The real server behind a line that may be cut: before a request leaves, or before its answer comes."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self.cut = self.lose_answers = False

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if self.cut:
            raise UnreachableError("cut", sent=False)
        return self._api.get(path, query)

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        if self.cut:
            raise UnreachableError("cut", sent=False)
        answer = self._api.write(method, path, body, content_type=content_type, query=query)
        if self.lose_answers:
            raise UnreachableError("the answer was lost")
        return answer

    def stream(self, path, query, *, silence_seconds):
        raise AssertionError("a lease is not watched")


class Two:
    """Two instances after one lease, with one clock."""

    def __init__(self, api: KubernetesApi, name: str) -> None:
        self.pace = ManualPace()
        self.line = Unreliable(api)
        self.name = name
        self.api = api
        self.first, self.second = self.instance("one", self.line), self.instance("two", api)

    def instance(self, identity, api, namespace: str = "default") -> LeaderLease:
        return LeaderLease(
            api,
            namespace=namespace,
            name=self.name,
            identity=identity,
            pace=self.pace,
            wall_seconds=lambda: 1_800_000_000.25,
        )

    def stored(self) -> dict[str, object]:
        return json.loads(self.api.get(f"{LEASES}/{self.name}"))["spec"]


def test_the_first_leads(api: KubernetesApi) -> None:
    """Who makes the lease leads; the other, a moment later, does not; the server has what client-go would write."""
    two = Two(api, "first-leads")
    assert two.first.step()
    assert not two.second.step()
    two.first.guard()
    with pytest.raises(NotLeaderError, match=r"two does not lead, and one does"):
        two.second.guard()
    assert two.stored() == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-15T08:00:00.250000Z",
        "renewTime": "2027-01-15T08:00:00.250000Z",
        "leaseTransitions": 0,
    }


def test_without_its_namespace(api: KubernetesApi) -> None:
    """What cannot be had by waiting is told as such, and nobody is said to hold it."""
    lost = Two(api, "lost").instance("three", api, namespace="not-there")
    assert not lost.step()
    assert lost.refused
    assert 'namespaces "not-there" not found' in lost.message


def test_taken_over_when_it_ran_out(api: KubernetesApi) -> None:
    """A lease that nobody renewed for its duration, counted from when the other first saw it, changes hands and counts it."""
    two = Two(api, "taken-over")
    two.first.step()
    two.second.step()
    two.pace.now += 14.9
    assert not two.second.step()
    two.pace.now += 0.1
    assert two.second.step()
    assert (two.stored()["holderIdentity"], two.stored()["leaseTransitions"]) == ("two", 1)
    assert not two.first.step()
    with pytest.raises(NotLeaderError):
        two.first.guard()


def test_renewals_keep_it(api: KubernetesApi) -> None:
    """A renewal with a new time starts the other's count afresh."""
    two = Two(api, "renewed")
    times = iter((1.0, 2.0, 3.0))
    two.first._wall_seconds = lambda: next(times)
    two.first.step()
    two.second.step()
    two.pace.now += 10
    assert two.first.step()
    assert not two.second.step()
    two.pace.now += 10
    assert not two.second.step()


def test_a_frozen_leader_sends_nothing(api: KubernetesApi) -> None:
    """Past the deadline (10 s) the guard refuses, before any other instance may lead (15 s): the request is never sent."""
    two = Two(api, "frozen")
    two.first.step()
    guarded = api.with_guard(two.first.guard)
    two.pace.now += 10
    guarded.write("POST", f"{LEASES}", lease_object("frozen-allowed"))
    two.pace.now += 0.1
    with pytest.raises(NotLeaderError, match=r"renewed 10\.1 s ago, and 10"):
        guarded.write("POST", f"{LEASES}", lease_object("frozen-refused"))
    with pytest.raises(ApiError) as found:
        api.get(f"{LEASES}/frozen-refused")
    assert found.value.status == 404


def lease_object(name: str) -> dict[str, object]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}


def test_age_counts_from_before_the_request(api: KubernetesApi) -> None:
    """A renewal that took four seconds to be answered is four seconds old when it is."""
    two = Two(api, "slow")
    read = two.line.get

    def slow(path: str, query: Mapping[str, str] | None = None) -> bytes:
        two.pace.now += 4
        return read(path, query)

    two.line.get = slow  # type: ignore[method-assign]
    assert two.first.step()
    two.pace.now += 6.1
    assert not two.first.leads()


def test_a_cut_line_keeps_the_claim_until_its_deadline(api: KubernetesApi) -> None:
    """A server that does not answer ends nothing at once: the claim lasts to its deadline and not longer."""
    two = Two(api, "cut")
    two.first.step()
    two.line.cut = True
    two.pace.now += 9
    assert two.first.step()
    two.pace.now += 2
    assert not two.first.step()
    assert two.first.message == "cut"


def test_a_lost_answer_is_no_claim(api: KubernetesApi) -> None:
    """A claim whose answer was lost counts from the renewal that follows it, not before."""
    two = Two(api, "lost")
    two.line.lose_answers = True
    assert not two.first.step()
    assert two.stored()["holderIdentity"] == "one"
    two.line.lose_answers = False
    assert two.first.step()


def test_released_on_stop(api: KubernetesApi) -> None:
    """A run that is stopped gives the lease back: the next instance leads at once, and it counts as a change of hands."""
    two = Two(api, "released")
    two.pace._pauses = 3
    two.first.run()
    assert two.stored()["holderIdentity"] == ""
    assert not two.first.leads()
    assert two.second.step()
    assert two.stored()["leaseTransitions"] == 1


def test_renewals_are_spread(api: KubernetesApi) -> None:
    """Waits between renewals are two seconds and up to a fifth more."""
    two = Two(api, "spread")
    two.pace._chance, two.pace._pauses = 0.5, 2
    two.first.run()
    assert two.pace.waits == [2.2, 2.2]


def test_another_does_not_release_what_it_lost(api: KubernetesApi) -> None:
    """An instance whose lease has gone to another leaves it alone on its way out."""
    two = Two(api, "not-mine")
    two.first.step()
    two.second.step()
    two.pace.now += 15
    two.second.step()
    two.first.release()
    assert two.stored()["holderIdentity"] == "two"


def test_of_two_at_once_one_wins(api: KubernetesApi) -> None:
    """Two instances that read the same expired lease write under its version: the second write is refused."""
    two = Two(api, "race")
    gone = two.instance("gone", api)
    gone.step()
    two.second.step()
    two.first.step()
    two.pace.now += 15
    read = two.line.get

    def overtaken(path: str, query: Mapping[str, str] | None = None) -> bytes:
        body = read(path, query)
        assert two.second.step()
        return body

    two.line.get = overtaken  # type: ignore[method-assign]
    assert not two.first.step()
    assert two.stored()["holderIdentity"] == "two"


def test_a_term_goes_on_with_every_renewal(api: KubernetesApi) -> None:
    """Terms are counted from one, a renewal begins none, and who does not lead has none."""
    two = Two(api, "term-renewed")
    assert two.first.term() == 0
    two.first.step()
    two.pace.now += 9
    two.first.step()
    two.second.step()
    assert (two.first.term(), two.second.term()) == (1, 0)


def test_a_term_ends_where_another_led_between_two_steps(api: KubernetesApi) -> None:
    """Frozen from one step to the next, while another one led and let go: it leads again at once, in another term, and what
    was decided in the first is not sent in the second."""
    two = Two(api, "term-lost")
    two.first.step()
    two.second.step()
    two.pace.now += 15
    two.second.step()
    two.second.release()
    assert two.first.step()
    assert two.first.term() == 2
    guarded = api.with_guard(two.first.guard)
    with two.first.within(1), pytest.raises(NotLeaderError, match="decided before the lease was lost"):
        guarded.write("POST", LEASES, lease_object("term-refused"))
    with pytest.raises(ApiError) as found:
        api.get(f"{LEASES}/term-refused")
    assert found.value.status == 404
    with two.first.within(2):
        guarded.write("POST", LEASES, lease_object("term-allowed"))
    assert api.get(f"{LEASES}/term-allowed")


def test_a_term_ends_with_its_deadline(api: KubernetesApi) -> None:
    """Nobody else led, but we may not have: what was decided before is not sent after the next renewal."""
    two = Two(api, "term-late")
    two.first.step()
    two.pace.now += 10.1
    assert two.first.term() == 0
    two.first.step()
    assert two.first.term() == 2


def test_a_term_ends_where_the_lease_was_made_anew(api: KubernetesApi) -> None:
    """Somebody deleted it, so that anybody could have led."""
    two = Two(api, "term-deleted")
    two.first.step()
    api.write("DELETE", f"{LEASES}/{two.name}")
    assert two.first.step()
    assert two.first.term() == 2


def test_a_term_ends_where_more_changes_of_hands_are_counted(api: KubernetesApi) -> None:
    """The holder is the same and the count is not: others have led."""
    two = Two(api, "term-counted")
    two.first.step()
    patch = {"spec": {"leaseTransitions": 2}}
    api.write("PATCH", f"{LEASES}/{two.name}", patch, content_type=ContentType.MERGE_PATCH)
    assert two.first.step()
    assert two.first.term() == 2


def test_a_term_binds_one_thread(api: KubernetesApi) -> None:
    """The thread that turns is bound to the term of its turn, others are not, nor itself afterwards."""
    two = Two(api, "term-thread")
    two.first.step()
    refused: list[Exception] = []

    def elsewhere() -> None:
        try:
            two.first.guard()
        except NotLeaderError as error:
            refused.append(error)

    with two.first.within(7):
        with pytest.raises(NotLeaderError):
            two.first.guard()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    two.first.guard()
    assert refused == []


def test_impossible_timing() -> None:
    """A deadline that is not shorter than the lease is refused: two could lead."""
    with pytest.raises(ValueError, match="renew deadline"):
        Timing(duration_seconds=10, renew_deadline_seconds=10)
