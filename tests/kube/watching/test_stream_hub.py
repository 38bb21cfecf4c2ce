"""Reflectors that share threads: the same view as with a thread for each, over sockets, with faults drawn at random."""

import json
import random
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from reconciler.kube.connection.api import UnreachableError
from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.watching import stream_hub
from reconciler.kube.watching.collection import Collection
from reconciler.kube.watching.live_world import IncompleteViewError, LiveWorld
from reconciler.kube.watching.object_store import ObjectStore
from reconciler.kube.watching.reflector import Lines, Pause, Reflector, Steps
from reconciler.kube.watching.stream_hub import AT_ONCE, StreamHub
from reconciler.kube.watching.stream_state import Phase
from reconciler.kube.watching.watch_pace import RealPace
from tests.kube.cluster import eventually
from tests.kube.local_server import LocalServer
from tests.kube.objects import node
from tests.testbed.certificates import Authority
from tests.testbed.stub_clusters import Faults, StubCluster, StubClusters, captured

SECONDS = 40.0
EXAMPLE = Path(__file__).parents[3] / "examples" / "quickstart"
NODES = Collection(group="", kind="Node", version="v1", plural="nodes")


@pytest.fixture
def hub() -> Iterator[StreamHub]:
    made = StreamHub(time.monotonic)
    yield made
    made.stop()


def workers() -> int:
    return sum(thread.name == "stream" for thread in threading.enumerate())


def api_of(stub: StubClusters, name: str, directory: Path) -> KubernetesApi:
    path = directory / f"{name}.yaml"
    path.write_bytes(stub.kubeconfig(name, "t"))
    return connect(path, environment={}, own_sockets=True)


def content(world: LiveWorld) -> list[str]:
    """Names of pods and nodes, once all of it is there at one time."""
    deadline = time.monotonic() + SECONDS
    while True:
        assert world.wait(max(deadline - time.monotonic(), 0)), world.doubts()
        with suppress(IncompleteViewError):
            found = world.observe()
            return [*(found.pods.key(at) for at in range(len(found.pods))), *sorted(one.name for one in found.nodes)]


def test_the_view_is_that_of_a_thread_for_each(hub: StreamHub, tmp_path: Path) -> None:
    """Of servers that refuse, cut and hesitate. One that sends a byte per second delays none of them."""
    objects = captured(EXAMPLE)
    assert objects
    faults = Faults(refused=0.05, broken=0.05, latency_seconds=0.05, cut_seconds=60)
    names = [f"c{number}" for number in range(4)]
    clusters = [StubCluster(name=name, objects=objects, faults=faults) for name in names]
    clusters.append(StubCluster(name="drip", objects=objects, faults=Faults(drip=True)))
    with StubClusters(tmp_path, clusters) as stub:
        worlds = {
            name: LiveWorld(api_of(stub, name, tmp_path), now_seconds=lambda: 0, drive=hub.lane()) for name in (*names, "drip")
        }
        alone = LiveWorld(api_of(stub, "c0", tmp_path), now_seconds=lambda: 0)
        try:
            for world in (*worlds.values(), alone):
                world.start()
            shown = [content(world) for world in (*(worlds[name] for name in names), alone)]
            assert worlds["drip"].doubts()
            assert len(shown[0]) > 100
            assert all(one == shown[0] for one in shown)
            assert workers() <= AT_ONCE * len(worlds)
        finally:
            for world in (*worlds.values(), alone):
                world.stop(1)


