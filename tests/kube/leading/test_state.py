"""The state on a real API server: whole or not at all, whoever else writes and wherever a writer dies."""

import base64
import json
import random
from collections.abc import Iterator

import pytest

from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.turn.memory_store import StoreUnavailableError
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.kube.connection.api import ContentType
from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from tests.kube.cluster import create
from tests.testbed.control_plane import ControlPlane

NAMESPACE = "kube-state"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
MEMORY = Memory(
    unneeded_since={"n-1": 5}, backoffs={"g": BackoffState(failures=2, failed_seconds=7, until_seconds=9)}, held_groups=("g",)
)


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[KubernetesApi]:
    api = connect(control_plane.kubeconfig)
    create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield api
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> str:
    return request.node.name.removeprefix("test_").replace("_", "-")[:30]


def maps(api: KubernetesApi, policy: str) -> list[str]:
    items = json.loads(api.get(MAPS))["items"]
    names = (item["metadata"]["name"] for item in items)
    return sorted(name for name in names if name.startswith(f"reconciler-state-{policy}"))


def noise(seed: int, size: int) -> bytes:
    """Bytes that no packing makes smaller."""
    return random.Random(seed).randbytes(size)


def test_memory_comes_back(api: KubernetesApi, policy: str) -> None:
    """A second process reads the memory that the first saved; before that there is an empty one."""
    first = LiveMemoryStore(StateObject(api, NAMESPACE, policy))
    assert first.load() == Memory()
    first.save(MEMORY)
    assert LiveMemoryStore(StateObject(api, NAMESPACE, policy)).load() == MEMORY
    assert maps(api, policy) == [f"reconciler-state-{policy}"]


def test_equal_memories_are_not_written(api: KubernetesApi, policy: str) -> None:
    """Saving what is there already leaves the object's version alone."""
    store = LiveMemoryStore(StateObject(api, NAMESPACE, policy))
    store.load()
    store.save(MEMORY)
    path = f"{MAPS}/reconciler-state-{policy}"
    before = json.loads(api.get(path))["metadata"]["resourceVersion"]
    again = LiveMemoryStore(StateObject(api, NAMESPACE, policy))
    again.load()
    again.save(MEMORY)
    assert json.loads(api.get(path))["metadata"]["resourceVersion"] == before


def test_the_second_writer_learns_it(api: KubernetesApi, policy: str) -> None:
    """Of two that read the same state, the second to write is refused, and goes on after reading again."""
    one, two = (LiveMemoryStore(StateObject(api, NAMESPACE, policy)) for _ in range(2))
    one.load()
    one.save(Memory(last_added_seconds=1))
    one.load()
    two.load()
    one.save(Memory(last_added_seconds=2))
    with pytest.raises(StoreUnavailableError, match="somebody else has changed"):
        two.save(Memory(last_added_seconds=3))
    assert two.load().last_added_seconds == 2
    two.save(Memory(last_added_seconds=4))
    assert one.load().last_added_seconds == 4


def test_reading_another_part_hides_nothing(api: KubernetesApi, policy: str) -> None:
    """A part that somebody else wrote is still refused after another part of the same object was read in between."""
    one, two = StateObject(api, NAMESPACE, policy), StateObject(api, NAMESPACE, policy)
    one.load("memory")
    one.save("memory", b"1")
    two.load("memory")
    one.save("memory", b"2")
    two.load("policy")
    with pytest.raises(StateUnavailableError, match="somebody else has changed"):
        two.save("memory", b"3")
    assert two.load("memory") == b"2"
    two.save("memory", b"4")
    assert StateObject(api, NAMESPACE, policy).load("memory") == b"4"


def test_two_first_writers(api: KubernetesApi, policy: str) -> None:
    """The same holds when neither found anything."""
    one, two = (LiveMemoryStore(StateObject(api, NAMESPACE, policy)) for _ in range(2))
    one.load()
    two.load()
    one.save(MEMORY)
    with pytest.raises(StoreUnavailableError):
        two.save(Memory(last_added_seconds=3))


