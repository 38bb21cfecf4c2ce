"""Unpacking an archive that was downloaded, in a child process: heads of a tar are read by expressions that keep the
interpreter's lock, and 200 kB of gzip can be 200 MB of them."""

import msgspec

from reconciler.gitops.bounded_child import ChildBounds, ChildError, ChildTooDearError, child_answer
from reconciler.gitops.sources.archive import ArchiveError, ArchiveTooDearError, Unpacked
from reconciler.gitops.sources.archive_child import ArchiveAnswer, ArchiveTask

_MIB = 1 << 20
ARCHIVE_BOUNDS = ChildBounds(seconds=120, cpu_seconds=30, memory_bytes=384 * _MIB, output_bytes=32 * _MIB)
"""As for reading what comes out; of an archive that fits, unpacking takes seconds."""
_CHILD = "reconciler.gitops.sources.archive_child"


def bounded_unpacked(archive: bytes, root: str, bounds: ChildBounds = ARCHIVE_BOUNDS) -> Unpacked:
    """As `unpacked`, which it is. Raises `ArchiveError`, also where a bound is met."""
    try:
        made = child_answer(_CHILD, ArchiveTask(archive=archive, root=root), bounds)
    except ChildTooDearError as error:
        raise ArchiveTooDearError(f"unpacking the archive took too much {error.bound}, and was ended") from None
    except (ChildError, OSError) as error:
        raise ArchiveError(f"the archive could not be unpacked: {error}") from None
    return msgspec.msgpack.decode(made, type=ArchiveAnswer).unpacked()
