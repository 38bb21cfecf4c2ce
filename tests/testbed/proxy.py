"""A proxy on loopback between one client and the API server, through which a connection can go wrong in every way."""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from tests.testbed.control_plane import ControlPlane

# Through: all bytes pass. HalfOpen: connections are accepted and stay, nothing passes in either direction. Refused: new
# connections end at once. TooManyRequests: whoever connects anew gets the answer 429.
Mode = Literal["Through", "HalfOpen", "Refused", "TooManyRequests"]
_Pair = tuple[socket.socket, socket.socket]
_CHUNK_BYTES = 65536
_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b"
)
_STATUS = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Too many requests, please try again later.",'
    b'"reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}'
)


class Proxy:
    """Forwards TLS as it is, so client certificates work; close it, or use it in a `with`. `url` is where it listens,
    `accepted` how many connections there were."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        host, port = plane.server.removeprefix("https://").split(":")
        self._target = (host, int(port))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*plane.authority.server("proxy"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self._mode: Mode = "Through"
        self._delay_seconds = 0.0
        self._changed = threading.Condition()
        self._pairs: list[_Pair] = []
        self._closed = False
        self._threads: list[threading.Thread] = []
        self.accepted = 0
        self._start(self._accept)

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def kubeconfig_of(self, user: str, *groups: str) -> Path:
        """A kubeconfig that reaches the API server through this proxy."""
        return self._plane.kubeconfig_of(user, *groups, server=self.url)

    def set(self, mode: Mode) -> None:
        """What happens from now on; connections that are there follow HalfOpen and Through, the other modes cut them."""
        with self._changed:
            self._mode = mode
            self._changed.notify_all()
        if mode in ("Refused", "TooManyRequests"):
            self.cut()

    def delay(self, seconds: float) -> None:
        """Hold back each piece of an answer for so long."""
        with self._changed:
            self._delay_seconds = seconds
            self._changed.notify_all()

    def cut(self) -> int:
        """Cut all connections that are open now; how many there were."""
        with self._changed:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _cut(pair)
        return len(pairs)

    def close(self) -> None:
        """Cut everything and stop listening."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, name="proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self._mode == "Refused":
                client.close()
            elif self._mode == "TooManyRequests":
                self._start(self._refuse, client)
            else:
                self._start(self._connect, client)

    def _connect(self, client: socket.socket) -> None:
        self._while_open()
        try:
            server = socket.create_connection(self._target, timeout=60)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        pair = (client, server)
        with self._changed:
            self._pairs.append(pair)
        if self._closed:
            _cut(pair)
        self._start(self._pass, client, server)
        self._pass(server, client, answers=True)

    def _pass(self, source: socket.socket, target: socket.socket, *, answers: bool = False) -> None:
        """Pass bytes one way until either side ends."""
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                if answers:
                    self._hold_back()
                self._while_open()
                target.sendall(data)
        _cut((source, target))
        with self._changed:
            self._pairs = [pair for pair in self._pairs if source not in pair]

    def _while_open(self) -> None:
        """Return when bytes may pass."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._mode != "HalfOpen")

    def _hold_back(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._delay_seconds, timeout=self._delay_seconds)

    def _refuse(self, client: socket.socket) -> None:
        """Answer every request of a connection with 429; for this the proxy speaks TLS itself."""
        with suppress(OSError), client:
            client.settimeout(10)
            with self._context.wrap_socket(client, server_side=True) as secure:
                head = b""
                while b"\r\n\r\n" not in head and (data := secure.recv(_CHUNK_BYTES)):
                    head += data
                secure.sendall(_TOO_MANY % (len(_STATUS), _STATUS))
                # A client that still sends its body would take a reset for the answer.
                with suppress(OSError):
                    secure.unwrap()


def _cut(pair: _Pair) -> None:
    for one in pair:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
