"""The service and clients of it."""

from collections.abc import Iterator

import pytest

from tests.aws.service.server import Service


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def _running() -> Iterator[Service]:
    running = Service()
    yield running
    running.stop()


@pytest.fixture
def service(_running: Service) -> Service:
    """Our own Auto Scaling service, with an empty account: one server for all tests, since making a client takes 0.2 s."""
    _running.reset()
    return _running


@pytest.fixture
def at_once(service: Service) -> None:
    """For tests that set a state and judge what the next single read makes of it: an older read would be another test."""
    service.at_once()
