"""A neighbour on the network: reaches the port, holds no token, or one that is not for us."""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from reconciler.cli.inputs import running_loop
from reconciler.cli.outputs.failure import InputError
from reconciler.control.pages.http_connection import Limits
from reconciler.control.pages.http_server import HttpServer
from reconciler.control.pages.page_access import admission, from_loopback
from reconciler.control.pages.page_certificate import Certificate, CertificateError
from reconciler.control.pages.route import Answer, Request, Route
from reconciler.kube.connection.token_judge import PEER_BURST, REMEMBERED_SECONDS, TOTAL_BURST, TokenJudge
from reconciler.kube.connection.token_review import Refusal
from tests.security.hostile import Crowd, silent
from tests.testbed.certificates import Authority

PATIENCE_SECONDS = 60


def echo(request: Request) -> Answer:
    return Answer(body=request.path.encode() + b" " + request.body)


OPEN = Route(method="GET", path="/healthz", answer=echo)
PLAN = Route(method="GET", path="/plan", answer=echo, details=True)
HOOK = Route(method="POST", path="/webhook", answer=echo, max_body_bytes=1024)
SECRET_HOOK = Route(method="POST", path="/secret", answer=echo, max_body_bytes=1024, details=True)
ROUTES = (OPEN, PLAN, HOOK, SECRET_HOOK)


@contextmanager
def serving(
    admitted: Callable[[Request], Refusal | None] = lambda _: Refusal(401, "no"),
    *,
    certificate: Certificate | None = None,
    limits: Limits | None = None,
    host: str = "127.0.0.1",
) -> Iterator[int]:
    server = HttpServer((host, 0), ROUTES, admitted, pytest.fail, certificate=certificate, limits=limits)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as one:
        yield one


