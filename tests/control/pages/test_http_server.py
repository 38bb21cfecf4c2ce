"""The pages answer to those who may ask, and to nobody else; hostile requests cost little."""

import hashlib
import http.client
import io
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from reconciler.control.log import Log
from reconciler.control.pages import http_server
from reconciler.control.pages.http_server import HttpServer
from reconciler.control.pages.page_faults import PageFaults
from reconciler.control.pages.route import Answer, Broken, Request, Route
from reconciler.control.turn.figures import Figures
from reconciler.kube.connection.token_review import Refusal


@contextmanager
def serving(*routes: Route, refusal: Refusal | None = None, broken: Broken = lambda *_: None) -> Iterator[int]:
    server = HttpServer(("127.0.0.1", 0), routes, lambda _: refusal, broken)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


def ask(port: int, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def echo(request: Request) -> Answer:
    return Answer(body=request.path.encode() + b" " + request.body)


def test_a_route_answers_its_path_only():
    """A path is met whole; one that ends with a slash also below it."""
    with serving(Route(method="GET", path="/a", answer=echo), Route(method="GET", path="/b/", answer=echo)) as port:
        assert ask(port, "/a?x=1") == (200, b"/a ")
        assert ask(port, "/a/b")[0] == 404
        assert ask(port, "/b/pod/ns%2Fname") == (200, b"/b/pod/ns/name ")


def test_another_method_is_refused():
    """405, not 404: the page is there."""
    with serving(Route(method="POST", path="/hook", answer=echo, max_body_bytes=64)) as port:
        assert ask(port, "/hook")[0] == 405
        assert ask(port, "/hook", "POST", b"body") == (200, b"/hook body")


@pytest.mark.parametrize("refusal", [Refusal(401, "who are you?"), Refusal(403, "ada may not"), Refusal(503, "nobody can say")])
def test_details_need_admission_and_open_pages_do_not(refusal: Refusal):
    """Who is refused learns why."""
    routes = (Route(method="GET", path="/open", answer=echo), Route(method="GET", path="/plan", answer=echo, details=True))
    with serving(*routes, refusal=refusal) as port:
        assert ask(port, "/open")[0] == 200
        assert ask(port, "/plan") == (refusal.status, f"{refusal.message}\n".encode())


def failing(_: Request) -> Answer:
    raise ValueError("secret")


def test_what_breaks_inside_is_told_to_the_log_and_not_to_the_asker():
    """A message may name objects of the cluster. The log has it once however often it is asked for, the count has every time."""
    said, figures = io.StringIO(), Figures()
    faults = PageFaults(Log(said, lambda: 1795262400), figures.page_failed)
    with serving(Route(method="POST", path="/below/", answer=failing, max_body_bytes=64), broken=faults) as port:
        answers = [ask(port, "/below/it", "POST", b"body") for _ in range(2)]
    assert {status for status, _ in answers} == {500}
    assert b"secret" not in b"".join(body for _, body in answers)
    (line,) = [json.loads(text) for text in said.getvalue().splitlines()]
    assert (line["level"], line["code"], line["path"]) == ("error", "PageFailed", "/below/")
    assert line["message"] == "/below/ could not be made: ValueError: secret"
    assert line["where"].startswith("failing:")
    assert line["inputs"] == "sha256:" + hashlib.sha256(b"POST\0/below/it\0body").hexdigest()[:12]
    assert figures.seen().failed_pages == (("/below/", 2),)


def test_a_log_that_breaks_leaves_the_answer():
    """The asker gets its 500 and the connection goes on."""

    def no_log(*_: object) -> None:
        raise OSError("disk full")

    with serving(Route(method="GET", path="/", answer=failing), broken=no_log) as port:
        assert ask(port, "/")[0] == 500


def test_a_body_that_says_to_be_huge_is_not_read():
    """413 before a byte of it was sent."""
    route = Route(method="POST", path="/", answer=echo, max_body_bytes=64)
    with serving(route) as port, socket.create_connection(("127.0.0.1", port), 10) as one:
        one.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 413")


def test_a_body_without_length_is_refused():
    """Chunks have no end that could be checked beforehand."""
    route = Route(method="POST", path="/", answer=echo, max_body_bytes=64)
    with serving(route) as port, socket.create_connection(("127.0.0.1", port), 10) as one:
        one.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 413")


def test_other_pages_from_the_next_request_on():
    """The port is open before the pages are known."""
    server = HttpServer(("127.0.0.1", 0), (Route(method="GET", path="/a", answer=echo),), lambda _: None, lambda *_: None)
    server.start()
    try:
        assert ask(server.port, "/a")[0] == 200
        refusal = Refusal(403, "ada may not")
        server.show((Route(method="GET", path="/b", answer=echo, details=True),), lambda _: refusal, lambda *_: None)
        assert [ask(server.port, path)[0] for path in ("/a", "/b")] == [404, 403]
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("host", "both", "families"),
    [
        ("127.0.0.1", True, [(socket.AF_INET, False)]),
        ("::1", True, [(socket.AF_INET6, False)]),
        ("", True, [(socket.AF_INET6, True)]),
        ("", False, [(socket.AF_INET, False)]),
    ],
)
def test_which_addresses_are_listened_on(host: str, both: bool, families: list[object], monkeypatch: pytest.MonkeyPatch):
    """The one that is named; every one of both families where none is, and of one where the other is not there."""
    asked = []

    class Listening:
        def settimeout(self, seconds: float) -> None:
            asked.append(seconds)

    def create(address: tuple[str, int], *, family: int, backlog: int, dualstack_ipv6: bool) -> Listening:
        assert (address, backlog > 0) == ((host, 8080), True)
        asked.append((family, dualstack_ipv6))
        return Listening()

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: both)
    monkeypatch.setattr(socket, "create_server", create)
    http_server._listening((host, 8080))
    assert asked == [*families, 0]


