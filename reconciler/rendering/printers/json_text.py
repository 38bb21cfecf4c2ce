"""JSON as it is printed: the same values for programs, and nothing in it that steers a terminal or a runner of workflows."""

import re
from typing import Literal

import msgspec

from reconciler.rendering.words.plain import hidden

_BEYOND_ASCII = re.compile("[^\\x00-\\x7e]")
_COMMAND = re.compile("#(?=#)")


def json_text(document: object, order: Literal["deterministic"] | None = "deterministic") -> str:
    """Two spaces of indentation, keys in declared order; ends with a newline."""
    return inert_json(msgspec.json.format(msgspec.json.encode(document, order=order), indent=2).decode()) + "\n"


def inert_json(text: str) -> str:
    """JSON text with some characters of its strings escaped: hidden ones, and the first of `##`, which may begin a command
    anywhere in a line."""
    if not text.isascii() or "\x7f" in text:
        text = _BEYOND_ASCII.sub(lambda match: _escaped(match[0]) if hidden(match[0]) else match[0], text)
    return _COMMAND.sub(r"\\u0023", text) if "##" in text else text


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
