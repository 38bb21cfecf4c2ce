"""Whose last good policies lie in a namespace, by the source that they came from."""

import pytest

from reconciler.control.policy.kept_policies import kept_from, policies_with_state
from reconciler.control.policy.stored_policy import LockedState, StateLastGoodStore
from reconciler.gitops.sources.last_good import LastGood
from reconciler.kube.leading.state import StateObject
from tests.kube.api_server import FakeApiServer

MAPS = "/api/v1/namespaces/reconciler/configmaps"


@pytest.fixture
def server() -> FakeApiServer:
    made = FakeApiServer()
    for name, source in (("dev", "git a"), ("prod", "git b"), ("stage", "git a")):
        kept = LastGood(source=source, revision="1", root="", files={}, read_seconds=1)
        StateLastGoodStore(LockedState(StateObject(made, "reconciler", name))).save(kept)
    return made


def test_only_those_of_the_source(server: FakeApiServer) -> None:
    """Another source's policy is none of ours, however many lie there."""
    assert kept_from(server, "reconciler", "git a") == ("dev", "stage")
    assert kept_from(server, "reconciler", "git b") == ("prod",)
    assert kept_from(server, "reconciler", "git c") == ()


def test_one_that_is_damaged_hides_no_other(server: FakeApiServer) -> None:
    """It is passed over."""
    server.objects[f"{MAPS}/reconciler-state-dev"]["binaryData"] = {}
    assert kept_from(server, "reconciler", "git a") == ("stage",)


def test_what_keeps_no_policy_is_passed_over(server: FakeApiServer) -> None:
    """A ConfigMap without labels, and a state whose loop has not had a policy yet."""
    server.put(f"{MAPS}/bare", {"metadata": {"name": "bare"}})
    LockedState(StateObject(server, "reconciler", "fresh")).save("memory", b"{}")
    assert policies_with_state(server, "reconciler") == ("dev", "fresh", "prod", "stage")
    assert kept_from(server, "reconciler", "git a") == ("dev", "stage")
