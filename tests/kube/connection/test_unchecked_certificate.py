"""A kubeconfig that skips the check of the server's certificate: allowed, and said once."""

import ssl
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from reconciler.cli.inputs.connections import ConnectionChoice, connected
from reconciler.kube.connection.transport import connect
from tests.testbed.certificates import Authority


class _Answer(BaseHTTPRequestHandler):
    """An API server without any group of its own."""

    def do_GET(self) -> None:
        found = self.path in ("/version", "/apis")
        body = b'{"major":"1","minor":"36","gitVersion":"v1.36.0","groups":[]}' if found else b"{}"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """For a server over TLS whose certificate nobody checks."""
    chain, key = Authority(tmp_path).server("api")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = tmp_path / "kubeconfig"
    cluster = {"server": f"https://127.0.0.1:{server.server_address[1]}", "insecure-skip-tls-verify": True}
    file.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )  # fmt: skip
    yield file
    server.shutdown()
    server.server_close()


def test_one_warning_however_many_requests(kubeconfig: Path):
    """The command says it; the client library says nothing at each request."""
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = connected(ConnectionChoice(kubeconfig=str(kubeconfig)), {}, told.append)
        for _ in range(3):
            found.workload.get("/version")
    assert len(told) == 1
    assert "is not checked (insecure-skip-tls-verify in the kubeconfig)" in told[0]


def test_a_checked_certificate_is_no_news(kubeconfig: Path):
    """The same server with its authority named."""
    document = yaml.safe_load(kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    del cluster["insecure-skip-tls-verify"]
    cluster["certificate-authority"] = str(kubeconfig.parent / "ca.crt")
    kubeconfig.write_text(yaml.safe_dump(document))
    assert connect(kubeconfig, environment={}).checks_certificate
    told: list[str] = []
    connected(ConnectionChoice(kubeconfig=str(kubeconfig)), {}, told.append)
    assert told == []
