"""What test_api_server.py asks of a real API server, asked of the one in memory: what other tests stand on is so."""

import pytest

from tests.kube import test_api_server
from tests.kube.api_server import FakeApiServer, asked

globals().update(asked(test_api_server))


@pytest.fixture
def api() -> FakeApiServer:
    return FakeApiServer()


@pytest.fixture
def denied(api: FakeApiServer) -> test_api_server.Denied:
    def deny(path: str) -> FakeApiServer:
        api.forbidden.add(path)
        return api

    return deny


def test_a_seed_repeats_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that failed by chance is run again as it was."""
    monkeypatch.setenv("FAKE_API_SEED", "7")
    drawn = [[server.chance.random() for _ in range(5)] for server in (FakeApiServer(), FakeApiServer())]
    assert drawn[0] == drawn[1]
