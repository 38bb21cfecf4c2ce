"""The body of a watch as lines, while it is still being written at the other end."""

from collections.abc import Callable
from typing import Protocol

from reconciler.kube.connection.api import QuietError, UnreachableError

_CHUNK_BYTES = 262_144


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

    `failures` are the exceptions that the transport raises while it reads: they come out as `UnreachableError`, and as
    `QuietError` those of `silences` that come between two lines. `broken` is called before an `UnreachableError`.
    """

    def __init__(
        self,
        open_body: Callable[[], Body],
        failures: tuple[type[Exception], ...],
        silences: tuple[type[Exception], ...] = (),
        broken: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_body = open_body
        self._failures = failures
        self._silences = silences
        self._broken = broken
        self._body: Body | None = None
        self._rest = b""
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
            self._read()
        return self._lines.pop()

    def cut(self) -> None:
        """End the stream from another thread: the reader gets what was read already, then the end."""
        self._is_cut = True
        body = self._body
        if body is None:
            return
        try:
            body.shutdown()
        except (ValueError, RuntimeError, OSError):
            # Closed already, by its reader or by the other end.
            return

    def _read(self) -> None:
        if self._body is None or self._is_cut:
            raise StopIteration
        try:
            chunk = self._body.read1(_CHUNK_BYTES)
        except self._failures as error:
            if self._is_cut:
                raise StopIteration from None
            if isinstance(error, self._silences) and not self._rest.strip():
                raise QuietError("the watch brought nothing for as long as it may") from None
            self._broken()
            raise UnreachableError(f"the watch broke: {type(error).__name__}: {error}") from None
        if not chunk:
            rest, self._rest = self._rest, b""
            if rest.strip() and not self._is_cut:
                self._broken()
                raise UnreachableError("the watch broke off in the middle of an event")
            raise StopIteration
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            self._rest += chunk
            return
        # Taken from the end: popping there costs nothing, however many lines a chunk holds.
        self._lines = [line for line in reversed((self._rest + head).split(b"\n")) if line]
        self._rest = tail