class Script:
    """A server that follows a random script: nodes come, change and go, in pieces of any size, over watches that end anyhow."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"hub {seed}")
        self.lock = threading.Lock()
        self.version = 10
        self.nodes: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        for _ in range(5):
            self.step()

    def step(self) -> None:
        with self.lock:
            self.version += 1
            name = f"n{self.rng.randrange(12)}"
            there = name in self.nodes
            kind = "ADDED" if not there else self.rng.choice(("MODIFIED", "DELETED"))
            item = node(name, taints=[{"key": f"v{self.version}", "effect": "NoSchedule"}])
            item["metadata"]["resourceVersion"] = str(self.version)
            if kind == "DELETED":
                del self.nodes[name]
            else:
                self.nodes[name] = item
            self.history.append((self.version, kind, item))

    def answer(self, request: Any, _: bytes) -> None:
        if "watch=true" not in request.path:
            with self.lock:
                body = json.dumps(
                    {"metadata": {"resourceVersion": str(self.version)}, "items": list(self.nodes.values())}
                ).encode()
            request.send_response(200)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)
            return
        rng = random.Random(self.rng.random())
        with self.lock:
            after = self.version
            lines = [{"type": "ADDED", "object": item} for item in self.nodes.values()]
        if "sendInitialEvents=true" in request.path:
            end = {"resourceVersion": str(after), "annotations": {"k8s.io/initial-events-end": "true"}}
            lines.append({"type": "BOOKMARK", "object": {"metadata": end}})
        else:
            query = dict(part.split("=") for part in request.path.partition("?")[2].split("&"))
            after, lines = int(query["resourceVersion"]), []
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        until = time.monotonic() + rng.random() * 1.5
        while True:
            text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            while text:
                size = rng.randint(1, 400)
                request.wfile.write(b"%x\r\n%b\r\n" % (len(text[:size]), text[:size]))
                request.wfile.flush()
                text = text[size:]
            if time.monotonic() > until:
                break
            time.sleep(0.01)
            with self.lock:
                lines = [{"type": kind, "object": item} for version, kind, item in self.history if version > after]
                after = self.version
        if rng.random() < 0.5:
            request.wfile.write(b"0\r\n\r\n")
        request.close_connection = True


@contextmanager
def scripted(tmp_path: Path, behaviour: Callable[[Any, bytes], None]) -> Iterator[KubernetesApi]:
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("server"))
    with LocalServer(behaviour, context).running() as local:
        path = tmp_path / "config"
        cluster = {"server": local.url, "certificate-authority": str(authority.certificate)}
        content = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "c", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }  # fmt: skip
        path.write_text(json.dumps(content))
        yield connect(path, environment={}, own_sockets=True)


def reflector(api: KubernetesApi, hub: StreamHub, silence_seconds: float = 30) -> Reflector:
    return Reflector(
        api, NODES, lambda found: ObjectStore(found, ""), pace=RealPace(), lock=threading.Lock(), changed=lambda: None,
        silence_seconds=silence_seconds, drive=hub.lane(),
    )  # fmt: skip


def seen(one: Reflector) -> dict[str, list[str]]:
    store = one.store
    if not isinstance(store, ObjectStore) or one.state().phase is not Phase.SYNCED:
        return {}
    return {name: [taint.key for taint in found.shape.taints] for (_, name), found in store.nodes.by_key().items()}


def test_changes_arrive_however_the_bytes_are_cut(hub: StreamHub, tmp_path: Path) -> None:
    seed = secrets.randbits(32)
    script = Script(seed)
    with scripted(tmp_path, script.answer) as api:
        followed = [reflector(api, hub) for _ in range(3)]
        for one in followed:
            one.start()
        for _ in range(150):
            script.step()
            time.sleep(script.rng.random() * 0.03)
        expected = {name: [item["spec"]["taints"][0]["key"]] for name, item in script.nodes.items()}
        for one in followed:
            eventually(lambda one=one: seen(one) == expected, f"seed {seed}: the nodes", SECONDS)
            one.stop()
            assert one.join(SECONDS)
            assert one.state().phase is Phase.STOPPED


def test_a_quiet_watch_is_renewed_and_stays_trusted(hub: StreamHub, tmp_path: Path) -> None:
    asked: list[str] = []
    release = threading.Event()

    def quiet(request: Any, _: bytes) -> None:
        asked.append(request.path)
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        meta = {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}
        line = json.dumps({"type": "BOOKMARK", "object": {"metadata": meta}}).encode() + b"\n"
        if "sendInitialEvents" in request.path:
            request.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        request.wfile.flush()
        release.wait(SECONDS)
        request.close_connection = True

    with scripted(tmp_path, quiet) as api:
        one = reflector(api, hub, silence_seconds=0.3)
        one.start()
        eventually(lambda: one.state().renewals >= 2, "two renewals", SECONDS)
        assert one.state().phase is Phase.SYNCED
        assert all("resourceVersion=7" in path for path in asked[1:])
        one.stop()
        assert one.join(SECONDS)
        release.set()


def test_what_waits_has_no_thread_and_ends_when_told(hub: StreamHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand pauses, of which none would end by itself."""
    monkeypatch.setattr(stream_hub, "_IDLE_SECONDS", 0.1)
    stopped = threading.Event()

    def steps() -> Steps:
        while not stopped.is_set():
            yield Pause(3600)

    lane = hub.lane()
    driven = [lane(steps(), "one") for _ in range(1000)]
    eventually(lambda: workers() == 0, "no thread", SECONDS)
    stopped.set()
    for one in driven:
        one.wake()
    assert all(one.join(SECONDS) for one in driven)


