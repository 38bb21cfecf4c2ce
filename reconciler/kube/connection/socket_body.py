"""An answer on a socket of its own, which can be read without waiting: so that one thread may wait for thousands of watches.

The client library's pool reads a chunk until its end, however slowly that comes. h11 takes bytes as they come.
"""

import select
import socket
import ssl
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import h11
import msgspec

_CHUNK_BYTES = 262_144
FAILURES = (OSError, h11.RemoteProtocolError)
"""What reading raises."""


class Dial(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is reached: its address `https://HOST[:PORT][/PATH]`, and the TLS settings. `server_name` is the name in its
    certificate (empty: that of the address)."""

    server: str
    context: ssl.SSLContext
    server_name: str = ""


class SocketBody:
    """The answer to one GET. One thread reads; any thread may `shutdown`."""

    def __init__(self, connected: ssl.SSLSocket, silence_seconds: float) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._socket = connected
        self._silence_seconds = silence_seconds
        self._protocol = h11.Connection(h11.CLIENT)

    def fileno(self) -> int:
        """For a selector."""
        return self._socket.fileno()

    def read1(self, amt: int | None = None) -> bytes:
        """Some bytes, as soon as there are any; none at the end. Raises `FAILURES`, `TimeoutError` after the allowed silence."""
        del amt
        while (data := self.read_now()) is None:
            if not self._comes(self._silence_seconds):
                raise TimeoutError("it was silent")
        return data

    def _comes(self, seconds: float) -> bool:
        """Whether there is something on the socket within that time."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(max(seconds, 0) * 1000))

    def read_now(self) -> bytes | None:
        """Some bytes that are there now; None if there are none, b"" at the end. Raises `FAILURES`."""
        while True:
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                try:
                    data = self._socket.recv(_CHUNK_BYTES)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    return None
                except ssl.SSLEOFError:
                    data = b""
                self._protocol.receive_data(data)
            elif isinstance(event, h11.Data):
                if event.data:
                    return bytes(event.data)
            else:
                return b""

    def whole(self, deadline: float, most_bytes: int) -> bytes:
        """All that is left, or about `most_bytes` of it, until a time of the monotonic clock. Raises `FAILURES`."""
        parts, size = [], 0
        while size < most_bytes and (part := self.read_now()) != b"":
            if part is not None:
                parts.append(part)
                size += len(part)
            if time.monotonic() > deadline or (part is None and not self._comes(deadline - time.monotonic())):
                raise TimeoutError("it took too long")
        return b"".join(parts)

    def shutdown(self) -> None:
        """Make a read in another thread end."""
        # Not the method of the TLS socket, which would change what the reading thread uses.
        socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection up."""
        self._socket.close()

    def ask(self, target: str, headers: Mapping[str, str], timeout_seconds: float) -> None:
        """Send the request, and read the head of the answer within the time-out. Raises `FAILURES`."""
        request = h11.Request(method="GET", target=target, headers=list(headers.items()))
        self._socket.sendall((self._protocol.send(request) or b"") + (self._protocol.send(h11.EndOfMessage()) or b""))
        deadline = time.monotonic() + timeout_seconds
        while True:
            event = self._protocol.next_event()
            # A server may also send a head byte by byte, or one interim answer after the other.
            if (left := deadline - time.monotonic()) <= 0:
                raise TimeoutError("the head of the answer took too long")
            if event is h11.NEED_DATA:
                self._socket.settimeout(left)
                data = self._socket.recv(_CHUNK_BYTES)
                if not data:
                    raise ConnectionError("the other side closed the connection before it answered")
                self._protocol.receive_data(data)
            elif isinstance(event, h11.Response):
                self.status = event.status_code
                self.headers = {name.decode("latin-1").title(): value.decode("latin-1") for name, value in event.headers}
                break
        self._socket.setblocking(False)  # noqa: FBT003 - the standard library's own


def opened(
    dial: Dial, path_and_query: str, headers: Mapping[str, str], *, timeout_seconds: float, silence_seconds: float
) -> SocketBody:
    """Connect, ask and read the head. The time-out is for each step of that. Raises `FAILURES`."""
    address = urlsplit(dial.server)
    host, port = address.hostname or "", address.port or 443
    plain = socket.create_connection((host, port), timeout_seconds)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secured = dial.context.wrap_socket(plain, server_hostname=dial.server_name or host)
    except BaseException:
        plain.close()
        raise
    body = SocketBody(secured, silence_seconds)
    try:
        body.ask(f"{address.path.rstrip('/')}{path_and_query}", {"Host": address.netloc, **headers}, timeout_seconds)
    except BaseException:
        body.close()
        raise
    return body
