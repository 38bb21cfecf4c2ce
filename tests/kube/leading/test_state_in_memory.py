"""What test_state.py asks of a real API server, asked of the one in memory: quick enough to be asked after every change."""

import base64
import json
import zlib

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from tests.kube.api_server import FakeApiServer, asked
from tests.kube.leading import test_state

globals().update(asked(test_state))
policy = test_state.policy


@pytest.fixture
def api() -> FakeApiServer:
    return FakeApiServer()


def test_a_busy_server_is_not_somebody_else(api: FakeApiServer) -> None:
    """Only a conflict says that another one has written; any other refusal is told as it is, and the next save tries again."""
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    api.refused["/api/v1/namespaces/kube-state/configmaps"] = ApiError(500, "InternalError", "busy")
    with pytest.raises(StateUnavailableError, match="500 InternalError: busy"):
        state.save("memory", b"1")
    api.refused["/api/v1/namespaces/kube-state/configmaps"] = UnreachableError("cut")
    with pytest.raises(StateUnavailableError, match=r"ConfigMap kube-state/reconciler-state-prod: cut$"):
        state.save("memory", b"1")
    api.refused.clear()
    assert state.save("memory", b"1")


def _packed_to(size: int) -> bytes:
    """Content that packs into exactly so many bytes."""
    length = size
    for _ in range(4):
        length += size - len(zlib.compress(test_state.noise(7, length), 6))
    content = test_state.noise(7, length)
    assert len(zlib.compress(content, 6)) == size
    return content


@pytest.mark.parametrize(
    ("packed", "chunks"), [(716_800, []), (716_801, [716_801]), (921_600, [921_600]), (921_601, [921_600, 1])]
)
def test_what_lies_in_chunks(api: FakeApiServer, packed: int, chunks: list[int]) -> None:
    """More than 700 KiB, in pieces of at most 900 KiB."""
    state, content = StateObject(api, "kube-state", "prod"), _packed_to(packed)
    state.load("memory")
    assert state.save("memory", content)
    made = [item for path, item in api.objects.items() if not path.endswith("/reconciler-state-prod")]
    assert [len(base64.b64decode(item["binaryData"]["chunk"])) for item in made] == chunks
    assert all(item["immutable"] is True for item in made)
    assert StateObject(api, "kube-state", "prod").load("memory") == content


@pytest.mark.parametrize(("packed", "kept"), [(33_554_432, True), (33_554_433, False)])
def test_the_largest_part(api: FakeApiServer, monkeypatch: pytest.MonkeyPatch, packed: int, kept: bool) -> None:
    """32 MiB when packed; more is told and not written."""
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    monkeypatch.setattr("zlib.compress", lambda content, level: bytes(packed))
    monkeypatch.setattr(state, "_write_chunks", lambda packed: ["chunk"])
    if kept:
        assert state.save("memory", b"large")
        return
    with pytest.raises(StateUnavailableError, match=r"memory has 33554433 bytes, more than the limit of 33554432"):
        state.save("memory", b"large")
    assert api.sent == []


def test_chunks_are_read_and_looked_for_once(api: FakeApiServer) -> None:
    """What was read once is known by its digest; small parts that follow small ones leave no chunk to look for."""
    state, content = StateObject(api, "kube-state", "prod"), _packed_to(716_801)
    state.load("memory")
    read: list[str] = []
    get = api.get
    api.get = lambda path, query=None: (read.append(path.rpartition("/")[2]), get(path, query))[1]  # type: ignore[method-assign]
    state.save("memory", b"small")
    state.save("memory", b"smaller")
    assert read == []
    state.save("memory", content)
    assert read == ["configmaps"]
    fresh = StateObject(api, "kube-state", "prod")
    assert fresh.load("memory") == fresh.load("memory") == content
    assert [name == "reconciler-state-prod" for name in read[1:]] == [True, False, True]


def test_an_object_without_anything_in_it(api: FakeApiServer) -> None:
    """Somebody has made the ConfigMap: nothing was saved yet, and what is saved first lies in it."""
    path = "/api/v1/namespaces/kube-state/configmaps/reconciler-state-prod"
    api.put(path, {"metadata": {"name": "reconciler-state-prod"}})
    state = StateObject(api, "kube-state", "prod")
    assert state.load("memory") is None
    assert state.save("memory", b"1")
    assert StateObject(api, "kube-state", "prod").load("memory") == b"1"
    assert api.objects[path]["data"]["format"] == "1"


def _damaged(api: FakeApiServer, content: bytes, *, where: str, value: str | None) -> str:
    """What is told of a part of which a field was changed: `where` is its own ConfigMap or that of its chunk."""
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    state.save("memory", content)
    path = next(place for place in api.objects if (place.endswith("-prod")) == (where == "own"))
    key = "memory.zlib" if where == "own" else "chunk"
    there = api.objects[path]["binaryData"][key]
    changed = None if value is None else {key: there + value}
    api.put(path, api.objects[path] | {"binaryData": changed})
    with pytest.raises(StateUnavailableError) as found:
        StateObject(api, "kube-state", "prod").load("memory")
    assert found.value.damaged
    return str(found.value)


