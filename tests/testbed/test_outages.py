from contextlib import closing

import pytest

from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane

_NAMESPACES = "/api/v1/namespaces"


def _config_map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


@pytest.mark.parametrize("graceful", [True, False])
def test_objects_survive_a_restart_of_the_api_server(control_plane: ControlPlane, graceful: bool) -> None:
    """Stopped or killed, the API server comes back on the same address with the same objects."""
    item = _config_map(f"kept-{graceful}".lower())
    (before,) = control_plane.api.create(item)
    control_plane.restart_api_server(graceful=graceful)
    assert control_plane.api.read(item)["metadata"]["uid"] == before["metadata"]["uid"]
    control_plane.api.delete(item)


def test_nobody_answers_while_the_api_server_is_away(control_plane: ControlPlane) -> None:
    """While it is away connections are refused; afterwards it is ready."""
    with control_plane.api_server_away(), pytest.raises(ConnectionRefusedError):
        control_plane.api.get(_NAMESPACES)
    assert control_plane.api.ready()


def test_a_paused_api_server_is_half_open(control_plane: ControlPlane) -> None:
    """Frozen, it accepts and never answers; resumed, it answers."""
    with (
        control_plane.paused("kube-apiserver"),
        closing(control_plane.api.connect(seconds=0.3)) as connection,
        pytest.raises(TimeoutError),
    ):
        connection.request("GET", _NAMESPACES)
    assert control_plane.api.get(_NAMESPACES)["items"]


def test_without_etcd_a_read_gets_no_answer(control_plane: ControlPlane) -> None:
    """With etcd frozen a read that needs it gets no answer; resumed, a write succeeds."""
    item = _config_map("through-etcd")
    with control_plane.paused("etcd"):
        connection = control_plane.api.connect()
        connection.connect()
        connection.sock.settimeout(0.5)
        connection.request("GET", f"{_NAMESPACES}/default")
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
    control_plane.api.create(item)
    control_plane.api.delete(item)
