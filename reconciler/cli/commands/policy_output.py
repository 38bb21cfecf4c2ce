"""Policy files that a command writes: checked by the product itself, and never over what is there."""

from collections.abc import Mapping
from pathlib import Path

from reconciler.cli.inputs.policy_files import read_policy_tree
from reconciler.cli.outputs.failure import InputError
from reconciler.gitops.whole_file import write_whole
from reconciler.policy.tree import read_tree
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.schemas.generated import schema_text
from reconciler.rendering.schemas.policy_schema import policy_schema

SCHEMA_FILE = ".policy.schema.json"
"""Hidden, so that no reader of policies takes it for one."""
MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"


def write_policies(directory: Path, files: Mapping[str, str], now_seconds: int, *, force: bool) -> None:
    """Write the files into `directory`, all or none, and the schema of this release next to them. Each file has a line that names
    the schema for editors. Raises `InputError` when one exists already and `force` is not given, and when they are not a valid
    policy."""
    there = [str(directory / name) for name in files if (directory / name).exists()]
    if there and not force:
        raise InputError(f"{', '.join(there)}: exists already. Overwrite it with --force, or name another directory with --out")
    check_policies(files, now_seconds)
    _refuse_second_policy(directory, files, now_seconds)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(directory / SCHEMA_FILE, schema_text(policy_schema()).encode())
        for name, text in files.items():
            write_whole(directory / name, (MODELINE + text).encode())
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from None


def _refuse_second_policy(directory: Path, files: Mapping[str, str], now_seconds: int) -> None:
    """With a policy that stays there, the files would make a tree of two policies, or of two groups for one target."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory}: not a directory. Name one with --out")
    staying = {name: body for name, body in read_policy_tree([directory]).files.items() if name not in files}
    names = sorted(entry.policy.name for entry in read_tree(staying, now_seconds=now_seconds).sets)
    if names:
        raise InputError(f"{directory}: holds policy {', '.join(names)} already. Name another directory with --out")


def check_policies(files: Mapping[str, str], now_seconds: int) -> None:
    """Raises `InputError` with every problem: what was read cannot be said as a policy as it stands."""
    tree = read_tree({name: text.encode() for name, text in files.items()}, now_seconds=now_seconds)
    if not tree.sets:
        raise InputError(f"the objects found do not give a valid policy:\n{render_text(tree.problems, color=False)}")
