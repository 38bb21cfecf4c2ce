"""The transport over real sockets: what is sent, what comes back, and what is said when nothing does."""

import json
import logging
import os
import socket
import ssl
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from reconciler.kube.connection.api import ApiError, ContentType, QuietError, UnreachableError
from reconciler.kube.connection.connection_choice import ConnectionConfigError
from reconciler.kube.connection.line_stream import LineStream
from reconciler.kube.connection.socket_body import Dial, opened
from reconciler.kube.connection.transport import LONGEST_REFUSAL_BYTES, KubernetesApi, connect
from tests.kube.local_server import Behaviour, LocalServer, answer, stream
from tests.testbed.certificates import Authority

TOKEN = "a-very-secret-token"


def kubeconfig(tmp_path: Path, server: str, user: dict[str, object] | None = None, name: str = "config") -> Path:
    path = tmp_path / name
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": TOKEN}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    path.write_text(yaml.safe_dump(content))
    return path


def server(behaviour: Behaviour) -> LocalServer:
    return LocalServer(behaviour)


def api_of(tmp_path: Path, local: LocalServer, **options: object) -> KubernetesApi:
    return connect(kubeconfig(tmp_path, local.url), environment={}, **options)  # type: ignore[arg-type]


Watching = Callable[[Behaviour], AbstractContextManager[tuple[LocalServer, KubernetesApi]]]


@pytest.fixture(params=["pool", "own socket"])
def watching(request: pytest.FixtureRequest, tmp_path: Path) -> Watching:
    """A server and its client: streams through the client library, or on sockets of their own."""

    @contextmanager
    def running(behaviour: Behaviour) -> Iterator[tuple[LocalServer, KubernetesApi]]:
        if request.param == "pool":
            with server(behaviour).running() as local:
                yield local, api_of(tmp_path, local)
            return
        authority = Authority(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.server("server"))
        with LocalServer(behaviour, context).running() as local:
            path = kubeconfig(tmp_path, local.url)
            content = yaml.safe_load(path.read_text())
            content["clusters"][0]["cluster"]["certificate-authority"] = str(authority.certificate)
            path.write_text(yaml.safe_dump(content))
            api = connect(path, environment={}, own_sockets=True)
            assert api.streams_on_sockets
            yield local, api

    return running


def ok(request, body: bytes) -> None:
    answer(request, 200, b'{"ok":true}')


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_what_a_read_sends(tmp_path: Path) -> None:
    """A read carries the token, our user agent, and its query escaped."""
    with server(ok).running() as local:
        assert api_of(tmp_path, local).get("/api/v1/pods", {"fieldSelector": "spec.nodeName=n 1"}) == b'{"ok":true}'
    method, path, headers, _ = local.requests[0]
    assert (method, path) == ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn+1")
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["User-Agent"] == "nodegroup-reconciler"


def test_what_a_write_sends(tmp_path: Path) -> None:
    """A write is JSON of the right kind under our field manager, unless its query names another."""
    with server(ok).running() as local:
        api = api_of(tmp_path, local)
        api.write("PATCH", "/x", {"spec": {"replicas": 3}}, content_type=ContentType.APPLY, query={"force": "false"})
        api.write("POST", "/x", b"raw", query={"fieldManager": "other"})
        api.write("DELETE", "/x")
    first, second, third = local.requests
    assert (first[0], first[1]) == ("PATCH", "/x?fieldManager=nodegroup-reconciler&force=false")
    assert first[2]["Content-Type"] == "application/apply-patch+yaml"
    assert json.loads(first[3]) == {"spec": {"replicas": 3}}
    assert (second[1], second[3]) == ("/x?fieldManager=other", b"raw")
    assert third[1] == "/x"


