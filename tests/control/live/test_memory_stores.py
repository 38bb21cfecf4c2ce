"""The loop's memory between two decisions: what is damaged is lost once and said, what cannot be read now is waited for."""

import msgspec
import pytest

from reconciler.control.live.live_memory_store import PART, LiveMemoryStore
from reconciler.control.turn.memory_store import InMemoryStore, StoreUnavailableError
from reconciler.decisions.memory import MEMORY_VERSION, Memory
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.state import StateUnavailableError

_KNOWN = Memory(known_groups={"MachineDeployment prod/a": "a"})


class _State:
    """Parts by name; may fail."""

    def __init__(self, content: bytes | None = None) -> None:
        self.parts = {} if content is None else {PART: content}
        self.fails: Exception | None = None

    def load(self, part: str) -> bytes | None:
        if self.fails is not None:
            raise self.fails
        return self.parts.get(part)

    def save(self, part: str, content: bytes) -> bool:
        if self.fails is not None:
            raise self.fails
        self.parts[part] = content
        return True


def test_what_was_saved_is_loaded() -> None:
    """An empty memory at the first start."""
    store = LiveMemoryStore(_State())
    assert store.load() == Memory()
    store.save(_KNOWN)
    assert store.load() == _KNOWN
    assert store.problem == ""


@pytest.mark.parametrize("content", [b"no json", b'{"version": "x"}'])
def test_a_damaged_memory_costs_one_turn(content: bytes) -> None:
    """The first load says so and gives nothing, the next begins afresh; after a save, damage is news again."""
    state = _State(content)
    store = LiveMemoryStore(state)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match=r"is damaged: .*. The next turn begins with an empty memory$"):
            store.load()
        assert store.problem.startswith("the memory is damaged: ")
        assert store.load() == Memory()
        assert store.load() == Memory()
        store.save(_KNOWN)
        state.parts[PART] = content


def test_a_state_that_is_damaged_as_a_whole() -> None:
    state = _State()
    state.fails = StateUnavailableError("two parts of one name", damaged=True)
    store = LiveMemoryStore(state)
    with pytest.raises(StoreUnavailableError, match=r"^two parts of one name. The next turn begins with an empty memory$"):
        store.load()
    assert store.problem == "two parts of one name"
    assert store.load() == Memory()


def test_what_cannot_be_read_now_is_waited_for() -> None:
    """However often it is asked; nothing is begun afresh, and damage that was told before is told again."""
    state = _State(msgspec.json.encode(_KNOWN))
    state.fails = StateUnavailableError("no answer")
    store = LiveMemoryStore(state)
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match=r"^no answer$"):
            store.load()
        assert store.problem == ""
    state.fails = None
    assert store.load() == _KNOWN


def test_a_server_that_is_away_after_damage_is_waited_for() -> None:
    """Damage was told, and the next load would begin afresh; one that cannot be answered now must not."""
    state = _State(b"no json")
    store = LiveMemoryStore(state)
    with pytest.raises(StoreUnavailableError, match="is damaged"):
        store.load()
    state.fails = StateUnavailableError("no answer")
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match=r"^no answer$"):
            store.load()
    state.fails = None
    with pytest.raises(StoreUnavailableError, match="is damaged"):
        store.load()


def test_a_memory_says_its_version() -> None:
    """The first one, which every release so far reads and writes; another form of it would be the second."""
    assert msgspec.json.decode(msgspec.json.encode(Memory()))["version"] == 1


def test_a_memory_of_a_later_release_is_never_thrown_away() -> None:
    state = _State(msgspec.json.encode(Memory(version=MEMORY_VERSION + 1)))
    store = LiveMemoryStore(state)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="which a later release wrote"):
            store.load()


@pytest.mark.parametrize("error", [StateUnavailableError("no room"), NotLeaderError("no room")])
def test_a_memory_that_cannot_be_saved(error: Exception) -> None:
    """Whoever depends on it must not go on."""
    state = _State()
    state.fails = error
    with pytest.raises(StoreUnavailableError, match="no room"):
        LiveMemoryStore(state).save(_KNOWN)


def test_equal_memories_are_written_once() -> None:
    store = InMemoryStore()
    assert store.load() == Memory()
    assert store.writes == 0
    for _ in range(2):
        store.save(_KNOWN)
    assert (store.load(), store.writes) == (_KNOWN, 1)
    store.save(Memory())
    assert (store.load(), store.writes) == (Memory(), 2)


def test_one_that_leads_reads_its_memory_once() -> None:
    """In one term nobody else writes it. In the next one, out of any, and after a save that failed, it is read."""
    state, term = _State(msgspec.json.encode(_KNOWN)), [1]
    store = LiveMemoryStore(state, lambda: term[0])
    assert store.load() == _KNOWN
    state.parts[PART] = msgspec.json.encode(Memory())
    assert store.load() == _KNOWN
    for now in (2, 0):
        term[0] = now
        assert store.load() == Memory()
    term[0] = 3
    store.save(_KNOWN)
    state.parts.clear()
    assert store.load() == _KNOWN
    state.fails = StateUnavailableError("somebody else has changed it")
    with pytest.raises(StoreUnavailableError):
        store.save(Memory())
    state.fails = None
    assert store.load() == Memory()
