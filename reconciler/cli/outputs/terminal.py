"""What the terminal is like: colour, and a line of progress where somebody waits in front of it."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from reconciler.values.later import Later
from reconciler.values.whole_number import whole_number

if TYPE_CHECKING:
    import shutil
else:
    shutil = Later("shutil")

PATIENCE_SECONDS = 1.0
LEAST_COLUMNS, MOST_COLUMNS = 60, 100


def wants_colour(stream: TextIO) -> bool:
    """What `--color` says; else a terminal, and neither `NO_COLOR` (https://no-color.org), `CI` nor a dumb terminal."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("CI") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not unwanted


def text_width(stream: TextIO) -> int:
    """Width at which text is wrapped, in columns: `COLUMNS` if it is set, the width of a narrow terminal, else 100. A file or a
    pipe thus gets the same everywhere."""
    columns = whole_number(os.environ.get("COLUMNS", ""))
    if columns:
        return max(LEAST_COLUMNS, columns)
    if not stream.isatty():
        return MOST_COLUMNS
    return min(MOST_COLUMNS, max(LEAST_COLUMNS, shutil.get_terminal_size((MOST_COLUMNS, 24)).columns))


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Show `label` on stderr once the block has taken a second, on a terminal only; it is gone afterwards."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield
        return
    shown = threading.Event()
    timer = threading.Timer(PATIENCE_SECONDS, lambda: _show(label, shown))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _show(label: str, shown: threading.Event) -> None:
    shown.set()
    sys.stderr.write(f"{label}…")
    sys.stderr.flush()
