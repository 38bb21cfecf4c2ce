"""Writes a snapshot to disk, completely or not at all."""

import gzip
import shutil
from collections.abc import Mapping
from pathlib import Path

from reconciler.cli.outputs.failure import InputError

_MANIFEST = "snapshot.yaml"


def checked_directory(path: Path, *, force: bool) -> None:
    """Raises `InputError` when a snapshot may not be written there: something is there that would be lost."""
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir() or path.is_symlink():
        raise InputError(f"--out {path}: it is there and no directory")
    if not any(path.iterdir()):
        return
    if not (path / _MANIFEST).is_file():
        raise InputError(f"--out {path}: the directory is not empty and no snapshot ({_MANIFEST} is missing): name another one")
    if not force:
        raise InputError(f"--out {path}: a snapshot exists there already. Replace it with --force")


def write_snapshot(path: Path, files: Mapping[str, bytes], *, zipped: bool) -> None:
    """Write next to `path`, then rename into its place. Raises `InputError`."""
    whole = path.with_name(f".{path.name}.part")
    try:
        if whole.exists():
            shutil.rmtree(whole)
        for name, content in files.items():
            packed = zipped and name != _MANIFEST
            file = whole / (f"{name}.gz" if packed else name)
            file.parent.mkdir(parents=True, exist_ok=True)
            # Without a time in it, so that the same objects give the same bytes.
            file.write_bytes(gzip.compress(content, mtime=0) if packed else content)
        if path.exists():
            shutil.rmtree(path)
        whole.rename(path)
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror or error}") from None
