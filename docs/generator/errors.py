"""The errors that the code raises, as a tree: what each means, and where it is defined."""

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import msgspec

from docs.generator.table import code

ROOT = Path(__file__).resolve().parents[2]
_LAYERS = (
    "values", "policy", "cluster", "scheduling", "decisions", "plan", "rendering", "importers", "simulation", "gitops", "kube",
    "control", "providers", "platforms", "cli",
)  # fmt: skip


class _Error(msgspec.Struct, frozen=True, kw_only=True):
    module: str
    name: str
    base: str
    meaning: str


def errors_page() -> str:
    """By folder, in the order of the data flow. An error below another one is caught with it."""
    found = list(_errors())
    text = (
        "# Errors\n\n"
        "The code raises these errors, for people who use it as a library or change it. No command ends in a traceback:\n"
        "`reconciler` turns each of these into a sentence and an [exit code](exit-codes.md). An indented error is caught\n"
        "together with the one above it. `ValueError` marks a text that could not be read.\n"
    )
    names = {error.name for error in found}
    for layer in sorted({error.module.split(".")[1] for error in found}, key=_LAYERS.index):
        text += f"\n## {code(f'reconciler.{layer}')}\n\n"
        here = [error for error in found if error.module.split(".")[1] == layer]
        roots = [error for error in here if error.base not in {other.name for other in here}]
        for error in roots:
            text += "".join(_lines(error, here, 0, names))
    return text


def _lines(error: _Error, here: list[_Error], depth: int, names: set[str]) -> Iterator[str]:
    below = f", a {code(error.base)}" if depth == 0 and (error.base in names or error.base != "Exception") else ""
    yield f"{'  ' * depth}- {code(error.name)}{below}: {error.meaning} ({code(error.module.removeprefix('reconciler.'))})\n"
    alone = sum(other.name == error.name for other in here) == 1
    for other in here:
        if other.base == error.name and (alone or other.module == error.module):
            yield from _lines(other, here, depth + 1, names)


def _errors() -> Iterator[_Error]:
    """Every public class of the package that is an exception, by module."""
    classes: dict[tuple[str, str], tuple[str, str]] = {}
    for path in sorted((ROOT / "reconciler").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.bases and not node.name.startswith("_"):
                base = ast.unparse(node.bases[0]).rpartition(".")[2]
                meaning = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                classes[module, node.name] = (base, meaning)
    errors = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)}
    errors.add("ClickException")
    while more := {name for (_, name), (base, _) in classes.items() if base in errors} - errors:
        errors |= more
    for (module, name), (base, meaning) in classes.items():
        if name in errors:
            yield _Error(module=module, name=name, base=base, meaning=meaning)
