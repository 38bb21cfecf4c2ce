"""A document that a command saves beside what it prints (`--out FILE`)."""

from pathlib import Path

from reconciler.cli.outputs.failure import InputError


def save_document(text: str, path: Path) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all. Raises `InputError`."""
    if not path.name or path.is_dir():
        raise InputError(f"--out {path}: a directory; name a file in it")
    # Through a neighbour, so that a reader never sees half a document.
    whole = path.with_name(f".{path.name}.part")
    try:
        whole.write_text(text, encoding="utf-8")
        whole.replace(path)
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror or error}") from None
