"""The kubeconfig Secret of a workload cluster: what of it is taken, and what happens when it changes."""

import base64
import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.kube.connection.api import ApiError
from reconciler.kube.connection.connection_choice import ConnectionConfigError
from reconciler.kube.connection.secret_kubeconfig import Endpoint, SecretKubeconfig, read_kubeconfig, read_secret
from reconciler.kube.connection.workload_connection import Rotation, WorkloadConnection
from reconciler.values.cluster_identity import ClusterIdentity
from tests.kube.api_server import FakeApiServer
from tests.kube.local_server import LocalServer, answer
from tests.testbed.certificates import Authority

WEST = ClusterIdentity(name="west", namespace="fleet")
SECRETS = "/api/v1/namespaces/fleet/secrets"


def document(**changes: object) -> dict[str, Any]:
    user = changes.pop("user", {"token": "first"})
    cluster: dict[str, object] = {"server": "https://west:6443", "certificate-authority-data": base64.b64encode(b"ca").decode()}
    cluster |= changes
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "admin@west",
        "contexts": [{"name": "admin@west", "context": {"cluster": "west", "user": "admin"}}],
        "clusters": [{"name": "west", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
    }  # fmt: skip


def secret(content: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "west-kubeconfig", "namespace": "fleet"},
        "data": {"value": base64.b64encode(yaml.safe_dump(content).encode()).decode()},
    }  # fmt: skip


def read(content: dict[str, Any]) -> SecretKubeconfig:
    return read_kubeconfig(yaml.safe_dump(content).encode())


def test_an_admin_kubeconfig_of_cluster_api() -> None:
    """Address, authority and client certificate, and nothing else."""
    user = {"client-certificate-data": base64.b64encode(b"crt").decode(), "client-key-data": base64.b64encode(b"key").decode()}
    assert read(document(user=user)) == SecretKubeconfig(
        endpoint=Endpoint(server="https://west:6443", authority=b"ca"), certificate=b"crt", key=b"key"
    )


@pytest.mark.parametrize(
    "user",
    [
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh"}},
        {"token": "t", "exec": {"command": "sh"}},
        {"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"},
        {"client-certificate": "/etc/passwd", "client-key": "/etc/passwd"},
        {"auth-provider": {"name": "gcp", "config": {"cmd-path": "sh"}}},
        {"token": "t", "as": "system:admin"},
        {"token": "t", "a-key-of-next-year": "x"},
        {"username": "u", "password": "p"},
        {},
    ],
)
def test_users_that_are_refused(user: dict[str, object]) -> None:
    """Programs, files of ours, other identities, and whatever is not known to be data."""
    with pytest.raises(ConnectionConfigError) as refused:
        read(document(user=user))
    assert "sh" not in str(refused.value).split()


@pytest.mark.parametrize(
    "changes",
    [
        {"server": "http://west:6443"},
        {"certificate-authority-data": ""},
        {"certificate-authority-data": "%"},
        {"certificate-authority": "/etc/passwd"},
        {"insecure-skip-tls-verify": True},
        {"proxy-url": "http://elsewhere"},
        {"server": ["https://west"]},
    ],
)
def test_clusters_that_are_refused(changes: dict[str, object]) -> None:
    """No connection that is not checked, no file of ours, no way through somebody else."""
    with pytest.raises(ConnectionConfigError):
        read(document(**changes))


@pytest.mark.parametrize(
    "content", [b"", b"[", b"- 1", b"\xff", b"a: &a [*a]", b"current-context: x", b"[" * 100_000, b"x" * (1 << 21)]
)
def test_bytes_that_are_no_kubeconfig(content: bytes) -> None:
    """Each is refused in a sentence that quotes nothing of them."""
    with pytest.raises(ConnectionConfigError):
        read_kubeconfig(content)


@pytest.mark.parametrize("data", [None, {}, {"value": "%"}, {"kubeconfig": ""}])
def test_secrets_without_a_kubeconfig(data: dict[str, str] | None) -> None:
    with pytest.raises(ConnectionConfigError, match="the Secret"):
        read_secret(json.dumps({"data": data}).encode())


