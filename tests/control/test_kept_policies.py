"""Whose last good policies lie in a namespace, by the source that they came from."""

import msgspec
import pytest

from reconciler.control.policy.kept_policies import kept_from, policies_with_state
from reconciler.control.policy.policy_in_force import LockedState, StateLastGoodStore
from reconciler.gitops.sources.last_good import LastGood
from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.state import STATE_LABEL, StateObject

MAPS = "/api/v1/namespaces/reconciler/configmaps"


class Server:
    """ConfigMaps of one namespace."""

    def __init__(self) -> None:
        self.maps: dict[str, dict[str, object]] = {}

    def get(self, path: str, query: object = None) -> bytes:
        if path == MAPS:
            assert query == {"labelSelector": STATE_LABEL}
            return msgspec.json.encode({"items": list(self.maps.values())})
        found = self.maps.get(path.removeprefix(f"{MAPS}/"))
        if found is None:
            raise ApiError(404, "NotFound", path)
        return msgspec.json.encode(found)

    def write(self, method: str, path: str, body: object = None, **_: object) -> bytes:
        assert isinstance(body, dict)
        body["metadata"] = {**body["metadata"], "resourceVersion": "1"}
        self.maps[body["metadata"]["name"]] = body
        return msgspec.json.encode(body)


@pytest.fixture
def server() -> Server:
    made = Server()
    for name, source in (("dev", "git a"), ("prod", "git b"), ("stage", "git a")):
        kept = LastGood(source=source, revision="1", root="", files={}, read_seconds=1)
        StateLastGoodStore(LockedState(StateObject(made, "reconciler", name))).save(kept)  # type: ignore[arg-type]
    return made


def test_only_those_of_the_source(server: Server) -> None:
    """Another source's policy is none of ours, however many lie there."""
    assert kept_from(server, "reconciler", "git a") == ("dev", "stage")  # type: ignore[arg-type]
    assert kept_from(server, "reconciler", "git b") == ("prod",)  # type: ignore[arg-type]
    assert kept_from(server, "reconciler", "git c") == ()  # type: ignore[arg-type]


def test_one_that_is_damaged_hides_no_other(server: Server) -> None:
    """It is passed over."""
    server.maps["reconciler-state-dev"]["binaryData"] = {}
    assert kept_from(server, "reconciler", "git a") == ("stage",)  # type: ignore[arg-type]


def test_what_keeps_no_policy_is_passed_over(server: Server) -> None:
    """A ConfigMap without labels, and a state whose loop has not had a policy yet."""
    server.maps["bare"] = {"metadata": {"name": "bare"}}
    LockedState(StateObject(server, "reconciler", "fresh")).save("memory", b"{}")  # type: ignore[arg-type]
    assert policies_with_state(server, "reconciler") == ("dev", "fresh", "prod", "stage")  # type: ignore[arg-type]
    assert kept_from(server, "reconciler", "git a") == ("dev", "stage")  # type: ignore[arg-type]
