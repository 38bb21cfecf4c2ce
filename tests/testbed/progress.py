"""Lines that say what takes long and how long it took, seen even while pytest captures output."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_stream: TextIO = sys.__stderr__ or sys.stderr


def write_to(stream: TextIO) -> None:
    """Send the lines somewhere else from now on (pytest hands its real terminal in)."""
    global _stream  # noqa: PLW0603 - one terminal a process
    _stream = stream


@contextmanager
def step(text: str) -> Iterator[None]:
    """Announce a step, and its seconds when it is done."""
    started = time.monotonic()
    print(f"    {text} ...", file=_stream, flush=True)
    try:
        yield
    except BaseException:
        print(f"    {text}: failed after {time.monotonic() - started:.0f} s", file=_stream, flush=True)
        raise
    print(f"    {text}: {time.monotonic() - started:.0f} s", file=_stream, flush=True)