@contextmanager
def tls_server(behaviour: Callable[[BaseHTTPRequestHandler, bytes], None], authority: Authority) -> Iterator[LocalServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("server"))
    with LocalServer(behaviour, context).running() as server:
        yield server


def management(content: dict[str, Any]) -> FakeApiServer:
    server = FakeApiServer()
    server.put(f"{SECRETS}/west-kubeconfig", secret(content))
    return server


def kubeconfig_of(server: LocalServer, authority: Authority, token: str) -> dict[str, Any]:
    data = base64.b64encode(authority.certificate.read_bytes()).decode()
    return document(server=server.url, user={"token": token}, **{"certificate-authority-data": data})


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    """The server takes the second token only. The Secret has it by then, and the request succeeds without a look."""
    authority = Authority(tmp_path)

    def second_only(request: BaseHTTPRequestHandler, _: bytes) -> None:
        answer(request, 200 if request.headers["Authorization"] == "Bearer second" else 401, b"{}")

    with tls_server(second_only, authority) as server:
        here = management(kubeconfig_of(server, authority, "first"))
        told: list[str] = []
        connection = WorkloadConnection(here, WEST, swapped=lambda: told.append("swapped"))
        with pytest.raises(ApiError):  # Within ten seconds of the first opening, credentials are not opened again.
            connection.api.get("/version")
        here.put(f"{SECRETS}/west-kubeconfig", secret(kubeconfig_of(server, authority, "second")))
        connection._session._renewed -= 11
        assert connection.api.get("/version") == b"{}"
        assert told == ["swapped"]
        assert connection.look() is Rotation.SAME


