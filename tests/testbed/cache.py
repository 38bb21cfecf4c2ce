"""Where built components live between runs, outside the checkout, and how two processes share one build."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

WITHOUT = "RECONCILER_TESTS_WITHOUT_COMPONENTS"
"""Set while tests run that may neither build nor start a component."""
_asked: list[None] = []


class NotAvailableError(Exception):
    """A component that these tests need cannot be had here; the text says why and what would help."""


def component_wanted() -> None:
    """Each way to a component passes here. Raises NotAvailableError where tests may not have any."""
    note_component()
    if os.environ.get(WITHOUT):
        raise NotAvailableError("`make test` starts no component: `make test-all` runs this, and measures what it costs.")


def note_component() -> None:
    """The test that runs wants a component, or would if there were one."""
    _asked.append(None)


def times_asked() -> int:
    """How often this process wanted a component."""
    return len(_asked)


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/nodegroup-reconciler`, made if need be."""
    component_wanted()
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(above) / "nodegroup-reconciler"
    path.mkdir(parents=True, exist_ok=True)
    return path


def content_key(files: Iterable[Path], *words: str) -> str:
    """A short name for exactly these files (by name and content) and words."""
    digest = hashlib.sha256("\0".join(words).encode())
    for file in sorted(files, key=lambda path: path.name):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:20]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is made; a second process waits."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