@pytest.mark.parametrize("host", ["", "::1"])
def test_a_kernel_without_ipv6(host: str, monkeypatch: pytest.MonkeyPatch):
    """Where no address is named the other family is enough; one that is named is an error."""
    asked = []

    class Listening:
        def settimeout(self, seconds: float) -> None:
            pass

    def create(address: tuple[str, int], **fields: object) -> Listening:
        asked.append(fields.get("family", socket.AF_INET))
        if asked[-1] == socket.AF_INET6:
            raise OSError("no such family")
        return Listening()

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: True)
    monkeypatch.setattr(socket, "create_server", create)
    if host:
        with pytest.raises(OSError, match="no such family"):
            http_server._listening((host, 8080))
    else:
        http_server._listening((host, 8080))
    assert asked == [socket.AF_INET6] + [socket.AF_INET] * (not host)


def test_who_stops_waits_for_no_page():
    """Four pages are made at a time: those are left to end by themselves, and those that wait are not begun."""
    begun, go_on = threading.Semaphore(0), threading.Event()
    seen, in_time = [], []

    def slow(request: Request) -> Answer:
        seen.append(request.path)
        begun.release()
        in_time.append(go_on.wait(20))
        return echo(request)

    server = HttpServer(("127.0.0.1", 0), (Route(method="GET", path="/slow", answer=slow),), lambda _: None, pytest.fail)
    server.start()
    with ExitStack() as left:
        for _ in range(6):
            one = left.enter_context(socket.create_connection(("127.0.0.1", server.port), 60))
            one.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        for _ in range(4):
            assert begun.acquire(timeout=60)
        assert not begun.acquire(timeout=0.2)
        server.stop()
        assert in_time == []
        go_on.set()
        assert not begun.acquire(timeout=0.2)
    assert len(seen) == 4


def test_a_process_ends_beside_its_server():
    """A program that fails elsewhere does not hang since its port is open: the thread is none that is waited for."""
    with serving():
        assert [thread.daemon for thread in threading.enumerate() if thread.name == "http"] == [True]
