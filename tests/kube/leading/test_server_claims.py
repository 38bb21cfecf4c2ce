"""Clusters whose kubeconfigs lead to one API server: one of them is decided, and the others say so."""

import threading

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.server_claims import ServerClaims
from reconciler.values.cluster_identity import ClusterIdentity
from tests.kube.api_server import FakeApiServer

HOME = "reconciler"
CONFIG_MAPS = f"/api/v1/namespaces/{HOME}/configmaps"
EAST, COPY = (ClusterIdentity(namespace="infra", name=name) for name in ("east", "copy"))
BOTH = frozenset({EAST.title, COPY.title})


def _server(uid: str) -> FakeApiServer:
    server = FakeApiServer()
    for name, own in (("kube-system", uid), ("default", "other")):
        server.put(f"/api/v1/namespaces/{name}", {"metadata": {"name": name, "uid": own}})
    return server


def _claims(management: FakeApiServer, clusters: frozenset[str] = BOTH) -> ServerClaims:
    return ServerClaims(management, HOME, lambda: clusters)


def test_the_first_has_the_server_whatever_restarts() -> None:
    """The other one names it, how that is known, and what to do. Another server is no matter of theirs."""
    management, server = FakeApiServer(), _server("one")
    assert _claims(management).claim(server, EAST) == ""
    why = _claims(management).claim(server, COPY)
    assert why.startswith(
        "its kubeconfig leads to the API server of Cluster infra/east, as ConfigMap reconciler/reconciler-state-server-"
    )
    assert "Correct the Secret, or delete the Cluster" in why
    assert _claims(management).claim(server, EAST) == ""
    assert _claims(management).claim(_server("two"), COPY) == ""


def test_a_cluster_that_is_gone_holds_nothing() -> None:
    """Its server may be another Cluster's now. Before the Clusters were read, none counts as gone."""
    management, server = FakeApiServer(), _server("one")
    assert _claims(management).claim(server, EAST) == ""
    assert _claims(management, frozenset()).claim(server, COPY) != ""
    assert _claims(management, frozenset({COPY.title})).claim(server, COPY) == ""
    assert "infra/copy" in _claims(management).claim(server, EAST)


def test_two_at_once() -> None:
    """Whoever creates the ConfigMap first has the server."""
    management, server = FakeApiServer(), _server("one")
    said: dict[str, str] = {}
    threads = [
        threading.Thread(target=lambda one=one: said.update({one.name: _claims(management).claim(server, one)}))  # type: ignore[misc]
        for one in (EAST, COPY)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(bool(why) for why in said.values()) == [False, True]


def test_a_race_for_the_object() -> None:
    """It is not there at the read, and there at the write."""
    management, server = FakeApiServer(), _server("one")
    management.between = lambda: _taken(management, server)
    assert "infra/copy" in _claims(management).claim(server, EAST)


def _taken(management: FakeApiServer, server: FakeApiServer) -> None:
    assert _claims(management).claim(server, COPY) == ""


@pytest.mark.parametrize(("status", "raises"), [(403, False), (404, False), (500, True)])
def test_a_server_that_cannot_be_recognized(status: int, raises: bool) -> None:
    """Without the right to read Namespaces it is decided; a server that fails is asked again later."""
    management, server = FakeApiServer(), _server("one")
    server.unreadable["/api/v1/namespaces"] = ApiError(status, "", "no")
    if raises:
        with pytest.raises(ApiError):
            _claims(management).claim(server, EAST)
    else:
        assert _claims(management).claim(server, EAST) == ""
    assert management.sent == []


def test_a_management_cluster_that_is_away() -> None:
    management = FakeApiServer()
    management.away = True
    with pytest.raises(UnreachableError):
        _claims(management).claim(_server("one"), EAST)
