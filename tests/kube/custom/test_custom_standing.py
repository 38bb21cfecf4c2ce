"""How a policy's source stands, kept on a real API server beside the memory of the loop."""

from collections.abc import Iterator

import pytest

from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.loop_status import loop_status
from reconciler.control.live.source_standing import StandingRecord, standing_in
from reconciler.control.policy.stored_policy import LockedState
from reconciler.decisions.memory import Memory
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.gitops.sources.standing import Standing, refused, succeeded
from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.leading.state import StateObject
from tests.kube.cluster import create
from tests.testbed.control_plane import ControlPlane

NAMESPACE = "kube-standing"
NOW = 1_800_000_000
SOUND, _ = succeeded(Standing(source="git://x:main"), "a" * 40, "", NOW)
BAD, _ = refused(SOUND, Fault(code=FaultCode.INVALID_POLICY, message="one error"), NOW + 60)


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[KubernetesApi]:
    api = connect(control_plane.kubeconfig)
    create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield api
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


def state(api: KubernetesApi, policy: str) -> LockedState:
    return LockedState(StateObject(api, NAMESPACE, policy))


def version(api: KubernetesApi, policy: str) -> bytes:
    return api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/reconciler-state-{policy}")


def test_conditions_are_kept(api: KubernetesApi) -> None:
    """Another process reads the conditions, the revision in force and since when it is so; the memory beside it stays."""
    ours = state(api, "kept")
    memory = LiveMemoryStore(ours)
    memory.save(Memory(held_groups=("g",)))
    StandingRecord(ours).save(BAD)
    memory.save(Memory(held_groups=("h",)))
    found = standing_in(state(api, "kept"))
    assert found is not None
    assert (found.source, found.revision, found.since_seconds) == ("git://x:main", "a" * 40, NOW + 60)
    assert [(entry.type, entry.status, entry.reason) for entry in found.conditions] == [
        ("Ready", "False", "InvalidPolicy"),
        ("Stalled", "True", "InvalidPolicy"),
    ]
    assert LiveMemoryStore(state(api, "kept")).load().held_groups == ("h",)


def test_equal_standings_are_written_once(api: KubernetesApi) -> None:
    """A look that says nothing new leaves the object alone, in this process and in the next."""
    ours = state(api, "once")
    record = StandingRecord(ours)
    record.save(SOUND)
    before = version(api, "once")
    again, _ = succeeded(SOUND, "a" * 40, "", NOW + 60)
    record.save(again)
    StandingRecord(state(api, "once")).save(again)
    assert version(api, "once") == before


def test_refused_write_is_no_failure(api: KubernetesApi, control_plane: ControlPlane) -> None:
    """A user without rights: nothing is raised, and what was not written is written by the next look."""
    nobody = connect(control_plane.kubeconfig_of("nobody-of-note"))
    record = StandingRecord(state(nobody, "refused"))
    record.save(SOUND)
    record._state = state(api, "refused")
    record.save(SOUND)
    assert standing_in(state(api, "refused")) is not None


def test_status_tells_a_policy_that_is_not_the_newest(api: KubernetesApi) -> None:
    """`reconciler status` reads what the loop has said."""
    StandingRecord(state(api, "told")).save(BAD)
    found = loop_status(api, NAMESPACE, "told", {}, NOW)
    assert any("one error" in problem and "stays in force" in problem for problem in found.problems)
    StandingRecord(state(api, "told")).save(SOUND)
    assert loop_status(api, NAMESPACE, "told", {}, NOW).problems == ()
