"""One request and one answer, byte by byte: what a page is given to judge, what goes back, and how long all of it may take."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reconciler.control.pages.http_connection import Limits
from reconciler.control.pages.http_server import HttpServer
from reconciler.control.pages.page_certificate import Certificate
from reconciler.control.pages.route import HTML, JSON, Admission, Answer, Request, Route
from reconciler.kube.connection.token_review import Refusal

PATIENCE_SECONDS = 60


class Seen:
    """Routes that keep what they were asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer = Answer(body=b"found\n")
        self.go_on = threading.Event()
        self.routes = (
            Route(method="GET", path="/page", answer=self._page),
            Route(method="POST", path="/hook", answer=self._page, max_body_bytes=8),
            Route(method="GET", path="/slow", answer=self._slow),
            Route(method="GET", path="/judged", answer=self._page, details=True),
        )

    def _page(self, request: Request) -> Answer:
        self.requests.append(request)
        return self.answer

    def _slow(self, request: Request) -> Answer:
        self.go_on.wait(PATIENCE_SECONDS)
        return self.answer


@contextmanager
def serving(
    seen: Seen,
    admission: Admission = lambda _: None,
    *,
    limits: Limits | None = None,
    certificate: Certificate | None = None,
    host: str = "127.0.0.1",
) -> Iterator[int]:
    server = HttpServer((host, 0), seen.routes, admission, pytest.fail, limits=limits, certificate=certificate)
    server.start()
    try:
        yield server.port
    finally:
        seen.go_on.set()
        server.stop()


