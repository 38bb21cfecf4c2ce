"""The codes of log lines and Events: from enumerations where there is one, else from the calls that write them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docs.generator.table import code, table
from reconciler.control.live.turn_lines import action_code
from reconciler.control.turn.turn_report import ResultState
from reconciler.gitops.git.fault import GETTING, FaultCode
from reconciler.plan.plan import ActionKind
from reconciler.providers.contract import RemovalState

_SOURCES = Path(__file__).resolve().parents[2] / "reconciler"
_LEVELS = ("info", "warning", "error")
_QUIETLY = ("_say",)


def log_codes_page() -> str:
    """Log lines, messages of policy sources, and Events."""
    lines = sorted({(name, level, told) for name, level, told in _lines()})
    refused = [(code(str(one)), "Nothing newer is known" if one in GETTING else "It is known and refused") for one in FaultCode]
    return (
        "# Log lines and Events\n\nThe loop logs to stderr: one JSON object per line, or one line of text on a terminal "
        "(`--log-format`). An object has `time`, `level`, `code`, `message`, and the fields of the event. "
        "Codes are stable, sentences are not.\n\n## Lines\n\n"
        + table(["code", "level", "example of its message"], ((code(name), level, told) for name, level, told in lines))
        + "\n## Actions and removals\n\nEach outcome has a code: `result` repeats it, and `resultCode` states why. A line "
        "of text begins with the code, the group and its sizes. It shows what the loop does next: "
        "`ResizeRefused general-a 2 -> 5: conflict with kubectl; retry in 10 s`.\n\n"
        + table(["action", *map(str, ResultState)], _outcomes())
        + "\nTargets that wait for one cause, such as throttling, share one line. `targets` names them. The line comes again "
        "if the cause has ended in between. The end of a drain is "
        + " or ".join(code(f"Removal{state}") for state in RemovalState if state is not RemovalState.DRAINING)
        + ".\n\n## A policy source\n\n"
        "The policy in force stays. The fault is in the log, in `status`, in conditions and in Events.\n\n"
        + table(["code", "meaning"], [*refused, *((code(name), "A source's event") for name in sorted(_events("SourceEvent")))])
        + "\n## Events\n\nOn targets, nodes and pods, with these reasons: "
        + ", ".join(code(name) for name in sorted(_events("Happening")))
        + ". Actions that are refused or fail have the action and the result in one word, such as `ResizeRefused`.\n"
    )


def _outcomes() -> Iterator[list[str]]:
    for kind in ActionKind:
        yield [code(str(kind)), *(code(action_code(kind, state)) for state in ResultState)]


def _lines() -> Iterator[tuple[str, str, str]]:
    for call in _calls():
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name not in _LEVELS + _QUIETLY or len(call.args) < 2:
            continue
        for one in _constants(call.args[0]):
            yield one, "warning" if name in _QUIETLY else name, _words(call.args[1])


def _events(kind: str) -> set[str]:
    found = set()
    for call in _calls():
        if isinstance(call.func, ast.Name) and call.func.id == kind:
            for keyword in call.keywords:
                if keyword.arg == "reason":
                    found |= set(_constants(keyword.value))
    return found


@cache
def _calls() -> tuple[ast.Call, ...]:
    """Every call in the files that log, or that make Events: most do neither, and to parse them takes seconds."""
    words = (*(f".{name}(" for name in _LEVELS + _QUIETLY), "Happening(", "Event(")
    texts = (path.read_text(encoding="utf-8") for path in sorted(_SOURCES.rglob("*.py")))
    trees = [ast.parse(text) for text in texts if any(word in text for word in words)]
    return tuple(node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))


def _constants(node: ast.expr) -> list[str]:
    """The words that an expression may have as its value: one, or either of two."""
    if isinstance(node, ast.IfExp):
        return [*_constants(node.body), *_constants(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [one for part in node.values for one in _constants(part)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value[:1].isupper() else []


def _words(node: ast.expr) -> str:
    """A message with `…` in place of inserted values."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"
