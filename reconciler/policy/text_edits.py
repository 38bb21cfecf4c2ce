"""Changes of single values in policy texts. Everything else, with comments, order and anchors, stays byte for byte."""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from reconciler.policy import documents
from reconciler.policy import yaml_nodes as tree
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.yaml_nodes import Node, Scalar

_STEP = re.compile(r"([^.\[\]]+)|\[([^\[\]]+)\]")
_ANCHOR = re.compile(r"&\S+\s+")
_INDENT = "  "


class Setting(msgspec.Struct, frozen=True, order=True):
    """One key of one document. `path` is from the root, items of lists by name: `spec.tiers[spot].defaults.headroom.nodes`."""

    kind: str
    name: str
    path: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.path}"


class Edit(msgspec.Struct, frozen=True, order=True):
    """The value that a setting gets: one text, or a list of words. With `reorders`, the words are the names of the items that
    stand there, in their new order."""

    setting: Setting
    value: str | tuple[str, ...]
    reorders: bool = False


class EditError(ValueError):
    """A value that only a person can change; `place` is where it is, as far as that is known."""

    def __init__(self, setting: Setting, message: str, place: Place | None = None) -> None:
        super().__init__(f"{setting} cannot be changed: {message}" + ("" if place is None else f" ({place})"))


def written(files: Mapping[str, bytes], setting: Setting) -> str | tuple[str, ...] | None:
    """What the texts say there: a text, or the words of a list or the names of its items. None: nothing. Raises `EditError`."""
    found = _Found(files, setting)
    node = found.nodes[-1] if not found.missing else None
    if isinstance(node, tree.Sequence):
        return tuple(_label(item) for item in node.items)
    return node.text if isinstance(node, Scalar) else None


def edited(files: Mapping[str, bytes], edits: Sequence[Edit]) -> dict[str, bytes]:
    """The texts by path with these values, one change after the other. Raises `EditError`."""
    texts = dict(files)
    for edit in edits:
        found = _Found(texts, edit.setting)
        texts[found.path] = found.bom + _changed(found, edit).encode()
        if written(texts, edit.setting) != edit.value:
            raise EditError(edit.setting, "write it by hand", found.place())
    return texts


