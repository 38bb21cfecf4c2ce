import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.testbed.api import Api, ApiError
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.proxy import Proxy


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    with Proxy(control_plane) as running:
        yield running


@pytest.fixture
def api(proxy: Proxy) -> Api:
    return Api(proxy.kubeconfig_of("behind-proxy", MASTERS))


def _ended(response: http.client.HTTPResponse) -> bool:
    """Does the answer end, by an end of file or an error, before another line?"""
    try:
        return not response.readline()
    except (OSError, http.client.HTTPException):
        return True


def test_requests_pass_with_their_user(api: Api) -> None:
    """Through the proxy the client certificate still says who asks."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["username"] == "behind-proxy"


def test_a_cut_ends_an_open_watch(api: Api, proxy: Proxy) -> None:
    """A watch that is cut ends; the next one works. It watches what is not there, so that no line comes first."""
    with closing(api.connect()) as connection:
        connection.request("GET", "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dnobody")
        with connection.getresponse() as response:
            assert proxy.cut() == 1
            assert _ended(response)
    assert api.ready()


def test_half_open_never_answers_and_recovers(api: Api, proxy: Proxy) -> None:
    """Half open, a request runs into its own time-out; let through again, the next one is answered."""
    connection = api.connect()
    connection.connect()
    proxy.set("HalfOpen")
    connection.sock.settimeout(0.3)
    connection.request("GET", "/version")
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    proxy.set("Through")
    assert api.ready()


def test_refused_lets_nobody_in(api: Api, proxy: Proxy) -> None:
    """Refused, a new connection ends before an answer."""
    proxy.set("Refused")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        api.get("/version")


def test_too_many_requests_is_answered_as_the_server_does(api: Api, proxy: Proxy) -> None:
    """429 with a Status body."""
    proxy.set("TooManyRequests")
    with pytest.raises(ApiError) as refused:
        api.get("/version")
    assert (refused.value.status, refused.value.body["reason"]) == (429, "TooManyRequests")


def test_a_delayed_answer_comes_when_the_delay_ends(api: Api, proxy: Proxy) -> None:
    """With a delay an answer does not come in time; without it, it does."""
    proxy.delay(3600)
    connection = api.connect(seconds=0.3)
    with pytest.raises(TimeoutError):
        connection.request("GET", "/version")
    connection.close()
    proxy.delay(0)
    assert api.ready()
