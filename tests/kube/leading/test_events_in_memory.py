"""What test_events.py asks of a real API server, asked of the one in memory: quick enough to be asked after every change."""

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.events import Happening, Subject
from tests.kube.api_server import FakeApiServer, asked
from tests.kube.leading import test_events

globals().update(asked(test_events))
telling = test_events.telling


@pytest.fixture
def api() -> FakeApiServer:
    return FakeApiServer()


def _writes(telling: test_events.Telling) -> list[tuple[str, object]]:
    return [(method, body.get("series", {}).get("count")) for method, _, body in telling.api.sent]


def test_a_series_is_written_every_six_minutes(telling: test_events.Telling) -> None:
    """With its second member, not a second before 360 s after that, and then with all that were told."""
    telling.tell(2)
    assert _writes(telling) == [("POST", None), ("PATCH", 2)]
    telling.now += 359
    telling.tell()
    assert len(telling.api.sent) == 2
    telling.now += 1
    telling.tell()
    assert _writes(telling)[2:] == [("PATCH", 4)]
    telling.recorder.flush()
    assert len(telling.api.sent) == 3
    telling.tell()
    telling.recorder.flush()
    assert _writes(telling)[3:] == [("PATCH", 5)]


def test_events_of_what_has_no_namespace_lie_in_default(telling: test_events.Telling) -> None:
    """The first one and the count of its series, as the API server asks for."""
    node = Subject(api_version="v1", kind="Node", name="n1", namespace="", uid="u")
    telling.tell(2, subject=node)
    paths = [path.rpartition("/events")[0] for _, path, _ in telling.api.sent]
    assert [path.rpartition("/")[2] for path in paths if path] == ["default", "default"]


def test_an_hour_to_the_second_is_the_same_series(telling: test_events.Telling) -> None:
    """3600 s after it was last told it is known still."""
    telling.tell()
    telling.now += 3600
    telling.tell()
    assert [method for method, _ in _writes(telling)] == ["POST", "PATCH"]


@pytest.mark.parametrize("error", [ApiError(503, "", "busy"), UnreachableError("cut")])
def test_a_failed_count_is_written_with_the_next(telling: test_events.Telling, error: Exception) -> None:
    """Only an Event that is gone begins anew: what was not written is counted on, by `flush` too, which raises nothing."""
    telling.tell()
    (event,) = telling.found()
    path = f"/apis/events.k8s.io/v1/namespaces/{test_events.NAMESPACE}/events/{event['metadata']['name']}"
    telling.api.refused[path] = error
    telling.tell()
    telling.recorder.flush()
    assert (telling.recorder.failures, telling.recorder.last_failure) == (2, str(error))
    telling.api.refused.clear()
    telling.tell()
    (event,) = telling.found()
    assert event["series"]["count"] == 3


def test_notes_and_names_at_their_bounds(telling: test_events.Telling) -> None:
    """A note takes 1,024 bytes, a word 128, a name 253 with a dot and 16 digits: what fits is not cut."""
    telling.tell(note="a" * 1024, reason="r" * 128, action="c" * 128)
    telling.tell(note="a" * 1025, reason="r" * 129, action="c" * 129)
    assert {(event["note"], event["reason"], event["action"]) for event in telling.found()} == {
        ("a" * 1024, "r" * 128, "c" * 128),
        ("a" * 1021 + "…", "r" * 128, "c" * 128),
    }
    subject = Subject(api_version="v1", kind="Node", name="n" * 253)
    telling.recorder.tell(Happening(subject=subject, reason="r", action="a", note=""))
    name = telling.api.sent[-1][2]["metadata"]["name"]
    assert len(name) == 253
    assert name.startswith("n" * 236 + ".")


def test_an_empty_field_is_left_out(telling: test_events.Telling) -> None:
    """A reference has no field that says nothing."""
    telling.recorder.tell(Happening(subject=Subject(api_version="v1", kind="Node", name="n"), reason="r", action="a", note=""))
    assert telling.api.sent[-1][2]["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n"}


def test_what_was_told_longest_ago_is_forgotten(telling: test_events.Telling) -> None:
    """Above 5,000 series the latest 2,500 are kept; below, and at the bound, none is forgotten."""
    for number in range(5000):
        telling.recorder.tell(telling.happening(note=str(number)))
        telling.now += 0.01
    notes = ("0", "new", "0", "4999", "2502", "2501", "1")
    made = []
    for note in notes:
        before = len(telling.api.sent)
        telling.recorder.tell(telling.happening(note=note))
        made.append([method for method, _, _ in telling.api.sent[before:]] == ["POST"])
    assert dict(zip(notes, made, strict=True)) == {
        "0": False, "new": True, "4999": False, "2502": False, "2501": True, "1": True
    }  # fmt: skip
