"""Unpacking a downloaded archive in a child process. The reader of tar headers uses expressions that keep the interpreter's lock,
and 200 kB of gzip can unpack to 200 MB of headers."""

import msgspec

from reconciler.gitops.bounded_child import ChildBounds, ChildError, ChildTooDearError, child_answer
from reconciler.gitops.sources.archive import ArchiveError, ArchiveTooDearError, Unpacked
from reconciler.gitops.sources.archive_child import ArchiveAnswer, ArchiveTask

_MIB = 1 << 20
ARCHIVE_BOUNDS = ChildBounds(seconds=120, cpu_seconds=30, memory_bytes=384 * _MIB, output_bytes=32 * _MIB)
"""The bounds for reading the unpacked files; unpacking a normal archive takes seconds."""
_CHILD = "reconciler.gitops.sources.archive_child"


def bounded_unpacked(archive: bytes, root: str, bounds: ChildBounds = ARCHIVE_BOUNDS) -> Unpacked:
    """As `unpacked`. Raises `ArchiveError`, also if a bound is exceeded."""
    try:
        made = child_answer(_CHILD, ArchiveTask(archive=archive, root=root), bounds)
    except ChildTooDearError as error:
        raise ArchiveTooDearError(f"unpacking the archive took too much {error.bound}, and was stopped") from None
    except (ChildError, OSError) as error:
        raise ArchiveError(f"cannot unpack the archive: {error}") from None
    return msgspec.msgpack.decode(made, type=ArchiveAnswer).unpacked()
