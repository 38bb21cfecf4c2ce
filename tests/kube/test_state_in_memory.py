"""What test_state.py asks of a real API server, asked of the one in memory: quick enough to be asked after every change."""

import pytest

from tests.kube import test_state
from tests.kube.versioned import VersionedServer, asked

globals().update(asked(test_state))
policy = test_state.policy


@pytest.fixture
def api() -> VersionedServer:
    return VersionedServer()
