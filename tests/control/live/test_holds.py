"""The hold of one target, written, taken off, refused or told as failed, on an API server in memory."""

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence, TargetFacts
from reconciler.control.live import target_holds
from reconciler.control.live.target_holds import HoldState, set_hold
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.providers.cloud_answers import CloudError
from tests.builders import ClusterBuilder, node_group, policy
from tests.kube.api_server import FakeApiServer

HOLD = "reconciler.dev/hold"
PATH = "/apis/cluster.x-k8s.io/v1beta2/namespaces/prod/machinedeployments/general"


def _facts(**owner: object) -> TargetFacts:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    facts = cluster.world().targets[0]
    return msgspec.structs.replace(facts, owner=OwnerEvidence(**owner))  # type: ignore[arg-type]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeApiServer:
    monkeypatch.setattr(target_holds, "object_of", lambda ref, served: _At())
    server = FakeApiServer()
    server.put(PATH, {"metadata": {"name": "general", "annotations": {"example.com/other": "x"}}})
    return server


class _At:
    path = PATH


def _set(server: FakeApiServer, text: str, **owner: object) -> target_holds.HoldResult:
    return set_hold(server, (), policy(node_group("general")), "general", _facts(**owner), text)


def test_written_and_taken_off(server: FakeApiServer) -> None:
    """Under the version that was read, beside what others have written; what is so already is not written."""
    held = _set(server, "by me")
    assert (held.state, held.before, held.now, held.group) == (HoldState.HELD, "", "by me", "general")
    assert server.sent == [("PATCH", PATH, {"metadata": {"resourceVersion": "1", "annotations": {HOLD: "by me"}}})]
    again = _set(server, "by me")
    assert (again.state, again.before, again.now, len(server.sent)) == (HoldState.UNCHANGED, "by me", "by me", 1)
    off = _set(server, "")
    assert (off.state, off.before, off.now) == (HoldState.RELEASED, "by me", "")
    assert server.objects[PATH]["metadata"]["annotations"] == {"example.com/other": "x"}
    assert (_set(server, "").state, len(server.sent)) == (HoldState.UNCHANGED, 2)


@pytest.mark.parametrize(("times", "state"), [(2, HoldState.HELD), (3, HoldState.FAILED)])
def test_somebody_was_faster(server: FakeApiServer, times: int, state: HoldState) -> None:
    """Read again, up to three times."""

    def touch() -> None:
        nonlocal times
        server.put(PATH, server.objects[PATH])
        times -= 1
        server.between = touch if times else None

    server.between = touch
    assert _set(server, "by me").state is state


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", "no right"), UnreachableError("cut")])
def test_a_server_that_does_not_take_it(server: FakeApiServer, error: Exception) -> None:
    """Told, not raised, and not tried again."""
    server.refused[PATH] = error
    result = _set(server, "by me")
    assert (result.state, result.message, len(server.sent)) == (HoldState.FAILED, str(error), 1)


def test_what_a_topology_owns_is_held_there(server: FakeApiServer) -> None:
    """Nothing is written; the lines to add, or to take out, are said. What is held so already is written nowhere else."""
    owned = {"topology_owned": True, "topology_deployment": "general"}
    refused = _set(server, "by me", **owned)
    assert (refused.state, refused.now, server.sent) == (HoldState.REFUSED, "", [])
    assert refused.lines[-1] == '    reconciler.dev/hold: "by me"'
    assert ": add to " in refused.message
    server.put(PATH, {"metadata": {"name": "general", "annotations": {HOLD: "by me"}}})
    assert (_set(server, "by me", hold="by me", **owned).state, server.sent) == (HoldState.UNCHANGED, [])
    off = _set(server, "", hold="by you", **owned)
    assert (off.before, off.now, off.lines[-1]) == ("by you", "by you", '    reconciler.dev/hold: "by you"')
    assert ": take out of " in off.message


def test_an_object_without_annotations(server: FakeApiServer) -> None:
    """The first one is written."""
    server.put(PATH, {"metadata": {"name": "general"}})
    assert _set(server, "by me").state is HoldState.HELD
    assert server.objects[PATH]["metadata"]["annotations"] == {HOLD: "by me"}


@pytest.mark.parametrize(
    ("before", "text", "state", "message"),
    [
        ("", "by me", HoldState.HELD, ""),
        ("by you", "by me", HoldState.HELD, ""),
        ("by me", "by me", HoldState.UNCHANGED, ""),
        ("by me", "", HoldState.RELEASED, ""),
        ("", "", HoldState.UNCHANGED, ""),
        (None, "by me", HoldState.REFUSED, "no hold can be written there. Hold the group in the policy (spec.hold)"),
        (CloudError("no credentials"), "by me", HoldState.FAILED, "no credentials"),
    ],
)
def test_a_target_that_a_cloud_keeps(
    before: str | Exception | None, text: str, state: HoldState, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written there, as the policy says; no server of ours is asked."""
    asked: list[tuple[object, ...]] = []

    def hold(*what: object) -> str | None:
        asked.append(what)
        if isinstance(before, Exception):
            raise before
        return before

    monkeypatch.setattr(target_holds, "hold_in_cloud", hold)
    rules, facts, server = policy(node_group("general")), _facts(), FakeApiServer()
    found = set_hold(server, (), rules, "general", facts, text)
    assert (found.group, found.target, found.state) == ("general", str(facts.ref), state)
    assert found.message.endswith(message)
    written = state in (HoldState.HELD, HoldState.RELEASED, HoldState.UNCHANGED)
    assert (found.before, found.now) == ((before, text) if written else ("", ""))
    assert (asked, server.sent) == ([(facts.ref, rules, text)], [])
