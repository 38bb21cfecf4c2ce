"""Policy files that a command writes: checked by the product itself, and never over what is there."""

from collections.abc import Mapping
from pathlib import Path

from reconciler.cli.failure import InputError
from reconciler.policy.tree import read_tree
from reconciler.rendering.problems.text import render_text


def write_policies(directory: Path, files: Mapping[str, str], now_seconds: int, *, force: bool) -> None:
    """Write the files into `directory`, all or none. Raises `InputError` when one is there already and `force` is not given, and
    when they do not hold as a policy."""
    there = [str(directory / name) for name in files if (directory / name).exists()]
    if there and not force:
        raise InputError(f"{', '.join(there)}: there already; --force overwrites, --out names another directory")
    check_policies(files, now_seconds)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            whole = directory / f".{name}.part"
            whole.write_text(text, encoding="utf-8")
            whole.replace(directory / name)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from None


def check_policies(files: Mapping[str, str], now_seconds: int) -> None:
    """Raises `InputError` with every problem: what was read cannot be said as a policy as it stands."""
    tree = read_tree({name: text.encode() for name, text in files.items()}, now_seconds=now_seconds)
    if not tree.sets:
        raise InputError(f"what was found makes no valid policy:\n{render_text(tree.problems, color=False)}")
