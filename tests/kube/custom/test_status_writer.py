"""The status of our custom resources: written when it says something else, at most so many in a round, and never the rest."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.kube.connection.api import ApiError, ContentType, UnreachableError
from reconciler.kube.custom.custom_object import POLICIES, CustomObject, CustomStore
from reconciler.kube.custom.custom_text import CustomText
from reconciler.kube.custom.status import Condition, Status, StatusWriter
from reconciler.policy.place import Place

READY = Condition(type="Ready", status="True", reason="InForce", message="it is")
GROUP = CustomObject(kind="NodeGroup", name="a", namespace="prod", uid="u", resource_version="7", generation=3)
PATH = "/apis/reconciler.dev/v1alpha1/namespaces/prod/nodegroups/a/status"


class Server:
    """Keeps what is applied; `fails` is the answer to all of it."""

    def __init__(self) -> None:
        self.applied: list[tuple[str, dict[str, Any]]] = []
        self.fails: Exception | None = None

    def write(
        self, method: str, path: str, body: Any, *, content_type: ContentType, query: Mapping[str, str] | None = None
    ) -> bytes:
        assert (method, content_type, query) == ("PATCH", ContentType.APPLY, {"force": "true"})
        if self.fails is not None:
            raise self.fails
        self.applied.append((path, body))
        return b"{}"


def _writer() -> tuple[Server, StatusWriter]:
    server = Server()
    return server, StatusWriter(server)  # type: ignore[arg-type]


def _status(**changes: Any) -> Status:
    return Status(
        **{"observed_generation": 3, "conditions": (READY,), "facts": {"min": 1}, "beside": {"planDigest": "d"}} | changes
    )


def _entry(time: str, status: str = "True") -> dict[str, Any]:
    told = {"type": "Ready", "status": status, "observedGeneration": 3, "lastTransitionTime": time}
    return told | {"reason": "InForce", "message": "it is"}


def test_only_the_status_is_applied() -> None:
    """Metadata says which object, and no more; a cluster-scoped one has no namespace."""
    server, writer = _writer()
    writer.round([(GROUP, _status())], "t1")
    ((path, body),) = server.applied
    assert (path, body["metadata"]) == (PATH, {"name": "a", "namespace": "prod", "uid": "u"})
    assert set(body) == {"apiVersion", "kind", "metadata", "status"}
    assert body["status"] == {"observedGeneration": 3, "conditions": [_entry("t1")], "min": 1, "planDigest": "d"}
    policy = CustomObject(kind="NodeGroupPolicy", name="prod", uid="v")
    writer.round([(policy, _status())], "t1")
    assert server.applied[1][0] == "/apis/reconciler.dev/v1alpha1/nodegrouppolicies/prod/status"
    assert server.applied[1][1]["metadata"] == {"name": "prod", "uid": "v"}
    assert (writer.writes, writer.failures) == (2, 0)


def test_what_stands_there_is_not_written_again() -> None:
    """What is beside counts for nothing; before the watch has shown our write, that write is what stands there."""
    server, writer = _writer()
    writer.round([(GROUP, _status())], "t1")
    writer.round([(GROUP, _status(beside={"planDigest": "other"}))], "t2")
    assert len(server.applied) == 1
    there = {"observedGeneration": 3, "conditions": [_entry("t0")], "min": 1, "planDigest": "old"}
    seen = {"resource_version": "8", "status": there}
    writer.round([(_of(**seen), _status())], "t2")
    assert len(server.applied) == 1
    writer.round([(_of(**seen), _status(facts={"min": 2}))], "t2")
    assert server.applied[1][1]["status"]["conditions"] == [_entry("t0")]


def _of(**changes: Any) -> CustomObject:
    fields = {name: getattr(GROUP, name) for name in GROUP.__struct_fields__}
    return CustomObject(**fields | changes)


@pytest.mark.parametrize(
    ("there", "time"),
    [
        ({"conditions": [_entry("t0", "False")]}, "t1"),  # it has changed now
        ({"conditions": [_entry("t0")], "max": 3}, "t0"),  # a field that we do not say any more
        ({"conditions": [_entry("t0") | {"message": "it was"}]}, "t0"),
        ({"conditions": "odd"}, "t1"),
        ({"conditions": ["odd"]}, "t1"),
        ("odd", "t1"),
        (None, "t1"),
    ],
)
def test_a_condition_keeps_its_time_with_its_status(there: Any, time: str) -> None:
    """Whatever somebody else has changed there."""
    if isinstance(there, dict):
        there = {"observedGeneration": 3, "min": 1} | there
    server, writer = _writer()
    writer.round([(_of(status=there), _status())], "t1")
    assert server.applied[0][1]["status"]["conditions"] == [_entry(time)]


def test_a_hundred_in_a_round() -> None:
    """The rest has its turn in the next; those that need no write take no place."""
    server, writer = _writer()
    wanted = [(_of(name=f"g{number:03}"), _status()) for number in range(150)]
    writer.round(wanted, "t1")
    assert [len(server.applied), server.applied[-1][1]["metadata"]["name"]] == [100, "g099"]
    writer.round(wanted, "t2")
    assert [len(server.applied), server.applied[-1][1]["metadata"]["name"]] == [150, "g149"]


@pytest.mark.parametrize(("others", "again"), [(110, 0), (111, 111)])
def test_how_many_written_ones_are_remembered(others: int, again: int) -> None:
    """Twice as many as there are and a hundred, here 120; above that only those that are there."""
    server, writer = _writer()
    few = [(_of(name=f"f{number}"), _status()) for number in range(10)]
    rest = [(_of(name=f"g{number}"), _status()) for number in range(others)]
    for part in (rest[:60], rest[60:], few):
        writer.round([*part, *few], "t1") if part is few else writer.round([*part, *rest], "t1")
    count = len(server.applied)
    assert count == others + 10
    writer.round(few, "t2")
    writer.round(rest, "t2")
    writer.round(rest, "t2")
    assert len(server.applied) - count == again


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", "no"), UnreachableError("cut")])
def test_a_write_that_fails_is_tried_again(error: Exception) -> None:
    """Counted, and told by the object's name."""
    server, writer = _writer()
    server.fails = error
    writer.round([(GROUP, _status())], "t1")
    assert (writer.writes, writer.failures, writer.last_failure) == (0, 1, f"NodeGroup prod/a: {error}")
    server.fails = None
    writer.round([(GROUP, _status())], "t1")
    assert (writer.writes, writer.failures) == (1, 1)


