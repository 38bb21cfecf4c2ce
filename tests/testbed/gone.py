"""A proxy on loopback that speaks HTTP: one watch is told that what it knew is gone (410), all else goes through."""

import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.testbed.control_plane import ControlPlane

# The two ways in which the API server says it: as the answer to the watch, or as an event in it.
How = Literal["Answer", "Event"]
_CHUNK_BYTES = 65536
_STATUS = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version: 1 (2)",
    "reason": "Expired",
    "code": 410,
}


class _Asked(NamedTuple):
    """One request: `path` without query; a watch, one that begins with all there is, or neither."""

    path: str
    watch: bool
    whole: bool
    content: bytes


class Gone:
    """Asks the API server as whoever connects; close it, or use it in a `with`. `url` is where it listens, `answered` how often
    it has said that something is gone. Every connection serves one request."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        host, port = plane.server.removeprefix("https://").split(":")
        self._target = (host, int(port))
        self._serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(plane.authority.certificate))
        self._serving.verify_mode = ssl.CERT_REQUIRED
        self._serving.load_cert_chain(*plane.authority.server("gone"))
        self._asking: dict[tuple[str, ...], ssl.SSLContext] = {}
        self._changed = threading.Condition()
        self._gone = self._held = ""
        self._how: How = "Answer"
        self._open: dict[socket.socket, str] = {}
        self._threads: list[threading.Thread] = []
        self._closed = False
        self.answered = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def __enter__(self) -> "Gone":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def expire(self, path: str, how: How) -> None:
        """Cut the watch of one collection, and answer 410, once, when it is to be continued."""
        with self._changed:
            self._gone, self._how = path, how
            watches = [one for one, of in self._open.items() if of == path]
        for one in watches:
            _cut(one)

    def hold(self, path: str) -> None:
        """Keep the collection at `path` from being read whole from now on; empty: let it go."""
        with self._changed:
            self._held = path
            self._changed.notify_all()

    def close(self) -> None:
        """Cut everything and stop listening."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            connections = [*self._open]
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in connections:
            _cut(one)
        for thread in self._threads:
            thread.join()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, name="gone", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._connect, client)

    def _connect(self, client: socket.socket) -> None:
        # A client that goes away ends its connection and nothing else.
        with suppress(OSError, ValueError), client:
            client.settimeout(60)
            with self._serving.wrap_socket(client, server_side=True) as secure:
                asked = _asked(secure)
                if asked is None:
                    return
                secure.settimeout(None)
                if self._is_gone(asked):
                    secure.sendall(_gone(self._how))
                    secure.unwrap()
                else:
                    self._pass(secure, asked)

    def _is_gone(self, asked: _Asked) -> bool:
        """Whether this is the watch that is to be told; it waits here while its collection is held."""
        with self._changed:
            if asked.watch and not asked.whole and asked.path == self._gone:
                self._gone = ""
                self.answered += 1
                return True
            if asked.whole:
                self._changed.wait_for(lambda: self._closed or asked.path != self._held)
        return False

    def _pass(self, client: ssl.SSLSocket, asked: _Asked) -> None:
        """Send the request as the client's user, and hand back what comes until either side ends."""
        with (
            socket.create_connection(self._target, timeout=60) as connection,
            self._context(client).wrap_socket(connection, server_hostname=self._target[0]) as server,
        ):
            server.settimeout(None)
            with self._changed:
                of = asked.path if asked.watch else ""
                self._open |= {server: of, client: of}
            try:
                if self._closed or (of and of == self._gone):
                    return
                server.sendall(asked.content)
                while data := server.recv(_CHUNK_BYTES):
                    client.sendall(data)
            finally:
                with self._changed:
                    del self._open[server], self._open[client]

    def _context(self, client: ssl.SSLSocket) -> ssl.SSLContext:
        """That of the user whose certificate the client has shown."""
        subject = [field for part in (client.getpeercert() or {}).get("subject", ()) for field in part]
        names = tuple(value for wanted in ("commonName", "organizationName") for key, value in subject if key == wanted)
        with self._changed:
            if names not in self._asking:
                context = ssl.create_default_context(cafile=str(self._plane.authority.certificate))
                context.load_cert_chain(*self._plane.authority.client(*names))
                self._asking[names] = context
            return self._asking[names]


def _asked(client: ssl.SSLSocket) -> _Asked | None:
    """The request, changed so that the server ends the connection after its answer; None: the client sent none."""
    content = b""
    while b"\r\n\r\n" not in content:
        data = client.recv(_CHUNK_BYTES)
        if not data:
            return None
        content += data
    head, _, body = content.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (header.partition(b":") for header in headers)}
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += client.recv(_CHUNK_BYTES)
    kept = [header for header in headers if not header.lower().startswith(b"connection:")]
    url = urlsplit(line.split()[1].decode())
    query = parse_qs(url.query)
    return _Asked(
        path=url.path,
        watch=query.get("watch") == ["true"],
        whole="sendInitialEvents" in query,
        content=b"\r\n".join((line, *kept, b"Connection: close", b"", body)),
    )


def _gone(how: How) -> bytes:
    event = {"type": "ERROR", "object": _STATUS}
    body = json.dumps(_STATUS if how == "Answer" else event).encode() + b"\n"
    status = b"410 Gone" if how == "Answer" else b"200 OK"
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


def _cut(connection: socket.socket) -> None:
    """End a connection that another thread may be using: not as TLS would, which is that thread's."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