@pytest.mark.parametrize("where", ["own", "chunk"])
@pytest.mark.parametrize("value", [None, "!"])
def test_what_is_not_base64_is_damage(api: FakeApiServer, where: str, value: str | None) -> None:
    """Missing bytes, and a character too many."""
    content = b"small" if where == "own" else _packed_to(716_801)
    assert "ConfigMap kube-state/reconciler-state-prod, memory: damaged: " in _damaged(api, content, where=where, value=value)


def test_a_chunk_that_is_gone(api: FakeApiServer) -> None:
    """Told by its name."""
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    state.save("memory", _packed_to(716_801))
    (chunk,) = [place for place in api.objects if not place.endswith("-prod")]
    del api.objects[chunk]
    with pytest.raises(StateUnavailableError, match=f"damaged: ConfigMap {chunk.rpartition('/')[2]} is gone") as found:
        StateObject(api, "kube-state", "prod").load("memory")
    assert found.value.damaged


@pytest.mark.parametrize("entry", ["no JSON", '{"digest":"x"}', ""])
def test_an_entry_that_cannot_be_read(api: FakeApiServer, entry: str) -> None:
    """Damage of that part alone; its keeper may write it anew."""
    path = "/api/v1/namespaces/kube-state/configmaps/reconciler-state-prod"
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    state.save("memory", b"1")
    state.save("policy", b"2")
    api.put(path, api.objects[path] | {"data": api.objects[path]["data"] | {"memory": entry}})
    fresh = StateObject(api, "kube-state", "prod")
    with pytest.raises(StateUnavailableError, match="memory: damaged: cannot read its entry"):
        fresh.load("memory")
    assert fresh.load("policy") == b"2"
    assert fresh.save("memory", b"3")
    assert (fresh.load("memory"), fresh.load("policy")) == (b"3", b"2")


@pytest.mark.parametrize(("claim", "why"), [
    ({"sizeBytes": 10**30}, "says 1000000000000000000000000000000 bytes"), ({"sizeBytes": -1}, "says -1 bytes"),
    ({"sizeBytes": 2**40}, "says 1099511627776 bytes"),
    ({"chunks": ["reconciler-state-prod"] * 38}, "names 38 chunks, more than the limit of 37"),
])  # fmt: skip
def test_an_entry_that_claims_too_much(api: FakeApiServer, claim: dict[str, object], why: str) -> None:
    """Damage, before anything of that size is read or unpacked."""
    path = "/api/v1/namespaces/kube-state/configmaps/reconciler-state-prod"
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    state.save("memory", b"small")
    there = api.objects[path]["data"]
    entry = json.dumps({**json.loads(there["memory"]), **claim})
    api.put(path, api.objects[path] | {"data": {**there, "memory": entry}})
    with pytest.raises(StateUnavailableError, match=why) as found:
        StateObject(api, "kube-state", "prod").load("memory")
    assert found.value.damaged


def test_a_part_that_unpacks_into_more_than_was_written(api: FakeApiServer) -> None:
    """Not unpacked beyond the size that its entry says: a bomb is damage."""
    path = "/api/v1/namespaces/kube-state/configmaps/reconciler-state-prod"
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    state.save("memory", b"small")
    bomb = base64.b64encode(zlib.compress(bytes(50_000_000))).decode()
    api.put(path, api.objects[path] | {"binaryData": {"memory.zlib": bomb}})
    with pytest.raises(StateUnavailableError, match="damaged: its content differs from the written content"):
        StateObject(api, "kube-state", "prod").load("memory")


def test_a_save_after_a_failure_reads_nothing_into_it(api: FakeApiServer) -> None:
    """Equal content is not written again, also by a process that only read it."""
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    assert state.save("memory", b"1")
    assert not state.save("memory", b"1")
    other = StateObject(api, "kube-state", "prod")
    other.load("memory")
    assert not other.save("memory", b"1")
    assert len(api.sent) == 1


def test_chunks_of_others_stay(api: FakeApiServer) -> None:
    """Only those of this policy that no part names are removed."""
    maps = "/api/v1/namespaces/kube-state/configmaps"
    state = StateObject(api, "kube-state", "prod")
    state.load("memory")
    state.save("policy", _packed_to(716_801))
    other = {"metadata": {"name": "theirs", "labels": {"reconciler.dev/state": "test"}}}
    api.put(f"{maps}/theirs", other)
    api.put(f"{maps}/left", {"metadata": {"name": "left", "labels": {"reconciler.dev/state": "prod"}}})
    state.save("memory", test_state.noise(3, 800_000))
    state.save("memory", b"small")
    names = sorted(path.rpartition("/")[2] for path in api.objects)
    assert names[-1] == "theirs"
    assert "left" not in names
    assert len(names) == 3
    fresh = StateObject(api, "kube-state", "prod")
    assert len(fresh.load("policy") or b"") > 700_000
    assert fresh.load("memory") == b"small"
