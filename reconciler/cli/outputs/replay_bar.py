"""How far a replay is, for somebody who waits in front of it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.simulation.replays.replay import Progress

_PARTS = 1000


@contextmanager
def replay_bar() -> "Iterator[Progress | None]":
    """A bar of progress on stderr, on a terminal only; it is gone afterwards."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    with click.progressbar(length=_PARTS, label="replaying", file=sys.stderr, show_eta=True) as bar:

        def advance(done: int, of: int) -> None:
            bar.update(_PARTS * done // max(1, of) - bar.pos)

        yield advance
    sys.stderr.write("\x1b[1A\r\x1b[K")
    sys.stderr.flush()