def test_a_status_becomes_an_error(tmp_path: Path) -> None:
    """What the server says in a Status is all in the error: code, reason, message, causes, Retry-After."""
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "kubectl"', "field": ".spec.replicas"}]
    status = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "1 conflict", "details": {"causes": causes}}

    def refuse(request, body: bytes) -> None:
        answer(request, 409, json.dumps(status).encode(), Retry_After="7")

    with server(refuse).running() as local, pytest.raises(ApiError) as found:
        api_of(tmp_path, local).get("/x")
    error = found.value
    assert (error.status, error.reason, error.message, error.retry_after_seconds) == (409, "Conflict", "1 conflict", 7)
    assert [(cause.reason, cause.field) for cause in error.causes] == [("FieldManagerConflict", ".spec.replicas")]


def test_a_page_instead_of_a_status(tmp_path: Path) -> None:
    """An answer of something in between is shortened to one line."""

    def proxy(request, body: bytes) -> None:
        answer(request, 502, b"<html>\n <b>Bad   gateway</b>" + b"x" * 1000)

    with server(proxy).running() as local, pytest.raises(ApiError) as found:
        api_of(tmp_path, local).get("/x")
    assert found.value.message.startswith("<html> <b>Bad gateway</b>xxx")
    assert len(found.value.message) == 300


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_a_connection_that_breaks_is_not_used_for_a_second_try(tmp_path: Path, method: str) -> None:
    """Whether it was done is not known: nothing is sent again by itself, and that it was sent is told."""
    with server(lambda request, _: request.connection.shutdown(socket.SHUT_RDWR)).running() as local:
        api = api_of(tmp_path, local)
        with pytest.raises(UnreachableError) as found:
            api.get("/x") if method == "GET" else api.write(method, "/x", {})
    assert ([request[0] for request in local.requests], found.value.sent) == ([method], True)


def test_nobody_listens(tmp_path: Path) -> None:
    """A refused connection is said as such, and that nothing was sent; no credential is in the message."""
    api = connect(kubeconfig(tmp_path, f"http://127.0.0.1:{closed_port()}"), environment={})
    with pytest.raises(UnreachableError, match="does not answer") as found:
        api.write("POST", "/x", {})
    assert not found.value.sent
    assert TOKEN not in str(found.value)


def test_no_answer_after_sending(tmp_path: Path) -> None:
    """A request that was sent and not answered within its time says that it may have been done."""
    with server(lambda request, body: local.release.wait(20)).running() as local:
        with pytest.raises(UnreachableError) as found:
            api_of(tmp_path, local, timeout_seconds=0.2).write("POST", "/x", {})
        assert found.value.sent


@pytest.mark.parametrize("status", [200, 503])
def test_an_answer_byte_by_byte(tmp_path: Path, status: int) -> None:
    """A server that sends a byte now and then cannot hold a call beyond its time, whether it grants or refuses."""

    def drip(request, body: bytes) -> None:
        request.send_response(status)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        for _ in range(200):
            if local.release.wait(0.02):
                return
            request.wfile.write(b"x")
            request.wfile.flush()

    with server(drip).running() as local, pytest.raises(UnreachableError, match="too long"):
        api_of(tmp_path, local, timeout_seconds=0.2).get("/x")


def test_the_guard_has_the_last_word(tmp_path: Path) -> None:
    """What the guard raises comes out, and the server sees nothing of the write; reads are not guarded."""

    class NoError(Exception):
        pass

    def guard() -> None:
        raise NoError

    with server(ok).running() as local:
        api = api_of(tmp_path, local, guard=guard)
        api.get("/read")
        with pytest.raises(NoError):
            api.write("POST", "/written", {})
        with pytest.raises(NoError):
            api.with_timeout(1).write("POST", "/written", {})
        api.with_guard(None).write("POST", "/allowed", {})
    assert [path.partition("?")[0] for _, path, _, _ in local.requests] == ["/read", "/allowed"]


def test_the_guard_comes_after_the_connection(tmp_path: Path) -> None:
    """The guard is asked once the connection stands, so that a slow handshake cannot come between it and the sending."""
    api = connect(kubeconfig(tmp_path, f"http://127.0.0.1:{closed_port()}"), environment={}, guard=lambda: asked.append(1))
    asked: list[int] = []
    with pytest.raises(UnreachableError):
        api.write("POST", "/x", {})
    assert asked == []


