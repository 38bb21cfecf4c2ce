"""Our custom resources as they are followed, on an API server in memory: what is known, what is in doubt, who is woken."""

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from reconciler.kube.connection.api import UnreachableError
from reconciler.kube.custom.custom_object import GROUPS, POLICIES, CustomObject, CustomObjects, CustomStore
from tests.kube.api_server import FakeApiServer
from tests.kube.cluster import eventually

TOP = "/apis/reconciler.dev/v1alpha1"
POLICY = f"{TOP}/nodegrouppolicies/prod"


@pytest.fixture
def server() -> FakeApiServer:
    """With our kinds, a policy, and a group in each of two namespaces."""
    found = FakeApiServer()
    found.kinds |= {kind.path: kind for kind in (POLICIES, GROUPS)}
    put(found, POLICY, "NodeGroupPolicy", "2026-11-21T10:00:02Z")
    put(found, group("a", "young"), "NodeGroup", "2026-11-21T10:00:03Z")
    put(found, group("b", "old"), "NodeGroup", "2026-11-21T10:00:01Z")
    return found


def group(namespace: str, name: str) -> str:
    return f"{TOP}/namespaces/{namespace}/nodegroups/{name}"


def put(server: FakeApiServer, path: str, kind: str, created: str, **spec: Any) -> None:
    parts = path.split("/")
    namespace = {"namespace": parts[parts.index("namespaces") + 1]} if "namespaces" in parts else {}
    metadata = {"name": parts[-1], "creationTimestamp": created, **namespace}
    server.put(path, {"apiVersion": "reconciler.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})


@pytest.fixture
def objects(server: FakeApiServer) -> Iterator[CustomObjects]:
    found = CustomObjects(server)
    found.start()
    assert found.wait(30)
    yield found
    assert found.stop()


def names(objects: CustomObjects) -> list[str]:
    return [item.name for item in objects.all()]


def test_all_of_them_the_oldest_first(objects: CustomObjects) -> None:
    """Of every namespace, with what a policy is read from and where the server keeps them."""
    assert objects.doubt() == ""
    assert [(item.title, item.path) for item in objects.all()] == [
        ("NodeGroup b/old", group("b", "old")),
        ("NodeGroupPolicy prod", POLICY),
        ("NodeGroup a/young", group("a", "young")),
    ]
    young = objects.all()[-1]
    assert (young.generation, young.created, young.spec) == (1, "2026-11-21T10:00:03Z", {})


def test_of_the_same_second_by_kind_and_name(server: FakeApiServer, objects: CustomObjects) -> None:
    """So that two processes judge alike."""
    for path in (group("b", "x"), group("a", "z"), group("a", "y"), f"{TOP}/nodegrouppolicies/w"):
        put(server, path, "NodeGroupPolicy" if path.endswith("w") else "NodeGroup", "2026-11-21T11:00:00Z")
    eventually(lambda: len(names(objects)) == 7, "all", 30)
    assert names(objects)[3:] == ["y", "z", "x", "w"]


def test_only_the_namespaces_that_are_named(server: FakeApiServer) -> None:
    """Groups of others are not even asked for; policies are cluster-scoped."""
    objects = CustomObjects(server, ("a",))
    objects.start()
    assert objects.wait(30)
    assert names(objects) == ["prod", "young"]
    assert {path for path, _ in server.reads} == {f"{TOP}/nodegrouppolicies", f"{TOP}/namespaces/a/nodegroups"}
    assert objects.stop()


def test_changes_are_told(server: FakeApiServer, objects: CustomObjects) -> None:
    """To the last that was named, not of a status, and not after the end."""
    first, second = threading.Semaphore(0), threading.Semaphore(0)
    objects.start(first.release)
    put(server, group("a", "new"), "NodeGroup", "2026-11-21T12:00:00Z")
    assert first.acquire(timeout=30)
    objects.start(second.release)
    server.write("DELETE", group("a", "new"))
    assert second.acquire(timeout=30)
    assert names(objects) == ["old", "prod", "young"]
    server.put(POLICY, server.objects[POLICY] | {"status": {"x": 1}})
    eventually(lambda: objects.all()[1].status == {"x": 1}, "the status", 30)
    assert not first.acquire(blocking=False)
    assert not second.acquire(blocking=False)
    objects.stop()
    assert not second.acquire(blocking=False)


def test_before_it_was_started(server: FakeApiServer) -> None:
    """Nothing is known, which is a doubt; there is nothing to end."""
    objects = CustomObjects(server)
    assert (objects.all(), objects.doubt()) == ((), "NodeGroupPolicy: not read yet")
    assert not objects.wait(0.0)
    assert objects.stop()


def test_a_server_without_our_definitions() -> None:
    """Waited for no longer than until that is known; what to do is told."""
    objects = CustomObjects(FakeApiServer(), ("a",))
    objects.start()
    assert objects.wait(30)
    assert objects.doubt() == (
        "the server does not know the kind NodeGroupPolicy of reconciler.dev/v1alpha1: apply `reconciler schema crds`"
    )
    assert objects.all() == ()
    assert objects.stop()


def test_what_may_not_be_read(server: FakeApiServer) -> None:
    """The wait runs out, and the server's words are the doubt."""
    server.forbidden.add(f"{TOP}/nodegroups")
    objects = CustomObjects(server)
    objects.start()
    words = f"NodeGroup: 403 Forbidden: {TOP}/nodegroups is forbidden"
    eventually(lambda: objects.doubt() == words, "the refusal", 30)
    assert not objects.wait(0.01)
    assert names(objects) == ["prod"]
    assert objects.stop()


def test_a_watch_that_breaks(server: FakeApiServer, objects: CustomObjects) -> None:
    """What was known stays, in doubt until the watch has caught up."""
    server.forbidden.add(f"{TOP}/nodegroups")
    server.end(f"{TOP}/nodegroups", UnreachableError("cut"))
    eventually(lambda: objects.doubt() != "", "the break", 30)
    assert objects.doubt().startswith("NodeGroup: ")
    assert names(objects) == ["old", "prod", "young"]
    assert objects.wait(0.0)


def test_waits_are_short(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A phase may change without a notice: it is looked at again within 0.2 s, and never later than asked."""
    objects = CustomObjects(server)
    now, waits = [0.0], list[float]()

    def wait(seconds: float) -> None:
        waits.append(round(seconds, 3))
        now[0] += seconds

    monkeypatch.setattr(objects._pace, "monotonic", lambda: now[0])
    monkeypatch.setattr(objects._progress, "wait", wait)
    assert not objects.wait(0.5)
    assert waits == [0.2, 0.2, 0.1]


@pytest.mark.parametrize(
    ("most", "changes", "waits"),
    [(60.0, 0, [5.0]), (60.0, 3, [5.0] * 4), (12.0, 9, [5.0, 5.0, 5.0, 3.0]), (0.0, 9, [])],
)
def test_settling(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch, most: float, changes: int, waits: list[float]) -> None:
    """Each change, here every three seconds, begins the wait anew; the longest time ends it."""
    objects = CustomObjects(server)
    now, found = [0.0], list[float]()

    def wait_for(changed: Any, seconds: float) -> bool:
        found.append(seconds)
        assert not changed()
        if len(found) > changes:
            now[0] += seconds
            return False
        now[0] += 3
        objects._changes += 1
        assert changed()
        return True

    monkeypatch.setattr(objects._pace, "monotonic", lambda: now[0])
    monkeypatch.setattr(objects._progress, "wait_for", wait_for)
    objects.settle(5.0, most)
    assert found == waits


def test_the_end_ends_settling(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """That which is under way and each that follows."""
    objects = CustomObjects(server)

    def wait_for(changed: Any, seconds: float) -> bool:
        objects.stop()
        assert changed(), "who waits is told of the end"
        return True

    monkeypatch.setattr(objects._progress, "wait_for", wait_for)
    objects.settle(5.0, 60.0)
    monkeypatch.setattr(objects._progress, "wait_for", lambda *_: pytest.fail("it has ended"))
    objects.settle(5.0, 60.0)


def test_one_thread_that_does_not_end(objects: CustomObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is told; each is waited for five seconds at most."""
    waited: list[float] = []
    with monkeypatch.context() as patched:
        for reflector, ends in zip(objects._reflectors, (False, True), strict=True):
            patched.setattr(reflector, "join", lambda seconds, ends=ends: (waited.append(seconds), ends)[1])
        assert not objects.stop()
    assert waited == [5.0, 5.0]


def test_an_object_says_nothing_of_itself() -> None:
    """What a server did not say is empty, and no generation was observed."""
    found = CustomObject(kind="NodeGroupPolicy", name="prod")
    assert (found.says(), found.title) == (("", 0, {}, None), "NodeGroupPolicy prod")
    store = CustomStore(POLICIES)
    assert store.put(msgspec.Raw(b'{"metadata":{"name":"prod"}}'))
    assert list(store.objects.values()) == [found]
    assert (POLICIES.path, GROUPS.path) == (f"{TOP}/nodegrouppolicies", f"{TOP}/nodegroups")
