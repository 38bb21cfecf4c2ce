"""The proxy that says 410, as a client sees it."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from tests.testbed.api import Api, ApiError
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.gone import Gone, How

NODES = "/api/v1/nodes"


@pytest.fixture
def gone(control_plane: ControlPlane) -> Iterator[Gone]:
    with Gone(control_plane) as running:
        yield running


@pytest.fixture
def api(gone: Gone, control_plane: ControlPlane) -> Api:
    return Api(control_plane.kubeconfig_of("behind-gone", MASTERS, server=gone.url))


def test_requests_pass_with_their_user_and_body(api: Api) -> None:
    """The API server sees who asks, by the certificate that the client has shown."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    who = api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)["status"]["userInfo"]
    assert (who["username"], MASTERS in who["groups"]) == ("behind-gone", True)


@pytest.mark.parametrize("how", ["Answer", "Event"])
def test_one_watch_is_told_once(api: Api, gone: Gone, how: How) -> None:
    """The watch of the collection is cut, the next one gets 410, others and later ones go through."""
    version = api.get(NODES)["metadata"]["resourceVersion"]
    watch = f"{NODES}?watch=true&resourceVersion={version}&timeoutSeconds=1"
    with closing(api.connect()) as connection:
        connection.request("GET", f"{NODES}?watch=true&resourceVersion={version}")
        answer = connection.getresponse()
        gone.expire(NODES, how)
        _read_to_its_end(answer)
    assert api.get("/api/v1/pods?watch=true&timeoutSeconds=1&resourceVersion=0") is not None
    if how == "Answer":
        with pytest.raises(ApiError) as refused:
            api.get(watch)
        assert (refused.value.status, refused.value.body["reason"]) == (410, "Expired")
    else:
        event = api.get(watch)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert gone.answered == 1
    with closing(api.connect()) as connection:
        connection.request("GET", watch)
        assert connection.getresponse().status == 200


def test_a_collection_is_not_read_whole_while_it_is_held(api: Api, gone: Gone) -> None:
    """Held, a watch that begins with everything gets no answer; let go, it gets one. A plain list is answered all the time."""
    whole = f"{NODES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    gone.hold(NODES)
    assert api.get(NODES)["kind"] == "NodeList"
    with closing(api.connect()) as connection:
        connection.connect()
        connection.sock.settimeout(0.3)
        connection.request("GET", whole)
        with pytest.raises(TimeoutError):
            connection.getresponse()
    gone.hold("")
    with closing(api.connect()) as connection:
        connection.request("GET", whole)
        answer = connection.getresponse()
        found = {json.loads(line)["type"] for line in iter(lambda: _until_bookmark(answer), b"")}
    assert found <= {"ADDED", "BOOKMARK"}


def _read_to_its_end(answer: http.client.HTTPResponse) -> None:
    """A watch that is cut ends by an error or an end of file."""
    with suppress(OSError, http.client.HTTPException):
        while answer.readline():
            continue


def _until_bookmark(answer: http.client.HTTPResponse) -> bytes:
    line = answer.readline()
    return b"" if b'"BOOKMARK"' in line else line
