"""Policy documents as YAML with comments: texts are quoted as JSON wherever a reader could take them for something else."""

import json
import re
from collections.abc import Mapping

from reconciler.rendering.printers.json_text import inert_json
from reconciler.rendering.words.plain import plain

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
# Words that some YAML reader takes for something other than text.
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
Value = str | int | list["Value"] | Mapping[str, "Value"]


def flow(value: Value) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(part) for part in value) + "]"
    if isinstance(value, int):
        return str(value)
    return value if _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT else inert_json(json.dumps(value))


def block(value: Mapping[str, Value], indent: int) -> list[str]:
    """An object, a key a line; nested objects below their key, lists and what is empty on it."""
    lines = []
    for key, part in value.items():
        head = f"{' ' * indent}{flow(key)}:"
        if isinstance(part, list) and any(isinstance(item, Mapping) for item in part):
            lines += [head, *(f"{' ' * indent}  - {flow(item)}" for item in part)]
        elif isinstance(part, Mapping) and part and any(isinstance(inner, Mapping) for inner in part.values()):
            lines += [head, *block(part, indent + 2)]
        else:
            lines.append(f"{head} {flow(part)}")
    return lines


def comment(text: str, indent: int = 0, width: int = 118) -> list[str]:
    """Lines of a comment; the text cannot end it."""
    words, lines, line = plain(" ".join(text.split())).split(" "), [], ""
    for word in words:
        if line and len(line) + len(word) + 1 > width - indent:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [f"{' ' * indent}# {text}" for text in (*lines, line)]
