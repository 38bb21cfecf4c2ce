"""A file that is written completely or not at all, also in a directory that others may write to."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write to another name, flush, and move into place: a reader and a crash see the old file or the new one. Raises `OSError`.

    Nobody can predict the other name, and it must not exist yet. So a planted link leads nowhere. A link under that name is not
    opened, and a link under `path` itself is replaced.
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
