"""What test_state.py asks of a real API server, asked of the one in memory: quick enough to be asked after every change."""

import pytest

from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from tests.kube import test_state
from tests.kube.versioned import VersionedServer, asked

globals().update(asked(test_state))
policy = test_state.policy


@pytest.fixture
def api() -> VersionedServer:
    return VersionedServer()


def test_a_busy_server_is_not_somebody_else(api: VersionedServer) -> None:
    """Only a conflict says that another one has written; any other refusal is told as it is, and the next save tries again."""
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    api.refused["/api/v1/namespaces/kube-state/configmaps"] = ApiError(500, "InternalError", "busy")
    with pytest.raises(StateUnavailableError, match="500 InternalError: busy"):
        state.save("memory", b"1")
    api.refused.clear()
    assert state.save("memory", b"1")
