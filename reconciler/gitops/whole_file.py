"""A file that is written whole or not at all, also in a directory that others may write to."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write beside `path`, flush, and move into place: a reader and a crash see the old file or the new one. Raises `OSError`.

    The neighbour has a name that nobody knows before and must not be there yet, so that a link that was planted under it, or
    under `path` itself, leads nowhere: the first is not opened, the second is replaced.
    """
    whole = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        whole.replace(path)
    except OSError:
        whole.unlink(missing_ok=True)
        raise
