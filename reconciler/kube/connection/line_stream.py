"""The body of a watch as lines, while it is still being written at the other end."""

from collections.abc import Callable
from typing import Protocol

from reconciler.kube.connection.api import QuietError, UnreachableError
from reconciler.kube.connection.socket_body import SocketBody
from reconciler.kube.connection.unreachable_cause import cause

_CHUNK_BYTES = 262_144
LONGEST_LINE_BYTES = 16 * 1024 * 1024
"""A longer event ends the stream. SOURCE: etcd takes requests of 1.5 MiB; an object is a little longer as JSON."""


class Body(Protocol):
    """The part of an HTTP answer that is read here."""

    def read1(self, amt: int | None = None) -> bytes:
        """Some bytes, as soon as there are any; none at the end."""

    def shutdown(self) -> None:
        """Make a read in another thread end."""

    def close(self) -> None:
        """Give the connection up."""


class LineStream:
    """Lines of one answer, opened by `with`. One thread reads; any thread may `cut`.

    `failures` are the exceptions that the transport raises while it reads. They come out as `UnreachableError`. If those of
    `silences` come between two lines, they come out as `QuietError`. `broken` is called before an `UnreachableError`. The body
    may be silent for `silence_seconds`.
    """

    def __init__(
        self,
        open_body: Callable[[], Body],
        failures: tuple[type[Exception], ...],
        silences: tuple[type[Exception], ...] = (),
        broken: Callable[[], None] = lambda: None,
        silence_seconds: float = 0.0,
    ) -> None:
        self.silence_seconds = silence_seconds
        self._open_body = open_body
        self._failures = failures
        self._silences = silences
        self._broken = broken
        self._body: Body | None = None
        self._rest = bytearray()  # An event that comes in small pieces is not copied with each.
        self._lines: list[bytes] = []
        self._is_cut = False

    def __enter__(self) -> "LineStream":
        self._body = self._open_body()
        if self._is_cut:
            self._body.close()
            raise UnreachableError("the stream was cut before it began")
        return self

    def __exit__(self, *_: object) -> None:
        if self._body is not None:
            self._body.close()

    def __iter__(self) -> "LineStream":
        return self

    def __next__(self) -> bytes:
        while not self._lines:
            if not self._read():
                raise StopIteration
        return self._lines.pop()

    def fileno(self) -> int:
        """The socket to wait for before `ready_lines`; -1 if the body has none."""
        return self._body.fileno() if isinstance(self._body, SocketBody) else -1

    def ready_lines(self) -> list[bytes] | None:
        """The lines that are there now, of a body that has a socket: none if more is to come, None at the end. Raises as the
        iteration does."""
        while not self._lines:
            whole = self._read(waits=False)
            if whole is None:
                return []
            if not whole:
                return None
        lines, self._lines = self._lines[::-1], []
        return lines

    def silence(self) -> UnreachableError:
        """What the iteration raises after the allowed silence, for one who waits elsewhere."""
        return self._failure(TimeoutError("it was silent"))

    def cut(self) -> None:
        """End the stream from another thread. The reader gets what was already read, then the end."""
        self._is_cut = True
        body = self._body
        if body is None:
            return
        try:
            body.shutdown()
        except (ValueError, RuntimeError, OSError):
            # Closed already, by its reader or by the other end.
            return

    def _cut_meanwhile(self) -> bool:
        return self._is_cut

    def _failure(self, error: Exception) -> UnreachableError:
        if isinstance(error, self._silences) and not self._rest.strip():
            return QuietError("the watch brought nothing within the allowed time")
        self._broken()
        return UnreachableError(f"the watch broke: {cause(error)}")

    def _read(self, *, waits: bool = True) -> bool | None:
        """Read once; false at the end, and None if there is nothing now and it does not wait."""
        body = self._body
        if body is None or self._is_cut:
            return False
        try:
            chunk = body.read_now() if not waits and isinstance(body, SocketBody) else body.read1(_CHUNK_BYTES)
        except self._failures as error:
            if self._cut_meanwhile():
                return False
            raise self._failure(error) from None
        if chunk is None:
            return None
        if not chunk:
            rest, self._rest = self._rest, bytearray()
            if rest.strip() and not self._is_cut:
                self._broken()
                raise UnreachableError("the watch ended in the middle of an event")
            return False
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            self._rest += chunk
            if len(self._rest) > LONGEST_LINE_BYTES:
                self._broken()
                raise UnreachableError(f"the watch sent an event of more than {LONGEST_LINE_BYTES >> 20} MiB")
            return True
        # Taken from the end: popping there is cheap, however many lines a chunk has.
        self._lines = [line for line in reversed((bytes(self._rest) + head).split(b"\n")) if line]
        self._rest = bytearray(tail)
        return True
