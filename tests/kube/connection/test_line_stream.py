"""Lines of a body that a test writes: where it was cut, when it fails, and who ends it."""

from collections.abc import Sequence

import pytest

from reconciler.kube.connection import line_stream
from reconciler.kube.connection.api import QuietError, UnreachableError
from reconciler.kube.connection.line_stream import LineStream


class Body:
    """Pieces, one a read; an exception is a read that fails."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = list(pieces)
        self.ends: list[str] = []
        self.shut: Exception | None = None

    def read1(self, amt: int | None = None) -> bytes:
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, Exception):
            raise piece
        return piece

    def shutdown(self) -> None:
        self.ends.append("shutdown")
        if self.shut is not None:
            raise self.shut

    def close(self) -> None:
        self.ends.append("close")


def lines_of(body: Body) -> LineStream:
    return LineStream(lambda: body, (OSError,), (TimeoutError,))


def read(*pieces: bytes | Exception) -> tuple[list[bytes], str]:
    """The lines that come out, and by what they end."""
    found: list[bytes] = []
    try:
        with lines_of(Body(*pieces)) as lines:
            found.extend(lines)
    except UnreachableError as error:
        return found, f"{type(error).__name__}: {error}"
    return found, ""


@pytest.mark.parametrize(
    ("pieces", "lines", "end"),
    [
        ([b"a\nb\n", b"c\n"], [b"a", b"b", b"c"], ""),
        ([b"a\n\nb\n"], [b"a", b"b"], ""),
        ([b"a", b"b\nc", b"d", b"\n"], [b"ab", b"cd"], ""),
        ([b"a\n", b"b"], [b"a"], "UnreachableError: the watch ended in the middle of an event"),
        ([b"a\n", b" \r"], [b"a"], ""),
        ([b"a\n", OSError("cut")], [b"a"], "UnreachableError: the watch broke: cut"),
        ([b"a\n", TimeoutError("late")], [b"a"], "QuietError: the watch brought nothing within the allowed time"),
        ([b"a\n ", TimeoutError("late")], [b"a"], "QuietError: the watch brought nothing within the allowed time"),
        ([b"a\nb", TimeoutError("late")], [b"a"], "UnreachableError: the watch broke: late"),
    ],
)
def test_how_lines_come_and_end(pieces: Sequence[bytes | Exception], lines: list[bytes], end: str) -> None:
    """Whole lines in their order, wherever they were cut; half a line, a failure and silence each end by their own name."""
    assert read(*pieces) == (lines, end)


def test_an_unforeseen_failure_comes_out() -> None:
    """What the transport does not raise is nothing that was foreseen."""
    with pytest.raises(KeyError), lines_of(Body(KeyError("x"))) as lines:
        next(lines)


def test_a_body_is_given_up_at_the_end() -> None:
    """Once, when the `with` ends."""
    body = Body(b"a\n")
    with lines_of(body) as lines:
        assert list(lines) == [b"a"]
        assert body.ends == []
    assert body.ends == ["close"]


def test_a_stream_that_was_not_opened() -> None:
    """It has no lines."""
    assert list(lines_of(Body(b"a\n"))) == []


def test_cut_before_it_began() -> None:
    """It never begins: what was opened meanwhile is closed."""
    body = Body(b"a\n")
    stream = lines_of(body)
    stream.cut()
    assert body.ends == []
    with pytest.raises(UnreachableError, match="cut before it began"):
        stream.__enter__()
    assert body.ends == ["close"]


@pytest.mark.parametrize("shut", [None, ValueError("closed"), RuntimeError("none"), OSError("gone")])
def test_cut_while_it_is_read(shut: Exception | None) -> None:
    """The reader gets what was read already, then the end; a body that is closed already is no failure."""
    body = Body(b"a\nb\n", b"c\n")
    body.shut = shut
    with lines_of(body) as lines:
        assert next(lines) == b"a"
        lines.cut()
        assert body.ends == ["shutdown"]
        assert list(lines) == [b"b"]
    assert body.pieces == [b"c\n"]


@pytest.mark.parametrize("broken", [OSError("shut down"), TimeoutError("late"), b""])
def test_cut_while_a_read_waits(broken: bytes | Exception) -> None:
    """However the read ends that the cut ended, half a line before it included: that is no failure."""
    body = Body(b"half", broken)
    read1 = body.read1

    def cut_first(amt: int | None = None) -> bytes:
        if len(body.pieces) == 1:
            lines.cut()
        return read1(amt)

    body.read1 = cut_first  # type: ignore[method-assign]
    with lines_of(body) as lines:
        assert list(lines) == []


def test_silence_is_no_break() -> None:
    """Whoever treats both alike need not tell them apart."""
    assert issubclass(QuietError, UnreachableError)


def test_an_event_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never ends its line takes no more memory than the longest event may."""
    monkeypatch.setattr(line_stream, "LONGEST_LINE_BYTES", 10)
    assert read(b"12345", b"67890", b"\n") == ([b"1234567890"], "")
    found, ended = read(b"12345", b"67890", b"1", b"\n")
    assert (found, ended) == ([], "UnreachableError: the watch sent an event of more than 0 MiB")