def test_parts_do_not_touch_each_other(api: KubernetesApi, policy: str) -> None:
    """Each part is kept under its own name."""
    state = StateObject(api, NAMESPACE, policy)
    state.load("a")
    state.save("a", b"first")
    state.save("b", b"second")
    fresh = StateObject(api, NAMESPACE, policy)
    assert (fresh.load("a"), fresh.load("b"), fresh.load("c")) == (b"first", b"second", None)


def test_large_parts_lie_in_chunks(api: KubernetesApi, policy: str) -> None:
    """Two megabytes that cannot be packed lie in three more ConfigMaps, and are read whole; smaller again, those go."""
    state = StateObject(api, NAMESPACE, policy)
    state.load("memory")
    large = noise(1, 2_000_000)
    state.save("memory", large)
    assert len(maps(api, policy)) == 4
    assert StateObject(api, NAMESPACE, policy).load("memory") == large
    state.save("memory", b"small")
    assert maps(api, policy) == [f"reconciler-state-{policy}"]
    assert StateObject(api, NAMESPACE, policy).load("memory") == b"small"


def test_a_writer_that_dies_half_way(api: KubernetesApi, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks without the index that names them change nothing, and the next large save removes them."""
    state = StateObject(api, NAMESPACE, policy)
    state.load("memory")
    state.save("memory", noise(2, 1_000_000))
    dying = StateObject(api, NAMESPACE, policy)
    dying.load("memory")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dying, "_write_index", die)
    with pytest.raises(KeyboardInterrupt):
        dying.save("memory", noise(3, 1_000_000))
    assert len(maps(api, policy)) == 5
    later = StateObject(api, NAMESPACE, policy)
    assert later.load("memory") == noise(2, 1_000_000)
    later.save("memory", noise(4, 1_000_000))
    assert len(maps(api, policy)) == 3


def test_damage_is_told_then_begun_afresh(api: KubernetesApi, policy: str) -> None:
    """A memory that somebody changed makes one turn do nothing and say so; the next begins with an empty one."""
    LiveMemoryStore(StateObject(api, NAMESPACE, policy)).load()
    store = LiveMemoryStore(StateObject(api, NAMESPACE, policy))
    store.load()
    store.save(MEMORY)
    broken = {"binaryData": {"memory.zlib": base64.b64encode(b"nonsense").decode()}}
    api.write("PATCH", f"{MAPS}/reconciler-state-{policy}", broken, content_type=ContentType.MERGE_PATCH)
    fresh = LiveMemoryStore(StateObject(api, NAMESPACE, policy))
    with pytest.raises(StoreUnavailableError, match=r"damaged: .*next turn begins with an empty memory"):
        fresh.load()
    assert "damaged" in fresh.problem
    assert fresh.load() == Memory()
    fresh.save(Memory(last_added_seconds=6))
    assert fresh.load().last_added_seconds == 6


@pytest.mark.parametrize("damage", [b"{", b'{"version":"x"}', b"\xff"])
def test_content_that_is_no_memory(api: KubernetesApi, policy: str, damage: bytes) -> None:
    """Content that is whole but is no memory counts as damage too."""
    name = f"odd-{damage.hex()[:8]}"
    state = StateObject(api, NAMESPACE, name)
    state.load("memory")
    state.save("memory", damage)
    with pytest.raises(StoreUnavailableError, match="damaged"):
        LiveMemoryStore(StateObject(api, NAMESPACE, name)).load()


def test_a_later_version_is_kept(api: KubernetesApi, policy: str) -> None:
    """A memory or a format that a later release wrote is waited for, turn after turn, and never replaced."""
    state = StateObject(api, NAMESPACE, policy)
    state.load("memory")
    state.save("memory", b'{"version":99}')
    store = LiveMemoryStore(StateObject(api, NAMESPACE, policy))
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="version 99, which a later release wrote"):
            store.load()
    api.write("PATCH", f"{MAPS}/reconciler-state-{policy}", {"data": {"format": "2"}}, content_type=ContentType.MERGE_PATCH)
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="has format 2"):
            store.load()


def test_a_server_that_is_away(tmp_path) -> None:
    """No answer is unavailable, not empty."""
    text = (
        "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(StateUnavailableError, match="does not answer"):
        StateObject(connect(path), "n", "p").load("memory")
