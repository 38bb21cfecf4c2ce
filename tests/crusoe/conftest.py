"""The server, one for all tests."""

from collections.abc import Iterator

import pytest

from tests.crusoe.service.server import Service


@pytest.fixture(scope="session")
def _running_crusoe() -> Iterator[Service]:
    running = Service()
    yield running
    running.stop()


@pytest.fixture
def service(_running_crusoe: Service) -> Service:
    """Our own server, with an empty account."""
    _running_crusoe.reset()
    return _running_crusoe
