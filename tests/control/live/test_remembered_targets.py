"""What an earlier process sized, read from its state: for clouds, where nothing is seen that nobody asks for."""

import pytest

from reconciler.control.live.live_memory_store import PART, LiveMemoryStore, remembered_targets
from reconciler.decisions.memory import Memory
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from tests.kube.api_server import FakeApiServer


def remembered(server: FakeApiServer) -> tuple[str, ...]:
    return remembered_targets(server, "reconciler", "prod")()


def test_targets_of_the_last_decision() -> None:
    """None before the first one; what another process has stored later is read anew."""
    server = FakeApiServer()
    assert remembered(server) == ()
    store = LiveMemoryStore(StateObject(server, "reconciler", "prod"))
    store.load()
    store.save(Memory(known_groups={"AutoScalingGroup eu-central-1/spot": "spot"}))
    assert remembered(server) == ("AutoScalingGroup eu-central-1/spot",)


def test_a_damaged_memory_is_none() -> None:
    """The loop says so, and begins afresh; one that cannot be read now is asked for again."""
    server = FakeApiServer()
    state = StateObject(server, "reconciler", "prod")
    state.load(PART)
    state.save(PART, b"{")
    assert remembered(server) == ()
    server.away = True
    with pytest.raises(StateUnavailableError):
        remembered(server)