def test_what_a_look_at_the_secret_finds(tmp_path: Path) -> None:
    """The same, new credentials, nothing to use, and another cluster. The credentials in use stay in the last two cases."""
    authority = Authority(tmp_path)
    with tls_server(lambda request, _: answer(request, 200, b"{}"), authority) as server:
        here = management(kubeconfig_of(server, authority, "first"))
        connection = WorkloadConnection(here, WEST)
        assert connection.look() is Rotation.SAME
        here.put(f"{SECRETS}/west-kubeconfig", secret(kubeconfig_of(server, authority, "second")))
        assert connection.look() is Rotation.SWAPPED
        connection.api.get("/version")
        here.put(f"{SECRETS}/west-kubeconfig", secret(kubeconfig_of(server, authority, "third") | {"current-context": "none"}))
        assert connection.look() is Rotation.UNREAD
        assert "current-context" in connection.message
        here.remove(f"{SECRETS}/west-kubeconfig")
        assert connection.look() is Rotation.UNREAD
        elsewhere = kubeconfig_of(server, authority, "fourth")
        elsewhere["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
        here.put(f"{SECRETS}/west-kubeconfig", secret(elsewhere))
        assert connection.look() is Rotation.MOVED
        connection.api.get("/version")
        assert {request[2]["Authorization"] for request in server.requests} == {"Bearer second"}


def test_a_certificate_that_cannot_be_used(tmp_path: Path) -> None:
    """Each look says so, and the credentials in use stay, until the Secret is repaired."""
    authority = Authority(tmp_path)
    with tls_server(lambda request, _: answer(request, 200, b"{}"), authority) as server:
        content = kubeconfig_of(server, authority, "first")
        here = management(content)
        connection = WorkloadConnection(here, WEST)
        broken = {f"client-{what}-data": base64.b64encode(b"none").decode() for what in ("certificate", "key")}
        here.put(f"{SECRETS}/west-kubeconfig", secret(content | {"users": [{"name": "admin", "user": broken}]}))
        for _ in range(2):
            assert connection.look() is Rotation.UNREAD
            assert "its certificates or key cannot be used" in connection.message
            connection.api.get("/version")
        here.put(f"{SECRETS}/west-kubeconfig", secret(kubeconfig_of(server, authority, "second")))
        assert connection.look() is Rotation.SWAPPED
        assert connection.message == ""
        connection.api.get("/version")
        assert [request[2]["Authorization"] for request in server.requests] == ["Bearer first", "Bearer first", "Bearer second"]


def test_another_authority_is_another_cluster(tmp_path: Path) -> None:
    """Who vouches for the server has changed: what was read by the old one is not continued."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = Authority(tmp_path / "a"), Authority(tmp_path / "b")
    with tls_server(lambda request, _: answer(request, 200, b"{}"), first) as server:
        here = management(kubeconfig_of(server, first, "t"))
        connection = WorkloadConnection(here, WEST)
        here.put(f"{SECRETS}/west-kubeconfig", secret(kubeconfig_of(server, second, "t")))
        assert connection.look() is Rotation.MOVED
        assert connection.moved


def test_a_secret_of_our_own_goes_first(tmp_path: Path) -> None:
    """It is used from the next look after it came. An operator may grant the administrator's alone."""
    authority = Authority(tmp_path)
    with tls_server(lambda request, _: answer(request, 200, b"{}"), authority) as server:
        here = management(kubeconfig_of(server, authority, "administrator"))
        connection = WorkloadConnection(here, WEST)
        own = f"{SECRETS}/west-reconciler-kubeconfig"
        here.put(own, secret(kubeconfig_of(server, authority, "own")))
        assert connection.look() is Rotation.SWAPPED
        connection.api.get("/version")
        assert server.requests[-1][2]["Authorization"] == "Bearer own"
        here.forbidden.add(own)
        WorkloadConnection(here, WEST).api.get("/version")
        assert server.requests[-1][2]["Authorization"] == "Bearer administrator"
        here.forbidden.add(f"{SECRETS}/west-kubeconfig")
        with pytest.raises(ApiError, match="403"):
            WorkloadConnection(here, WEST)


@pytest.mark.parametrize(
    "server",
    [
        "https://", "https:///path", "https://user:secret@west:6443", "https://west:6443?x=1", "https://west#x",
        "https://west:6443\r\nHost: other", "https://we st", "https://west:99999", "https://west:none", "https://wést",
        "https://west\\@other", "HTTPS\x00://west", "file:///etc/passwd", "https://[::1",
    ],
)  # fmt: skip
def test_servers_that_are_no_address(server: str) -> None:
    """What could name another host, end a header or carry a secret into messages is refused, without being quoted."""
    with pytest.raises(ConnectionConfigError) as refused:
        read(document(server=server))
    assert "secret" not in str(refused.value)
    assert "other" not in str(refused.value)


@pytest.mark.parametrize(
    "server", ["https://west:6443", "https://10.0.0.1", "https://[fd00::1]:6443", "https://hub/k8s/clusters/c-1"]
)
def test_addresses_of_api_servers(server: str) -> None:
    """Names, addresses of both families, and the path of a proxy for many clusters."""
    assert read(document(server=server)).endpoint.server == server


@pytest.mark.parametrize("token", ["two words", "line\nHost: other", "tab\there", "schlüssel", "nul\x00"])
def test_tokens_that_would_break_a_header(token: str) -> None:
    """They are refused here: the client's own error would quote them."""
    with pytest.raises(ConnectionConfigError) as refused:
        read(document(user={"token": token}))
    assert token.split(maxsplit=1)[0] not in str(refused.value).replace("token", "")


@pytest.mark.parametrize(
    "content",
    [
        b"a: " + b"1:" * 500_000 + b"1", b"a: " + b"9" * 1_000_000, b"a: [" + b"x," * 500_000 + b"]",
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 10)),
    ],
)  # fmt: skip
def test_a_hostile_text_takes_no_time(content: bytes) -> None:
    """Numbers to the base of 60, digits, items and aliases without end: refused in a fraction of the second a look may take."""
    began = time.process_time()
    with pytest.raises(ConnectionConfigError):
        read_kubeconfig(content)
    assert time.process_time() - began < 2


def test_the_name_of_a_key_is_shown_only_if_it_is_one() -> None:
    """A key is content as well: it may be long, or steer a terminal."""
    with pytest.raises(ConnectionConfigError) as refused:
        read(document(**{"x" * 10_000: "y", "evil\x1b[31m": "y"}))
    assert len(str(refused.value)) < 300
    assert "\x1b" not in str(refused.value)