def test_lines(watching: Watching) -> None:
    """Lines come out whole, wherever the pieces of the body were cut."""

    def watch(request, body: bytes) -> None:
        stream(request, [b'{"a":', b'1}\n{"b":2}\n{"c"', b":3}\n"])
        request.wfile.write(b"0\r\n\r\n")

    with watching(watch) as (local, api), api.stream("/w", {"watch": "1"}, silence_seconds=60) as lines:
        assert list(lines) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    method, path, headers, _ = local.requests[0]
    assert (method, path, headers["Authorization"]) == ("GET", "/w?watch=1", f"Bearer {TOKEN}")
    assert headers["Host"] == local.url.partition("//")[2]


@pytest.mark.parametrize("whole", [True, False])
def test_a_watch_that_is_refused(watching: Watching, whole: bool) -> None:
    """The words of the server, or that they broke off."""

    def refuse(request, body: bytes) -> None:
        text = b'{"kind":"Status","code":403,"reason":"Forbidden","message":"you may not watch"}'
        request.send_response(403)
        request.send_header("Content-Length", str(len(text) + (0 if whole else 9)))
        request.send_header("Connection", "close")
        request.end_headers()
        request.wfile.write(text)
        request.close_connection = True

    with (
        watching(refuse) as (_, api),
        pytest.raises(ApiError if whole else UnreachableError) as caught,
        api.stream("/w", {}, silence_seconds=60),
    ):
        pass
    assert ("you may not watch" if whole else "broke off") in str(caught.value)


@pytest.mark.parametrize("streams", [True, False])
def test_a_refusal_without_an_end(watching: Watching, streams: bool) -> None:
    """Its first words are the message. The rest is not read: one server of a fleet cannot take the memory of all."""
    sent: list[int] = []

    def refuse(request, body: bytes) -> None:
        request.send_response(503)
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        request.wfile.write(b"a page of a proxy ")
        piece = bytes(LONGEST_REFUSAL_BYTES)
        with suppress(OSError):
            for _ in range(64):
                request.wfile.write(piece)
                sent.append(len(piece))

    with watching(refuse) as (_, api):
        ask: Callable[[], object] = partial(api.get, "/x")
        if streams:
            ask = api.stream("/w", {}, silence_seconds=60).__enter__
        with pytest.raises(ApiError, match="a page of a proxy"):
            ask()
    assert len(sent) < 64


@pytest.mark.parametrize("piece", [b"HTTP/1.1 103 Early Hints\r\n\r\n", b"H"])
def test_a_head_that_does_not_come_to_its_end(tmp_path: Path, piece: bytes) -> None:
    """A server that goes on with interim answers, or byte by byte, holds no thread beyond the time of a call."""

    def begin(request, body: bytes) -> None:
        request.close_connection = True
        if len(piece) == 1:
            request.wfile.write(b"HTTP/1.1 200 OK\r\nA: ")
        for _ in range(200):
            if local.release.wait(0.02):
                return
            request.wfile.write(piece)

    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("server"))
    with LocalServer(begin, context).running() as local:
        dial = Dial(server=local.url, context=ssl.create_default_context(cafile=str(authority.certificate)))
        with pytest.raises(TimeoutError):
            opened(dial, "/w", {}, timeout_seconds=0.2, silence_seconds=60)


def test_a_line_in_many_pieces() -> None:
    """A line longer than several pieces is put together from all of them."""

    class Pieces:
        left = (b"", b"7}\n", b'"a":', b"{")

        def read1(self, amt: int | None = None) -> bytes:
            *self.left, piece = self.left
            return piece

        def shutdown(self) -> None:
            return

        def close(self) -> None:
            return

    with LineStream(Pieces, (OSError,)) as lines:
        assert list(lines) == [b'{"a":7}']