class _Found:
    """Where a setting is. `nodes` lead from the root of its document to the value, or to the last one before `missing` keys."""

    def __init__(self, files: Mapping[str, bytes], setting: Setting) -> None:
        places = [(path, root) for path in sorted(files) for root in _roots(path, files[path]) if _is(root, setting)]
        if len(places) != 1:
            raise EditError(setting, f"{len(places)} documents have this name" if places else "no document has this name")
        self.setting = setting
        self.path, root = places[0]
        data = files[self.path]
        self.bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        self.text = data.removeprefix(codecs.BOM_UTF8).decode()
        self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.nodes: list[Node] = [root]
        keys = [key or f"[{item}]" for key, item in _STEP.findall(setting.path)]
        while keys and (child := _child(self.nodes[-1], keys[0])) is not None:
            self.nodes.append(child)
            keys.pop(0)
        self.missing = keys
        repeated = {id(node) for node in self.nodes}
        for node in _below(root):
            if id(node) in repeated:
                repeated.remove(id(node))
            elif any(node is one for one in self.nodes):
                raise EditError(setting, "an alias repeats it, so it applies to other values as well", self.place())

    def place(self) -> Place:
        """Of the value, or of what it would be written into."""
        return Place(self.path, self.nodes[-1].line, self.nodes[-1].column)

    def at(self, line: int, column: int) -> int:
        """Lines and columns from 1 -> an offset in the text."""
        return self._starts[line - 1] + column - 1

    def span(self, node: Node) -> tuple[int, int]:
        """Where the text of a scalar or of a list or mapping in brackets begins and ends."""
        return self.at(node.line, node.column), self.at(node.end_line, node.end_column)

    def line_start(self, line: int) -> int:
        """Where a line begins; the end of the text for a line after the last."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def last_line(self, node: Node) -> int:
        """The line on which a node ends. The parser ends a block where the next one begins, so its last value counts."""
        if isinstance(node, tree.Mapping) and node.pairs and not self.in_brackets(node):
            key, value = node.pairs[-1]
            return max(key.line, self.last_line(value))
        if isinstance(node, tree.Sequence) and node.items and not self.in_brackets(node):
            return max(node.line, self.last_line(node.items[-1]))
        return node.end_line - 1 if node.end_column == 1 and node.end_line > node.line else node.end_line

    def in_brackets(self, node: Node) -> bool:
        """Whether a collection is written as `[…]` or `{…}`, behind its anchor."""
        return _ANCHOR.sub("", self.text[self.at(node.line, node.column) :], count=1)[:1] in ("[", "{")


def _changed(found: _Found, edit: Edit) -> str:
    if found.missing:
        if edit.reorders or found.missing[0].startswith("["):
            raise EditError(edit.setting, f"{found.missing[0]} is not there", found.place())
        return _inserted(found, _text(edit.value))
    node = found.nodes[-1]
    if edit.reorders:
        return _reordered(found, node, edit)
    if isinstance(node, tree.Sequence) and not found.in_brackets(node) and not isinstance(edit.value, str):
        start, end = found.line_start(node.items[0].line), found.line_start(found.last_line(node) + 1)
        margin, end_of_line = found.text[start : found.text.index("-", start)], _end_of_line(found)
        return found.text[:start] + "".join(f"{margin}- {word}{end_of_line}" for word in edit.value) + found.text[end:]
    if isinstance(node, tree.Mapping) or (isinstance(node, Scalar) and node.line != node.end_line):
        raise EditError(edit.setting, "its value is longer than a line", found.place())
    start, end = found.span(node)
    anchor = _ANCHOR.match(found.text, start)
    return found.text[: anchor.end() if anchor else start] + _text(edit.value) + found.text[end:]


def _end_of_line(found: _Found) -> str:
    return "\r\n" if "\r\n" in found.text else "\n"


def _text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else f"[{', '.join(value)}]"


def _inserted(found: _Found, text: str) -> str:
    """A key that is missing stands at the end of the mapping that it belongs to, in its style."""
    parent = found.nodes[-1]
    if not isinstance(parent, tree.Mapping):
        raise EditError(found.setting, "it is not in a mapping", found.place())
    if found.in_brackets(parent):
        inner = text
        for key in reversed(found.missing[1:]):
            inner = f"{{{key}: {inner}}}"
        entry = f"{found.missing[0]}: {inner}"
        if not parent.pairs:
            at = found.text.index("{", found.at(parent.line, parent.column)) + 1
            return found.text[:at] + entry + found.text[at:]
        key, value = parent.pairs[-1]
        at = found.span(value)[1]
        if at <= found.span(key)[1]:
            raise EditError(found.setting, "the last value before it is an alias", found.place())
        return f"{found.text[:at]}, {entry}{found.text[at:]}"
    margin = " " * (parent.pairs[0][0].column - 1)
    at = found.line_start(found.last_line(parent) + 1)
    ended = found.text[:at].endswith("\n")
    end_of_line = _end_of_line(found)
    lines = [f"{margin}{_INDENT * depth}{key}:" for depth, key in enumerate(found.missing)]
    block = end_of_line.join(lines) + f" {text}"
    return found.text[:at] + (block + end_of_line if ended else end_of_line + block) + found.text[at:]


def _reordered(found: _Found, node: Node, edit: Edit) -> str:
    """Items change places with the comments above them."""
    if not isinstance(node, tree.Sequence) or sorted(map(_label, node.items)) != sorted(edit.value):
        raise EditError(edit.setting, "its items have other names", found.place())
    if found.in_brackets(node):
        spans = [found.span(item) for item in node.items]
    else:
        key_line = _line_of_key(found)
        lasts = [key_line, *(found.last_line(item) for item in node.items)]
        spans = [(found.line_start(before + 1), found.line_start(last + 1)) for before, last in pairwise(lasts)]
        if node.items[0].line == key_line or not found.text[: spans[-1][1]].endswith("\n"):
            raise EditError(edit.setting, "each item must begin a line", found.place())
    by_name = {_label(item): found.text[start:end] for item, (start, end) in zip(node.items, spans, strict=True)}
    parts = [found.text[: spans[0][0]]]
    for number, name in enumerate(edit.value):
        following = spans[number + 1][0] if number + 1 < len(spans) else len(found.text)
        parts += [by_name[name], found.text[spans[number][1] : following]]
    return "".join(parts)


def _line_of_key(found: _Found) -> int:
    """The line of the key of the value."""
    parent = found.nodes[-2]
    pairs = parent.pairs if isinstance(parent, tree.Mapping) else ()
    return next((key.line for key, value in pairs if value is found.nodes[-1]), found.nodes[-1].line)


def _roots(path: str, data: bytes) -> list[Node]:
    findings = Findings()
    source = read_source(path, data, findings)
    return [] if source is None else compose_documents(*source, findings)


def _is(root: Node, setting: Setting) -> bool:
    name = _child(_child(root, "metadata"), "name")
    told = (_child(root, "apiVersion"), _child(root, "kind"), name)
    wanted = (documents.API_VERSION, setting.kind, setting.name)
    return all(isinstance(node, Scalar) and node.text == text for node, text in zip(told, wanted, strict=True))


def _child(node: Node | None, key: str) -> Node | None:
    if isinstance(node, tree.Mapping):
        return next((value for name, value in node.pairs if isinstance(name, Scalar) and name.text == key), None)
    if isinstance(node, tree.Sequence):
        return next((item for item in node.items if f"[{_label(item)}]" == key), None)
    return None


def _label(item: Node) -> str:
    name = _child(item, "name") if isinstance(item, tree.Mapping) else item
    return name.text if isinstance(name, Scalar) else ""


def _below(node: Node) -> Iterator[Node]:
    """The node and all below it, what an alias repeats once more."""
    yield node
    if isinstance(node, tree.Mapping):
        for pair in node.pairs:
            yield from _below(pair[1])
    elif isinstance(node, tree.Sequence):
        for item in node.items:
            yield from _below(item)