def test_a_cluster_that_blocks_takes_a_bounded_number_of_threads(hub: StreamHub) -> None:
    """And another one goes on meanwhile."""
    release, done = threading.Event(), threading.Event()
    working: list[int] = []

    def blocks() -> Steps:
        working.append(1)
        release.wait(SECONDS)
        return
        yield Pause(0)

    def goes_on() -> Steps:
        for _ in range(50):
            yield Pause(0)
        done.set()

    slow = hub.lane()
    driven = [slow(blocks(), "slow") for _ in range(40)]
    hub.lane()(goes_on(), "quick")
    assert done.wait(SECONDS)
    assert len(working) == AT_ONCE
    release.set()
    assert all(one.join(SECONDS) for one in driven)


def test_the_hub_outlives_a_system_without_threads(hub: StreamHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on processes may be reached for a while, when a reflector begins and when one wakes up. All go on afterwards."""
    monkeypatch.setattr(stream_hub, "_IDLE_SECONDS", 0.01)
    monkeypatch.setattr(stream_hub, "_AGAIN_SECONDS", 0.01)
    start, none_left, refused = threading.Thread.start, threading.Event(), threading.Semaphore(0)

    def limited(thread: threading.Thread) -> None:
        if thread.name == "stream" and none_left.is_set():
            refused.release()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)

    def steps() -> Steps:
        yield Pause(3600)

    lane = hub.lane()
    early = [lane(steps(), "early") for _ in range(AT_ONCE + 1)]
    eventually(lambda: workers() == 0, "all wait", SECONDS)
    none_left.set()
    for one in early:
        one.wake()
    late = hub.lane()(iter_none(), "late")
    assert all(refused.acquire(timeout=SECONDS) for _ in range(AT_ONCE + 2))
    none_left.clear()
    assert all(one.join(SECONDS) for one in (*early, late))


class Pipe:
    """A stream of one line for each byte."""

    silence_seconds = 90.0

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()

    def fileno(self) -> int:
        return self.ours.fileno()

    def ready_lines(self) -> list[bytes] | None:
        try:
            return [b"{}"] if self.ours.recv(1) else None
        except BlockingIOError:
            return []

    def silence(self) -> UnreachableError:
        return UnreachableError("silent")

    def __iter__(self) -> Iterator[bytes]:
        raise AssertionError("it is read without waiting")

    __next__ = __iter__  # type: ignore[assignment]


def reading(pipe: Pipe, seen: list[int]) -> Steps:
    while (lines := (yield Lines(pipe))) is not None:  # type: ignore[arg-type]
        seen[0] += len(lines)


def test_a_stream_with_many_events_leaves_no_timers(hub: StreamHub) -> None:
    pipe, seen = Pipe(), [0]
    driven = hub.lane()(reading(pipe, seen), "one")
    for number in range(500):
        pipe.theirs.send(b".")
        eventually(lambda number=number: seen[0] > number, "the event", SECONDS)
    assert len(hub._timers) < 5
    pipe.theirs.close()
    assert driven.join(SECONDS)
    pipe.close()


def test_a_stream_that_cannot_be_waited_for_ends_alone(hub: StreamHub) -> None:
    """Its error comes to its reflector. The hub goes on with the others."""
    broken, whole, told = Pipe(), Pipe(), []

    def steps() -> Steps:
        try:
            yield Lines(broken)  # type: ignore[arg-type]
        except UnreachableError as error:
            told.append(str(error))

    broken.ready_lines = list  # type: ignore[method-assign]
    broken.fileno = lambda: -1  # type: ignore[method-assign]
    assert hub.lane()(steps(), "broken").join(SECONDS)
    assert told[0].startswith("the watch broke")
    seen = [0]
    driven = hub.lane()(reading(whole, seen), "whole")
    whole.theirs.send(b".")
    eventually(lambda: seen[0] == 1, "the event", SECONDS)
    whole.theirs.close()
    assert driven.join(SECONDS)
    broken.close()
    whole.close()


def test_a_stream_without_a_socket_is_a_defect(hub: StreamHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold a thread: it ends with words, and the hub goes on."""
    told: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda given: told.append(str(given.exc_value)))

    def steps() -> Steps:
        yield Lines(iter([b"{}"]))

    lane = hub.lane()
    assert lane(steps(), "one").join(SECONDS)
    eventually(lambda: told == ["the stream of a reflector that shares threads has no socket"], "the words", SECONDS)
    assert lane(iter_none(), "two").join(SECONDS)


def iter_none() -> Steps:
    yield Pause(0)
