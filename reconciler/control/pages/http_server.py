"""The HTTP side of the loop: a table of routes on a thread of its own. Reads only; nothing here can make the loop write."""

import ipaddress
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import unquote, urlsplit

import msgspec

from reconciler.kube.connection.access import Refusal

MAX_BODY_BYTES = 1 << 20
MAX_REQUESTS_AT_ONCE = 32
SILENCE_SECONDS = 10

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
HTML = "text/html; charset=utf-8"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request: `path` without query, unescaped; header names in lower case; `peer` is the other side's address."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    peer: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes back."""

    status: int = 200
    content_type: str = TEXT
    body: bytes = b""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Answers requests to `path`, or below it when it ends with `/`. `details`: shows objects of the cluster, so the
    asker must be known. Raising is answered by 500 without the message, which the server's `broken` is given."""

    method: str
    path: str
    answer: Callable[[Request], Answer]
    details: bool = False


Admission = Callable[[Request], Refusal | None]
"""Why a request may not see details; None: it may."""

Broken = Callable[[Route, Request, Exception], None]
"""Told of a page that could not be made."""


class HttpServer:
    """Listens on `address` (port 0: any free one, see `port`). `start` and `stop` once each."""

    def __init__(self, address: tuple[str, int], routes: tuple[Route, ...], admission: Admission, broken: Broken) -> None:
        self._server = _Server(address, routes, admission, broken)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="http", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; returns when the port is free."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def from_loopback(request: Request) -> bool:
    """Whether the asker sits on this machine (or in this pod: `kubectl port-forward`) and means it.

    The Host header must name loopback too: a page of another site whose name was rebound to 127.0.0.1 sends its own.
    A request that a proxy passed on comes from somewhere else.
    """
    if "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        return False
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    return _is_loopback(request.peer) and (host == "localhost" or _is_loopback(host))


def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], routes: tuple[Route, ...], admission: Admission, broken: Broken) -> None:
        self.routes = routes
        self.admission = admission
        self.broken = broken
        self.room = threading.BoundedSemaphore(MAX_REQUESTS_AT_ONCE)
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A broken connection is the other side's business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "reconciler"
    sys_version = ""
    timeout = SILENCE_SECONDS

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        server = cast("_Server", self.server)
        if not server.room.acquire(blocking=False):
            self.close_connection = True
            self._send(Answer(status=503, body=b"too many requests at once\n"))
            return
        try:
            self._send(self._answer(server))
        finally:
            server.room.release()

    def _answer(self, server: "_Server") -> Answer:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            return Answer(status=413, body=b"the body is too large or its length is not said\n")
        request = Request(
            method="GET" if self.command == "HEAD" else self.command,
            path=unquote(urlsplit(self.path).path),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(length)),
            peer=str(self.client_address[0]),
        )
        at_path = [route for route in server.routes if _matches(route, request.path)]
        if not at_path:
            return Answer(status=404, body=b"no such page\n")
        route = next((route for route in at_path if route.method == request.method), None)
        if route is None:
            return Answer(status=405, body=b"no such method here\n")
        try:
            refusal = server.admission(request) if route.details else None
            if refusal is not None:
                return Answer(status=refusal.status, body=f"{refusal.message}\n".encode())
            return route.answer(request)
        except Exception as error:
            # What went wrong may name objects; who asks here may not be allowed to see them.
            with suppress(Exception):
                server.broken(route, request, error)
            return Answer(status=500, body=b"this page could not be made; the log says why\n")

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if answer.status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Probes every few seconds are no news."""


def _matches(route: Route, path: str) -> bool:
    return path.startswith(route.path) if route.path.endswith("/") and route.path != "/" else path == route.path