def told(port: int, *parts: bytes, host: str = "127.0.0.1") -> tuple[str, dict[str, str], bytes]:
    """The first line, the headers and the body of what comes back until the connection ends."""
    with socket.create_connection((host, port), PATIENCE_SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        whole = connection.makefile("rb").read()
    head, _, body = whole.partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    return line, {name.lower(): value for name, _, value in (header.partition(": ") for header in headers)}, body


def request(line: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join((f"{line} HTTP/1.1", "Host: here", *headers, "", "")).encode() + body


@pytest.mark.parametrize("kind", ["", JSON, HTML])
def test_an_answer_is_whole_and_kept_by_nobody(kind: str) -> None:
    """Its kind and length are said, no browser guesses another kind, and the connection ends with it."""
    seen = Seen()
    seen.answer = Answer(body=b"found\n", content_type=kind) if kind else Answer(body=b"found\n")
    with serving(seen) as port:
        line, headers, body = told(port, request("GET /page"))
    assert (line, body) == ("HTTP/1.1 200 OK", b"found\n")
    assert headers == {
        "content-type": kind or "text/plain; charset=utf-8", "content-length": "6", "cache-control": "no-store",
        "x-content-type-options": "nosniff", "connection": "close",
    }  # fmt: skip


def test_the_head_of_a_page_is_asked_for_alone() -> None:
    """As the page itself, without its body."""
    seen = Seen()
    with serving(seen) as port:
        line, headers, body = told(port, request("HEAD /page"))
    assert (line, headers["content-length"], body) == ("HTTP/1.1 200 OK", "6", b"")
    assert [one.method for one in seen.requests] == ["GET"]


def test_what_a_page_is_given() -> None:
    """Path unescaped, query as it was sent, header names in lower case, both ends, and the body in whatever pieces it came."""
    seen = Seen()
    with serving(seen) as port:
        told(port, request("POST /hook?a=%20b", "X-Some: Value", "Content-Length: 6", body=b"abc"), b"def")
        told(port, request("GET /p%61ge"))
    posted, got = seen.requests
    assert posted == Request(
        method="POST", path="/hook", query="a=%20b", body=b"abcdef", peer="127.0.0.1", local="127.0.0.1", secure=False,
        headers={"host": "here", "x-some": "Value", "content-length": "6"},
    )  # fmt: skip
    assert (got.method, got.path, got.query, got.body) == ("GET", "/page", "", b"")


@pytest.mark.parametrize(
    ("sent", "line", "body"),
    [
        (request("GET /nowhere"), "HTTP/1.1 404 Not Found", b"no such page\n"),
        (request("DELETE /page"), "HTTP/1.1 405 Method Not Allowed", b"no such method here\n"),
        (
            request("POST /hook", "Content-Length: 9", body=b"123456789"),
            "HTTP/1.1 413",
            b"the body is too large or its length is",
        ),
        (request("POST /hook", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"), "HTTP/1.1 413", b"the body is too large"),
        (request("POST /hook", "Content-Length: nine"), "HTTP/1.1 400 Bad Request", b"no request that is understood here\n"),
        (b"GET //[ HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request", b"no request that is understood here\n"),
        (request("GET /page", "X: " + "a" * 60_000), "HTTP/1.1 431", b"no request that is understood here\n"),
        (request("POST /hook", "Content-Length: 8", body=b"12345678"), "HTTP/1.1 200 OK", b"found\n"),
    ],
)
def test_what_is_not_answered_by_a_page(sent: bytes, line: str, body: bytes) -> None:
    """By a status that says whose fault it is; a body as long as the route takes is no fault."""
    with serving(Seen()) as port:
        found, headers, said = told(port, sent)
    assert (found.startswith(line), said.startswith(body), "www-authenticate" in headers) == (True, True, False)


@pytest.mark.parametrize(("status", "asks"), [(401, "Bearer"), (403, None), (503, None)])
def test_who_is_refused_learns_why(status: int, asks: str | None) -> None:
    """One that is unknown learns also how to say who it is (RFC 9110, 11.6.1)."""
    with serving(Seen(), lambda _: Refusal(status, "who are you?")) as port:
        line, headers, body = told(port, request("GET /judged"))
    assert (line.split()[1], headers.get("www-authenticate"), body) == (str(status), asks, b"who are you?\n")


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with serving(Seen(), limits=Limits(body_seconds=0.05)) as port:
        line, _, body = told(port, request("POST /hook", "Content-Length: 4", body=b"ab"))
    assert (line, body) == ("HTTP/1.1 408 Request Timeout", b"the body did not arrive in time\n")


def test_a_page_that_takes_too_long_is_given_up() -> None:
    with serving(Seen(), limits=Limits(answer_seconds=0.05)) as port:
        line, _, body = told(port, request("GET /slow"))
    assert (line, body) == ("HTTP/1.1 503 Service Unavailable", b"this page takes too long\n")


def test_a_request_that_does_not_come_has_no_answer() -> None:
    """Neither a head that never ends, nor all of it together, however the single times are."""
    for limits in (Limits(head_seconds=0.05), Limits(total_seconds=0.05)):
        with serving(Seen(), limits=limits) as port:
            assert told(port, b"GET /page HTTP/1.1\r\n") == ("", {}, b"")


def test_bounds_where_nobody_sets_others() -> None:
    """Places for some hundred clients; a head of 16 KiB within five seconds; two minutes to make a page, three for all."""
    limits = Limits()
    assert (limits.connections, limits.grace_seconds) == (256, 0.5)
    assert (limits.head_bytes, limits.head_seconds, limits.body_seconds) == (16 << 10, 5, 10)
    assert (limits.answer_seconds, limits.total_seconds) == (120, 180)
    assert limits.total_seconds > limits.head_seconds + limits.answer_seconds


@pytest.mark.parametrize("host", ["", "::1"])
def test_both_kinds_of_addresses(host: str) -> None:
    """No host is all of IPv4 and IPv6."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("this kernel has no IPv6")
    seen = Seen()
    with serving(seen, host=host) as port:
        told(port, request("GET /page"), host="::1")
        if not host:
            told(port, request("GET /page"))
    assert [one.local for one in seen.requests] == (["::1"] if host else ["::1", "::ffff:127.0.0.1"])


def test_a_server_that_has_stopped_listens_no_more() -> None:
    """And gives its port back at once."""
    seen = Seen()
    with serving(seen) as port:
        pass
    with pytest.raises(ConnectionRefusedError):
        told(port, request("GET /page"))
    again = HttpServer(("127.0.0.1", port), seen.routes, lambda _: None, pytest.fail)
    again.start()
    assert again.port == port
    again.stop()
