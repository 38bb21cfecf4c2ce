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
def service(_running_crusoe: Service) -> Iterator[Service]:
    """Our own server, with an empty account. All that is asked of it, and all that it answers, is as described."""
    _running_crusoe.reset()
    yield _running_crusoe
    assert _running_crusoe.wrong == []