def test_a_message_at_its_bound() -> None:
    """A condition's message takes 32,768 characters."""
    server, writer = _writer()
    long = Condition(type="Ready", status="True", reason="r", message="m" * 32769)
    writer.round([(GROUP, _status(conditions=(long,)))], "t1")
    assert len(server.applied[0][1]["status"]["conditions"][0]["message"]) == 32768


def _raw(**changes: Any) -> Any:
    metadata = {"name": "prod", "uid": "u", "generation": 1, "labels": {"a": "b"}} | changes.pop("metadata", {})
    return json.dumps({"metadata": metadata, "spec": {"x": 1}, "status": {}} | changes).encode()


@pytest.mark.parametrize(
    ("changes", "news"),
    [
        ({}, False),
        ({"status": {"written": True}}, False),
        ({"metadata": {"resourceVersion": "9", "creationTimestamp": "t"}}, False),
        ({"metadata": {"generation": 2}}, True),
        ({"metadata": {"uid": "v"}}, True),
        ({"metadata": {"labels": {"a": "c"}}}, True),
        ({"spec": {"x": 2}}, True),
    ],
)
def test_what_is_news(changes: dict[str, Any], news: bool) -> None:
    """Identity, generation, labels and spec; a status that was written is none, but it is kept."""
    store = CustomStore(POLICIES)
    assert store.put(_raw())
    assert store.put(_raw(**changes)) is news
    (kept,) = store.objects.values()
    assert kept.created == ("t" if "resourceVersion" in changes.get("metadata", {}) else "")
    assert store.discard(_raw())
    assert not store.discard(_raw())


def test_a_line_stands_for_a_field() -> None:
    """The first and the last line name theirs; a line that is not there names the object."""
    text = CustomText("NodeGroup prod/a", b"", ("kind", "", "spec.size"))
    places = [text.place(Place("x", line, 4)).path for line in (0, 1, 2, 3, 4)]
    whole = "NodeGroup prod/a"
    assert places == [whole, f"{whole} kind", whole, f"{whole} spec.size", whole]
