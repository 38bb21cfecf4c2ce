"""What an earlier process sized, read from its state: for clouds, where nothing is seen that nobody asks for."""

import pytest

from reconciler.control.live.live_memory_store import PART, LiveMemoryStore, remembered_targets
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from tests.control.test_told_of_groups import Server


class Away(Server):
    def get(self, path: str, query: object = None) -> bytes:
        raise ApiError(503, "ServiceUnavailable", path)


def remembered(server: Server) -> tuple[str, ...]:
    return remembered_targets(server, "reconciler", "prod")()  # type: ignore[arg-type]


def test_targets_of_the_last_decision() -> None:
    """None before the first one; what another process has stored later is read anew."""
    server = Server()
    assert remembered(server) == ()
    store = LiveMemoryStore(StateObject(server, "reconciler", "prod"))  # type: ignore[arg-type]
    store.load()
    store.save(Memory(known_groups={"AutoScalingGroup eu-central-1/spot": "spot"}))
    assert remembered(server) == ("AutoScalingGroup eu-central-1/spot",)


def test_a_damaged_memory_is_none() -> None:
    """The loop says so, and begins afresh; one that cannot be read now is asked for again."""
    server = Server()
    state = StateObject(server, "reconciler", "prod")  # type: ignore[arg-type]
    state.load(PART)
    state.save(PART, b"{")
    assert remembered(server) == ()
    with pytest.raises(StateUnavailableError):
        remembered(Away())