def test_silence(watching: Watching) -> None:
    """Nothing comes for the time given: that is told apart from a break, since it may be well."""

    def watch(request, body: bytes) -> None:
        stream(request, [b"{}\n"])
        local.release.wait(20)

    with watching(watch) as (local, api), api.stream("/w", {}, silence_seconds=2) as lines:
        assert next(lines) == b"{}"
        with pytest.raises(QuietError):
            next(lines)


def test_silence_in_the_middle_of_an_event(watching: Watching) -> None:
    """Half an event and then nothing is no quiet watch."""

    def watch(request, body: bytes) -> None:
        stream(request, [b'{"type":"ADD'])
        local.release.wait(20)

    with watching(watch) as (local, api), api.stream("/w", {}, silence_seconds=1) as lines:
        with pytest.raises(UnreachableError, match="watch broke") as caught:
            next(lines)
        assert not isinstance(caught.value, QuietError)


def test_cut_from_another_thread(watching: Watching) -> None:
    """A reader that waits for the next line ends when another thread cuts the stream."""

    def watch(request, body: bytes) -> None:
        stream(request, [b"{}\n"])
        local.release.wait(20)

    with watching(watch) as (local, api):
        opened = api.stream("/w", {}, silence_seconds=20)
        with opened as lines:
            assert next(lines) == b"{}"
            cutter = threading.Thread(target=opened.cut)
            cutter.start()
            assert list(lines) == []
            cutter.join()


def test_a_line_that_breaks_off(watching: Watching) -> None:
    """An event of which only a part came is not handed out."""

    def watch(request, body: bytes) -> None:
        stream(request, [b'{"whole":1}\n{"cut'])
        request.wfile.write(b"0\r\n\r\n")

    with watching(watch) as (_, api), api.stream("/w", {}, silence_seconds=60) as lines:
        assert next(lines) == b'{"whole":1}'
        with pytest.raises(UnreachableError, match="in the middle of an event"):
            next(lines)


def program(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "credentials"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path), "interactiveMode": "Never"}}


COUNTING = """
import json, pathlib
counter = pathlib.Path(__file__).with_name("count")
count = len(counter.read_text()) if counter.exists() else 0
counter.write_text("x" * (count + 1))
status = {"token": f"token-{count}"}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


def test_a_credential_program(tmp_path: Path) -> None:
    """The token of a credential program is used, and asked for anew when the server does not take it any more."""

    def doorkeeper(request, body: bytes) -> None:
        taken = request.headers["Authorization"] == "Bearer token-1"
        answer(request, 200 if taken else 401, b"{}")

    with server(doorkeeper).running() as local:
        api = connect(kubeconfig(tmp_path, local.url, program(tmp_path, COUNTING)), environment={})
        api._session._renewed -= 11
        assert api.get("/x") == b"{}"
    assert [headers["Authorization"] for _, _, headers, _ in local.requests] == ["Bearer token-0", "Bearer token-1"]


def test_credentials_are_not_asked_for_without_end(tmp_path: Path) -> None:
    """A server that takes nobody is told so once; the program is not run for every refusal."""
    with server(lambda request, body: answer(request, 401, b"{}")).running() as local:
        api = connect(kubeconfig(tmp_path, local.url, program(tmp_path, COUNTING)), environment={})
        for _ in range(3):
            with pytest.raises(ApiError):
                api.get("/x")
    assert (tmp_path / "count").read_text() == "x"


def test_a_credential_program_that_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A program that fails is an error that names user and context with its own words; we do not go on as nobody."""
    handlers = list(logging.getLogger().handlers)
    user = program(tmp_path, "import sys; print('please log in', file=sys.stderr); sys.exit(3)")
    with pytest.raises(
        ConnectionConfigError, match=r'user "u": .*returned no credentials: exec: process returned 3. please log in'
    ):
        connect(kubeconfig(tmp_path, "https://127.0.0.1:1", user), environment={})
    assert logging.getLogger().handlers == handlers


