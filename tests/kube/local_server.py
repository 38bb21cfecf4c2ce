"""An HTTP server on loopback that behaves as a test says: slow, silent, refusing, or gone in the middle."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Behaviour = Callable[[BaseHTTPRequestHandler, bytes], None]


class LocalServer:
    """Every request is kept, and answered by `behaviour`, which writes what it likes. `release` ends those that hang."""

    def __init__(self, behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.requests.append((self.command, self.path, dict(self.headers.items()), body))
                behaviour(self, body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the library's own name
                return

        for method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.handle_any)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @contextmanager
    def running(self) -> Iterator["LocalServer"]:
        self._thread.start()
        try:
            yield self
        finally:
            self.release.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def answer(request: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """A whole answer."""
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def stream(request: BaseHTTPRequestHandler, pieces: list[bytes]) -> None:
    """A chunked answer that stays open."""
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    for piece in pieces:
        request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        request.wfile.flush()
