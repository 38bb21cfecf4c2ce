"""Events on a real API server, as `kubectl describe` finds them."""

import json
from collections.abc import Iterator

import msgspec
import pytest

from reconciler.kube.connection.transport import KubernetesApi, connect
from reconciler.kube.leading.events import EventRecorder, Happening, Severity, Subject
from tests.kube.cluster import create
from tests.testbed.control_plane import ControlPlane

NAMESPACE = "kube-events"
START = 1_800_000_000.5


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[KubernetesApi]:
    api = connect(control_plane.kubeconfig)
    create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield api
    api.write("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


class Telling:
    def __init__(self, api: KubernetesApi, name: str) -> None:
        self.now = START
        self.api = api
        self.name = name
        self.recorder = EventRecorder(api, "reconciler-0", lambda: self.now)

    def happening(self, note: str = "2 pods need it", **changes: object) -> Happening:
        subject = Subject(
            api_version="cluster.x-k8s.io/v1beta2", kind="MachineDeployment", name=self.name, namespace=NAMESPACE, uid="u"
        )
        made = Happening(subject=subject, reason="ScaleUp", action="Resize", note=note)
        return msgspec.structs.replace(made, **changes)

    def tell(self, times: int = 1, every: float = 0, **changes: object) -> None:
        for _ in range(times):
            self.recorder.tell(self.happening(**changes))
            self.now += every

    def found(self) -> list[dict[str, object]]:
        path = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
        items = json.loads(self.api.get(path))["items"]
        return [item for item in items if item["regarding"]["name"] == self.name]


@pytest.fixture
def telling(api: KubernetesApi, request: pytest.FixtureRequest) -> Telling:
    return Telling(api, request.node.name.removeprefix("test_").replace("_", "-"))


def test_what_is_written(telling: Telling) -> None:
    """An Event names the object, who says it, the stable reason, the action and the sentence."""
    telling.tell()
    (event,) = telling.found()
    assert {key: event[key] for key in ("reason", "action", "note", "type", "reportingController", "reportingInstance")} == {
        "reason": "ScaleUp",
        "action": "Resize",
        "note": "2 pods need it",
        "type": "Normal",
        "reportingController": "reconciler.dev/nodegroup-reconciler",
        "reportingInstance": "reconciler-0",
    }
    assert event["eventTime"] == "2027-01-15T08:00:00.500000Z"
    assert event["regarding"]["kind"] == "MachineDeployment"


def test_repetitions_are_one_series(telling: Telling) -> None:
    """Seen by the core API, as kubectl reads it, thirty repetitions in five minutes are one Event, written twice."""
    telling.tell(30, every=10)
    (event,) = telling.found()
    assert event["series"] == {"count": 2, "lastObservedTime": "2027-01-15T08:00:10.500000Z"}
    telling.tell(20, every=10)
    (event,) = telling.found()
    assert event["series"]["count"] == 38
    telling.recorder.flush()
    (event,) = telling.found()
    assert event["series"]["count"] == 50


def test_another_sentence_is_another_event(telling: Telling) -> None:
    """Whatever differs in what is told makes an Event of its own."""
    telling.tell()
    telling.tell(note="3 pods need it")
    telling.tell(severity=Severity.WARNING)
    assert len(telling.found()) == 3


def test_after_an_hour_it_is_news_again(telling: Telling) -> None:
    """The same thing after more than an hour is a new Event, since the server has forgotten the old one."""
    telling.tell()
    telling.now += 3601
    telling.tell()
    assert len(telling.found()) == 2


def test_an_event_that_the_server_forgot(telling: Telling) -> None:
    """A series whose Event is gone begins anew with the next telling."""
    telling.tell()
    (event,) = telling.found()
    telling.api.write("DELETE", f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events/{event['metadata']['name']}")
    telling.tell(every=1)
    assert telling.recorder.failures == 1
    telling.tell()
    assert len(telling.found()) == 1


def test_long_sentences_are_cut(telling: Telling) -> None:
    """A note longer than the API's 1,024 bytes is cut between characters."""
    telling.tell(note="ä" * 1000)
    (event,) = telling.found()
    assert event["note"] == "ä" * 510 + "…"


def test_cluster_scoped_objects(telling: Telling) -> None:
    """An Event about a Node lies in the namespace `default`."""
    subject = Subject(api_version="v1", kind="Node", name=telling.name)
    telling.tell(subject=subject)
    items = json.loads(telling.api.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    assert telling.name in {item["regarding"]["name"] for item in items}


def test_failures_are_counted_not_raised(telling: Telling) -> None:
    """A namespace that is not there is counted as a failure, and the loop goes on."""
    subject = Subject(api_version="v1", kind="Pod", name="p", namespace="no-such-namespace")
    telling.tell(subject=subject)
    assert telling.recorder.failures == 1
    assert "not found" in telling.recorder.last_failure
