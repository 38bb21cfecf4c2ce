"""Real git servers on loopback: `git daemon`, and `git http-backend` behind a small HTTP or HTTPS server that may misbehave."""

import base64
import datetime
import ipaddress
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Misbehave = Callable[[BaseHTTPRequestHandler], bool]
"""Answers a request itself and says so with True, or leaves it to git."""


class GitHost(NamedTuple):
    """`url` is that of the directory that holds repositories; `asked` are the request lines and Authorization headers."""

    url: str
    asked: list[tuple[str, str]]


@contextmanager
def git_daemon(root: Path) -> Iterator[str]:
    """`git daemon` over everything below `root`; its git:// address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        "git",
        "daemon",
        "--export-all",
        f"--base-path={root}",
        "--listen=127.0.0.1",
        f"--port={port}",
        "--reuseaddr",
        str(root),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment(), start_new_session=True
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, process.stderr and process.stderr.read()
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.communicate()


@contextmanager
def http_host(
    root: Path, *, password: str = "", misbehave: Misbehave | None = None, tls: tuple[Path, Path] | None = None
) -> Iterator[GitHost]:
    """`git http-backend` over everything below `root`; with `password`, only for `x-access-token` and that."""
    asked: list[tuple[str, str]] = []
    expected = "Basic " + base64.b64encode(f"x-access-token:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve(b"")

        def do_POST(self) -> None:
            self._serve(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

        def _serve(self, body: bytes) -> None:
            authorization = self.headers.get("Authorization", "")
            asked.append((self.requestline, authorization))
            if misbehave is not None and misbehave(self):
                return
            if password and authorization != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            environment = _environment() | {
                "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command, "PATH_INFO": path,
                "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "127.0.0.1",
            }  # fmt: skip
            done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
            headers["Content-Length"] = str(len(content))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return

    with served(Handler, tls) as url:
        yield GitHost(url, asked)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler], tls: tuple[Path, Path] | None = None) -> Iterator[str]:
    """Any handler on a free port; its address."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            return

    server = Server(("127.0.0.1", 0), handler)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "git")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = directory / "tls.crt", directory / "tls.key"
    public.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent"}