def test_unknown_context(tmp_path: Path) -> None:
    """A context that is not there is answered with those that are."""
    path = kubeconfig(tmp_path, "https://127.0.0.1:1")
    with pytest.raises(ConnectionConfigError, match=r'unknown context "there"\. Choose one of: here'):
        connect(path, "there", environment={})


def test_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any configuration, everything that was looked at is named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConnectionConfigError, match=r"--kubeconfig and KUBECONFIG are not set, ~/\.kube/config does not exist"):
        connect(environment={})


def test_the_environment_names_files(tmp_path: Path) -> None:
    """KUBECONFIG may list several files; a named file counts before it."""
    first, second = kubeconfig(tmp_path, "http://127.0.0.1:1", name="a"), kubeconfig(tmp_path, "http://127.0.0.1:2", name="b")
    listed = {"KUBECONFIG": os.pathsep.join(("/nowhere/at/all", str(first), str(second)))}
    assert connect(environment=listed).server == "http://127.0.0.1:1"
    assert connect(second, environment=listed).server == "http://127.0.0.1:2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"users:\n- name: u\n  user: {{token: {TOKEN}", "invalid YAML"),
        ("- a\n", "invalid kubeconfig"),
        ("contexts: []\n", "no current-context is set. Choose one of: none"),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n", 'names cluster "c", which has no server'),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://h'}}]\n",
            'names user "u", which does not exist',
        ),
    ],
)
def test_broken_kubeconfigs(tmp_path: Path, text: str, message: str) -> None:
    """Each way in which a kubeconfig can be wrong is said with the file, and never with what stands in it."""
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(ConnectionConfigError) as found:
        connect(path, environment={})
    assert message in str(found.value)
    assert str(path) in str(found.value)
    assert TOKEN not in str(found.value)


def test_credentials_that_cannot_be_loaded_are_not_shown(tmp_path: Path) -> None:
    """An entry that the library cannot use is not quoted: it may hold a token."""
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "env": [{"name": "A", "value": TOKEN}]}}
    with pytest.raises(ConnectionConfigError) as found:
        connect(kubeconfig(tmp_path, "https://127.0.0.1:1", user), environment={})
    assert "missing key 'command'" in str(found.value)
    assert TOKEN not in str(found.value)


@pytest.mark.parametrize("what", ["no authority", "another key", "a key with a password"])
def test_certificates_that_cannot_be_used(tmp_path: Path, what: str) -> None:
    """That is said at once, and nobody is asked for a password. Files that are replaced one after the other look so too."""
    authority = Authority(tmp_path)
    certificate, key = authority.client("one")
    if what == "no authority":
        authority.certificate.write_text("none")
    elif what == "another key":
        _, key = authority.client("two")
    else:
        secret = serialization.load_pem_private_key(key.read_bytes(), None)
        form = serialization.PrivateFormat.PKCS8
        key.write_bytes(secret.private_bytes(serialization.Encoding.PEM, form, serialization.BestAvailableEncryption(b"secret")))
    path = kubeconfig(tmp_path, "https://127.0.0.1:1", {"client-certificate": str(certificate), "client-key": str(key)})
    content = yaml.safe_load(path.read_text())
    content["clusters"][0]["cluster"]["certificate-authority"] = str(authority.certificate)
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConnectionConfigError, match="its certificates or key cannot be used") as found:
        connect(path, environment={})
    assert str(path) in str(found.value)


def test_in_a_pod_without_its_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pod whose service account is not mounted, that is what is said."""
    monkeypatch.setenv("HOME", str(tmp_path))
    inside = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    for name, value in inside.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConnectionConfigError, match="service account of this pod"):
        connect(environment=inside)


def test_what_broke_may_have_been_sent_unless_it_is_said() -> None:
    assert (UnreachableError("cut").sent, UnreachableError("refused", sent=False).sent) == (True, False)