def ask(port: int, path: str, source: str = "127.0.0.1", **headers: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, PATIENCE_SECONDS, source_address=(source, 0))) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize(("request_line", "status"), [
    ("POST /nowhere", 404), ("POST /plan", 405), ("POST /secret", 401), ("GET /plan", 413),
])  # fmt: skip
def test_nothing_is_read_before_it_is_known_to_be_wanted(request_line: str, status: int):
    """The body was announced and never sent: the answer comes all the same, from the route or from who may ask."""
    with serving() as port, connected(port) as one:
        one.sendall(f"{request_line} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode())
        assert one.recv(100).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_body_is_asked_for_when_it_is_wanted():
    """A client that waits to be asked (curl does, for long bodies) sends nothing to those who refuse."""
    with serving() as port, connected(port) as one:
        one.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 100 ")
        one.sendall(b"ok")
        assert one.makefile("rb").read().endswith(b"/webhook ok")


@pytest.mark.parametrize("start", [
    b"GET /healthz HTTP/1.1\r\nX: ", b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
])  # fmt: skip
def test_time_counts_from_the_first_byte(start: bytes):
    """A byte now and then never lets one read take long; the whole must end nevertheless."""
    with serving(limits=Limits(head_seconds=0.5, body_seconds=0.5)) as port, connected(port) as one:
        one.sendall(start)
        with suppress(ConnectionResetError, BrokenPipeError):
            for _ in range(600):
                one.sendall(b"a")
                time.sleep(0.05)
            pytest.fail("it takes bytes without end")


@pytest.mark.parametrize("junk", [
    b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET //[ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n",
    b"G\x00T / HTTP/1.1\r\nHost: x\r\n\r\n",
])  # fmt: skip
def test_what_is_no_request(junk: bytes):
    """Answered by an error or not at all, and the next one is served."""
    with serving() as port:
        with connected(port) as one:
            one.sendall(junk)
            assert one.recv(100)[:10] in (b"", b"HTTP/1.1 4")
        assert ask(port, "/healthz")[0] == 200


def test_connections_are_bounded_and_the_oldest_unfinished_one_makes_room():
    """Silent ones take every place; whoever comes with a request is served before any of their time limits ends."""
    limits = Limits(connections=64, head_seconds=3600, total_seconds=3600)
    with serving(limits=limits) as port, Crowd((port,), 150, (silent,)):
        assert [ask(port, "/healthz")[0] for _ in range(5)] == [200] * 5


def test_whoever_came_first_has_a_moment_to_send():
    """The only place is taken by one that has not sent yet: who comes then waits, and both are answered."""
    limits = Limits(connections=1, head_seconds=3600, total_seconds=3600, grace_seconds=3600)
    with serving(limits=limits) as port, connected(port) as first, connected(port) as second:
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        second.settimeout(0.2)
        with pytest.raises(TimeoutError):
            second.recv(12)
        second.settimeout(PATIENCE_SECONDS)
        first.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert [one.recv(12) for one in (first, second)] == [b"HTTP/1.1 200"] * 2


def test_pages_that_are_being_made_are_not_thrown_out():
    """A connection whose request has arrived keeps its place; who comes then is turned away."""
    made = []

    def slow(request: Request) -> Answer:
        with connected(port) as other:
            made.append(other.recv(10))
        return echo(request)

    server = HttpServer(
        ("127.0.0.1", 0), (Route(method="GET", path="/slow", answer=slow),), lambda _: None, pytest.fail,
        limits=Limits(connections=1, head_seconds=3600, total_seconds=3600),
    )  # fmt: skip
    server.start()
    port = server.port
    try:
        assert ask(port, "/slow")[0] == 200
    finally:
        server.stop()
    assert made == [b""]


@pytest.mark.parametrize(("peer", "local", "host", "header", "trusted"), [
    ("127.0.0.1", "127.0.0.1", "localhost:8080", "", True),
    ("::1", "::1", "[::1]:8080", "", True),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1", "localhost", "", True),
    ("127.0.0.6", "10.0.0.9", "localhost", "", False),
    ("127.0.0.6", "127.0.0.1", "localhost", "", False),
    ("127.0.0.1", "10.0.0.9", "localhost", "", False),
    ("10.0.0.7", "10.0.0.9", "localhost", "", False),
    ("127.0.0.1", "127.0.0.1", "rebound.example:8080", "", False),
    ("127.0.0.1", "127.0.0.1", "", "", False),
    ("127.0.0.1", "127.0.0.1", "[", "", False),
    *(("127.0.0.1", "127.0.0.1", "localhost", header, False) for header in (
        "forwarded", "via", "x-forwarded-for", "x-forwarded-client-cert", "x-real-ip", "x-envoy-peer-metadata", "x-request-id",
        "l5d-client-id", "traceparent",
    )),
])  # fmt: skip
def test_who_counts_as_this_machine(peer: str, local: str, host: str, header: str, *, trusted: bool):
    """A mesh speaks from 127.0.0.6 or to the pod's own address, a page whose name was rebound names itself."""
    headers = {"host": host} | ({header: "1"} if header else {})
    request = Request(method="GET", path="/plan", headers=headers, peer=peer, local=local)
    assert from_loopback(request) is trusted


class Judging:
    """An API server that knows one token, and counts how often it is asked."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self.good, self.allowed = "good", True

    def write(self, _method: str, path: str, body: dict[str, dict[str, object]]) -> bytes:
        if path.endswith("tokenreviews"):
            token = str(body["spec"]["token"])
            self.asked.append(token)
            return b'{"status":{"authenticated":true,"user":{"username":"ada"}}}' if token == self.good else b"{}"
        return b'{"status":{"allowed":true}}' if self.allowed else b"{}"

    def judge(self) -> TokenJudge:
        return TokenJudge(self, lambda: self.now)


def test_a_token_in_the_clear_goes_nowhere():
    """Off loopback, without TLS: refused with a word to whoever sent it, and the API server never hears of it."""
    api = Judging()
    with serving(admission(api.judge())) as port:
        # 127.0.0.6 is where a mesh's proxy speaks from: loopback, and not this machine's own doing.
        status, said = ask(port, "/plan", "127.0.0.6", Authorization="Bearer good")
        assert (status, api.asked) == (403, [])
        assert b"over TLS only" in said
        assert ask(port, "/plan", "127.0.0.6")[0] == 401
        assert ask(port, "/plan", "127.0.0.1")[0] == 200
        assert ask(port, "/plan", "127.0.0.1", Host="rebound.example")[0] == 401
        assert ask(port, "/plan", "127.0.0.1", Host="rebound.example", Authorization="Bearer good")[0] == 200


def test_tokens_are_judged_once_in_a_while():
    """The answer counts for ten seconds, good or bad, for the path that was asked."""
    api = Judging()
    judge = api.judge()
    for _ in range(3):
        assert judge.refusal("good", "/plan", "10.0.0.1") is None
        assert judge.refusal("bad", "/plan", "10.0.0.1") == Refusal(401, "invalid token")
    assert api.asked == ["good", "bad"]
    api.good, api.now = "", REMEMBERED_SECONDS
    assert judge.refusal("good", "/plan", "10.0.0.1") == Refusal(401, "invalid token")


def test_strangers_make_us_ask_seldom_and_shut_nobody_out():
    """Made-up tokens are counted for each peer and for all together; one that was good lately is asked about nevertheless."""
    api = Judging()
    judge = api.judge()
    assert judge.refusal("good", "/plan", "10.0.0.1") is None
    found = [judge.refusal(f"bad-{number}", "/plan", "10.0.0.2") for number in range(100)]
    assert [refusal.status for refusal in found if refusal is not None].count(401) == PEER_BURST
    assert found[-1] is not None
    assert found[-1].status == 429
    for number in range(500):
        judge.refusal(f"more-{number}", "/plan", f"10.0.1.{number % 250}")
    assert len(api.asked) == TOTAL_BURST
    assert judge.refusal("good", "/", "10.0.0.2") is None


def test_a_tenant_with_a_token_of_its_own_is_a_stranger():
    """Every pod has a valid token: one that may see nothing does not lift the limit."""
    api = Judging()
    api.allowed = False
    judge = api.judge()
    found = [judge.refusal("good", f"/explain/pod/{number}", "10.0.0.2") for number in range(100)]
    assert [refusal.status for refusal in found if refusal is not None].count(403) == PEER_BURST


def over_tls(port: int, authority: Authority, path: str = "/plan", **headers: str) -> tuple[int, str]:
    """Status, and the name in the certificate that was shown."""
    trust = ssl.create_default_context(cafile=str(authority.certificate))
    with closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS, context=trust)) as connection:
        connection.request("GET", path, headers=headers)
        shown = connection.sock.getpeercert() or {}
        names = dict(pair for part in shown["subject"] for pair in part)
        return connection.getresponse().status, names["commonName"]


def mounted(directory: Path, authority: Authority, name: str) -> None:
    """As the kubelet renews a Secret: a new directory, then the link is turned over."""
    chain, key = authority.server(name)
    made = directory / f"..{name}"
    made.mkdir(parents=True)
    (made / "tls.crt").write_bytes(chain.read_bytes())
    (made / "tls.key").write_bytes(key.read_bytes())
    turned = directory / "..turned"
    turned.symlink_to(made.name)
    turned.rename(directory / "..data")
    for file in ("tls.crt", "tls.key"):
        if not (directory / file).is_symlink():
            (directory / file).symlink_to(f"..data/{file}")


def test_tokens_travel_over_tls_and_the_certificate_is_renewed(tmp_path: Path):
    """The next handshake has the new certificate; a broken pair leaves the old one in force and is told once."""
    authority, said, api = Authority(tmp_path), [], Judging()
    secret = tmp_path / "secret"
    mounted(secret, authority, "first")
    certificate = Certificate(secret, said.append)
    with serving(admission(api.judge()), certificate=certificate) as port:
        foreign = {"Host": "reconciler.example", "Authorization": "Bearer good"}
        assert over_tls(port, authority, **foreign) == (200, "first")
        mounted(secret, authority, "second")
        assert over_tls(port, authority, **foreign) == (200, "second")
        (secret / "..data/tls.key").write_text("no key")
        assert [over_tls(port, authority)[1] for _ in range(2)] == ["second", "second"]
        assert len(said) == 1
        assert "not a certificate with its key" in said[0]
        assert ask_in_the_clear(port) == b""


def ask_in_the_clear(port: int) -> bytes:
    with connected(port) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            return one.recv(100)
        except ConnectionResetError:
            return b""


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path):
    """By our own client, which `explain --live` and `status --live` are: refused before anything is connected."""
    file = tmp_path / "token"
    file.write_text("good")
    with pytest.raises(InputError, match="not sent without TLS"):
        running_loop.ask("http://reconciler.example:1", "/plan", file, text=False)


def test_a_handshake_that_stops_half_way_ends(tmp_path: Path):
    """It has the time of the head, and no more."""
    authority = Authority(tmp_path)
    mounted(tmp_path / "secret", authority, "first")
    limits = Limits(head_seconds=0.5)
    with serving(certificate=Certificate(tmp_path / "secret"), limits=limits) as port, connected(port) as one:
        one.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        with suppress(ConnectionResetError):
            assert one.recv(100) == b""


def test_a_certificate_that_is_none(tmp_path: Path):
    """Said at the start, with its directory."""
    with pytest.raises(CertificateError, match=str(tmp_path)):
        Certificate(tmp_path)
