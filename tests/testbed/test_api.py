import http.client
import json
from http.server import BaseHTTPRequestHandler
from typing import cast

import pytest

from tests.kube.local_server import LocalServer, answer
from tests.testbed.api import Api, ApiError, Object

MOVED = (409, 'Operation cannot be fulfilled on machines "m": the object has been modified; please apply your changes')
OWNED = (409, 'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas')
LATE = (500, 'Internal error occurred: failed calling webhook "a.b": Post "https://c": context deadline exceeded')
AWAY = (500, 'Internal error occurred: failed calling webhook "a.b": Post "https://c": connect: connection refused')
FILLING = (429, "storage is (re)initializing")
BUDGET = (429, "Cannot evict pod as it would violate the pod's disruption budget.")


class Plain(Api):
    """Without TLS, to a server that behaves as told."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server

    def connect(self, seconds: float = 30) -> http.client.HTTPSConnection:
        plain = http.client.HTTPConnection(self.server.url.removeprefix("http://"), timeout=seconds)
        return cast("http.client.HTTPSConnection", plain)


def _refusing(refusal: tuple[int, str], times: int) -> LocalServer:
    """Refuses so many requests and grants the others."""

    def behave(request: BaseHTTPRequestHandler, body: bytes) -> None:
        status, message = refusal if len(server.requests) <= times else (200, "done")
        answer(request, status, json.dumps({"message": message}).encode())

    server = LocalServer(behave)
    return server


@pytest.mark.parametrize("refusal", [MOVED, LATE, FILLING])
def test_what_passes_by_itself_is_sent_again(refusal: tuple[int, str]) -> None:
    """A write that names no version and met another, a late webhook, a server that fills its cache: granted the third time."""
    with _refusing(refusal, 2).running() as server:
        assert Plain(server).call("PATCH", "/m", {"spec": {}})["message"] == "done"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("refusal", "body"),
    [(MOVED, {"metadata": {"resourceVersion": "7"}}), (OWNED, {"spec": {}}), (AWAY, {"spec": {}}), (BUDGET, {})],
)
def test_what_a_test_may_ask_for_is_told_at_once(refusal: tuple[int, str], body: Object) -> None:
    """A version that moved, another owner, a webhook that is away, a disruption budget: one request, and its error."""
    with _refusing(refusal, 99).running() as server, pytest.raises(ApiError) as refused:
        Plain(server).call("PATCH", "/m", body)
    assert (refused.value.status, len(server.requests)) == (refusal[0], 1)


def test_it_is_not_sent_for_ever() -> None:
    """What does not pass is told in the end."""
    with _refusing(MOVED, 99).running() as server, pytest.raises(ApiError, match="modified"):
        Plain(server).call("DELETE", "/m", {})
    assert len(server.requests) < 99
