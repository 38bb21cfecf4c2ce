"""What a text in an infrastructure file comes to, as far as the files say it: literal values, references to them, templates.

Nothing is executed. What cannot be known is a gap, and a text with gaps is compared like one with wildcards.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reconciler.policy.manifests.manifest_object import entry_of
from reconciler.policy.problems.findings import Source
from reconciler.policy.yaml_nodes import Mapping as MappingNode
from reconciler.policy.yaml_nodes import Node, Scalar, Sequence, is_null

UNKNOWN = "\0"
"""A part of a text that its file does not say."""
CHOSEN = "\1"
"""A part of a name that a cloud or a tool chooses. No text of a file has these two characters."""
_MOST_HOPS, _MOST_LOOKUPS, _MOST_CHARACTERS = 8, 100, 1000
_PATH = r"((?:(?:var|local)\.)?[\w-]+)((?:\.[\w-]+|\[\"[^\"\]]*\"\]|\[[0-9]+\])*)"
_REFERENCE = re.compile(_PATH)
_STEP = re.compile(r"\.([\w-]+)|\[\"?([^\"\]]*)\"?\]")
_LITERAL = re.compile(r"-?[0-9]+|true|false")
_TEMPLATE = re.compile(r"\$\{\s*(?P<reference>" + _PATH + r")\s*\}")
_BEGINS_TEMPLATE = re.compile(r"(?<!\$)\$\{|(?<!%)%\{")


class Written(msgspec.Struct, frozen=True):
    """A value and the text that it is in."""

    source: Source
    node: Node


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What references of one file may lead to. `values` are all that a name may stand for. `bare`: a text without quotes is an
    expression. `templates`: `${NAME}` in a text stands for a value."""

    values: Mapping[str, tuple[Written, ...]] = {}
    bare: bool = False
    templates: bool = False


def resolved(written: Written, scope: Scope, hops: int = _MOST_HOPS) -> Iterator[Written]:
    """The value, or every value that the reference in its place may stand for; a reference that leads nowhere is itself."""
    reference = _reference(written.node, scope)
    found = list(_values(reference, scope)) if reference else []
    if not found or not hops:
        yield written
    for value in found if hops else ():
        yield from resolved(value, scope, hops - 1)


def text_in(node: Node | None, scope: Scope) -> str:
    """A text, with `UNKNOWN` for what the file does not say."""
    text = _text(node, scope, [_MOST_LOOKUPS], _MOST_HOPS)
    return text if len(text) <= _MOST_CHARACTERS else UNKNOWN


def known(text: str) -> bool:
    """Whether the files say all of it."""
    return UNKNOWN not in text


def fits(pattern: str, text: str) -> bool:
    """Whether gaps of any length, filled, make the pattern `text`."""
    first, *others = re.split(f"[{UNKNOWN}{CHOSEN}]+", pattern)
    if not others:
        return text == first
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def shown_pattern(pattern: str) -> str:
    """For a message."""
    return re.sub(f"[{UNKNOWN}{CHOSEN}]+", "*", pattern)[:80]


def _text(node: Node | None, scope: Scope, left: list[int], hops: int) -> str:
    left[0] -= 1
    if node is None or left[0] < 0 or not hops:
        return UNKNOWN
    reference = _reference(node, scope)
    if reference:
        return _one(_values(reference, scope), scope, left, hops)
    if isinstance(node, MappingNode):
        return _filled(entry_of(node, "Sub") or entry_of(node, "Fn::Sub"), scope, left, hops)
    if isinstance(node, Sequence):
        return UNKNOWN
    if scope.bare and node.plain:
        return node.text if _LITERAL.fullmatch(node.text) else UNKNOWN
    return _filled(node, scope, left, hops) if scope.templates else node.text


def _filled(node: Node | None, scope: Scope, left: list[int], hops: int) -> str:
    """A template with its references filled in."""
    if not isinstance(node, Scalar) or len(node.text) > _MOST_CHARACTERS:
        return UNKNOWN
    parts: list[str] = []
    at = 0
    for match in _TEMPLATE.finditer(node.text):
        literal = node.text[at : match.start()]
        parts += (literal, _one(_values(match["reference"], scope), scope, left, hops))
        at = match.end()
    text = "".join((*parts, node.text[at:]))
    other = _BEGINS_TEMPLATE.search(text)
    return text if other is None else text[: other.start()] + UNKNOWN


def _one(values: Iterable[Written], scope: Scope, left: list[int], hops: int) -> str:
    """The text that all values have."""
    texts = {_text(value.node, scope, left, hops - 1) for value in values}
    return texts.pop() if len(texts) == 1 else UNKNOWN


def _reference(node: Node, scope: Scope) -> str:
    """What a whole value refers to; empty where it is a value itself."""
    if isinstance(node, MappingNode):
        name = entry_of(node, "Ref")
        return name.text if isinstance(name, Scalar) and len(node.pairs) == 1 else ""
    if not isinstance(node, Scalar):
        return ""
    if scope.bare and node.plain:
        return node.text if _REFERENCE.fullmatch(node.text) and not _LITERAL.fullmatch(node.text) else ""
    match = _TEMPLATE.fullmatch(node.text) if scope.templates else None
    return match["reference"] if match is not None else ""


def _values(reference: str, scope: Scope) -> Iterator[Written]:
    match = _REFERENCE.fullmatch(reference)
    for value in scope.values.get(match[1], ()) if match is not None else ():
        node: Node | None = value.node
        for step in _STEP.finditer(match[2]) if match is not None else ():
            node = entry_of(node, step[1] or step[2])
        if node is not None and not is_null(node):
            yield Written(value.source, node)
