"""A document that a command saves in addition to what it prints (`--out FILE`)."""

from pathlib import Path

from reconciler.cli.outputs.failure import InputError
from reconciler.gitops.whole_file import write_whole


def save_document(text: str, path: Path) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all. Raises `InputError`."""
    if not path.name or path.is_dir():
        raise InputError(f"--out {path}: a directory. Name a file in it")
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror or error}") from None
