"""HCL, the language of Terraform, as the nodes of YAML: bodies, objects and lists with places, and nothing is evaluated.

A block is an entry under its type and labels, as in Terraform's JSON syntax. A quoted text is a scalar without its quotes. Every
other value is a plain scalar with the source of its expression.

Why no library: python-hcl2 8.1 (over lark) took 30 s for 100 KiB and met the recursion limit at 3,000 brackets. This reader takes
time in proportion to the text, and both its nesting and its values are bounded.

SOURCE: the HCL native syntax specification: a line break ends an attribute outside of brackets and parentheses. Templates nest.
"""

import re
from bisect import bisect_right

from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.yaml_text import BOUNDS
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar, Sequence, Spot

_GAP = re.compile(r"(?:[ \t\r]+|#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))*")
_GAP_AND_LINES = re.compile(r"(?:[ \t\r\n]+|#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))*")
_NAME = re.compile(r"[^\W\d][\w-]*")
_PLAIN_TEXT = re.compile(r"[^\"\\$%\n]+")
_PLAIN_PART = re.compile(r"[^\"{}()\[\],\n#/<]+")
_HEREDOC = re.compile(r"<<-?([^\W\d][\w-]*)\r?\n")
_OPENING, _CLOSING = "{[(", "}])"
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_LOOPS = re.compile(r"for\b")


class _Fault(Exception):  # noqa: N818 - ends the reading of one text, never leaves this file
    def __init__(self, code: str, at: int, message: str) -> None:
        super().__init__(message)
        self.code, self.at = code, at


def hcl_body(source: Source, text: str, findings: Findings) -> Mapping | None:
    """The blocks and attributes of one text; None, with a problem, if it cannot be read."""
    reader = _Reader(text)
    try:
        return reader.body(0, "")
    except _Fault as fault:
        line, column = reader.position(fault.at)
        findings.add(fault.code, source, Spot(line, column), str(fault))
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._values = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, at: int) -> tuple[int, int]:
        """Line and column, from 1."""
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def body(self, level: int, end: str) -> Mapping:
        """Up to the end of the text, or to the brace that ends it."""
        start = self._at
        pairs: list[tuple[Node, Node]] = []
        while True:
            self._skip(_GAP_AND_LINES)
            if self._next() == end:
                self._at += len(end)
                return Mapping(tuple(pairs), *self.position(start), *self.position(self._at))
            key = self._name()
            self._skip(_GAP)
            if self._next() == "=":
                self._at += 1
                pairs.append((key, self._expression(level, lines=True)))
            else:
                pairs.append((key, self._block(level)))

    def _block(self, level: int) -> Node:
        labels: list[Scalar] = []
        while self._next() != "{":
            labels.append(self._quoted() if self._next() == '"' else self._name())
            self._skip(_GAP)
        self._at += 1
        node: Node = self.body(self._deeper(level + len(labels)), "}")
        for label in reversed(labels):
            node = Mapping(((label, node),), label.line, label.column, node.end_line, node.end_column)
        return node

    def _expression(self, level: int, *, lines: bool) -> Node:
        """A value. `lines`: a line break ends it."""
        self._skip(_GAP if lines else _GAP_AND_LINES)
        start, first = self._at, self._next()
        node: Node | None = None
        if first == '"':
            node = self._quoted()
        elif first and first in "{[" and not self._is_loop():
            self._at += 1
            node = self._object(self._deeper(level), start) if first == "{" else self._list(self._deeper(level), start)
        self._skip(_GAP if lines else _GAP_AND_LINES)
        if node is not None and self._ended(lines=lines):
            return node
        self._at = start
        return self._opaque(lines=lines)

    def _is_loop(self) -> bool:
        behind = _GAP_AND_LINES.match(self._text, self._at + 1)
        return behind is not None and _LOOPS.match(self._text, behind.end()) is not None

    def _ended(self, *, lines: bool) -> bool:
        following = self._next()
        return following in ("", ",", *_CLOSING) or (lines and following == "\n")

    def _object(self, level: int, start: int) -> Mapping:
        pairs: list[tuple[Node, Node]] = []
        while True:
            self._skip(_GAP_AND_LINES)
            if self._next() == "}":
                self._at += 1
                return Mapping(tuple(pairs), *self.position(start), *self.position(self._at))
            key = self._key()
            self._skip(_GAP)
            if self._next() not in ("=", ":"):
                raise _Fault("Syntax", self._at, "an = or a : belongs between a key and its value")
            self._at += 1
            pairs.append((key, self._expression(level, lines=True)))
            self._skip(_GAP_AND_LINES)
            if self._next() == ",":
                self._at += 1

    def _key(self) -> Scalar:
        if self._next() == '"':
            return self._quoted()
        if self._next() != "(":
            return self._name()
        start = self._at
        self._balanced()
        return self._scalar(self._text[start : self._at], start, plain=True)

    def _list(self, level: int, start: int) -> Sequence:
        items: list[Node] = []
        while True:
            self._skip(_GAP_AND_LINES)
            if self._next() == "]":
                self._at += 1
                return Sequence(tuple(items), *self.position(start), *self.position(self._at))
            items.append(self._expression(level, lines=False))
            self._skip(_GAP_AND_LINES)
            if self._next() == ",":
                self._at += 1
            elif self._next() != "]":
                raise _Fault("Syntax", self._at, "a , or a ] belongs behind a value")

    def _opaque(self, *, lines: bool) -> Scalar:
        """The source of an expression, up to what ends it outside of all brackets."""
        start = end = self._at
        while not self._ended(lines=lines):
            if self._next() in _OPENING:
                self._balanced()
            else:
                self._part()
            end = self._at
            self._skip(_GAP if lines else _GAP_AND_LINES)
        if start == end:
            raise _Fault("Syntax", start, "a value is missing")
        return self._scalar(self._text[start:end].strip(), start, plain=True)

    def _balanced(self) -> None:
        """Over brackets and what is in them."""
        start, opened = self._at, list[str]()
        while True:
            self._skip(_GAP_AND_LINES)
            following = self._next()
            if not following:
                raise _Fault("Syntax", start, "this bracket is not closed")
            if following in _OPENING:
                opened.append(_CLOSING[_OPENING.index(following)])
                self._at += 1
            elif following in _CLOSING:
                if following != opened.pop():
                    raise _Fault("Syntax", self._at, f"no bracket is open that {following} closes")
                self._at += 1
                if not opened:
                    return
            else:
                self._part()

    def _part(self) -> None:
        """Over a text, a heredoc, or a stretch without brackets."""
        if self._next() == '"':
            self._quoted()
        elif (match := _HEREDOC.match(self._text, self._at)) is not None:
            end = re.compile(rf"^[ \t]*{re.escape(match[1])}[ \t\r]*$", re.MULTILINE).search(self._text, match.end())
            if end is None:
                raise _Fault("Syntax", self._at, f"the text up to {match[1][:40]} does not end")
            self._at = end.end()
        else:
            part = _PLAIN_PART.match(self._text, self._at)
            self._at = part.end() if part is not None else self._at + 1

    def _quoted(self) -> Scalar:
        """A text in quotes, its templates as they are written."""
        start = self._at
        self._at += 1
        parts: list[str] = []
        while (following := self._next()) != '"':
            if not following or following == "\n":
                raise _Fault("Syntax", start, "this text does not end")
            if following == "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                parts.append(_ESCAPES.get(escaped, "\\" + escaped))
                self._at += 2
            elif self._text.startswith(("${", "%{"), self._at):
                begin = self._at
                self._at += 1
                self._template(begin)
                parts.append(self._text[begin : self._at])
            elif (match := _PLAIN_TEXT.match(self._text, self._at)) is not None:
                parts.append(match[0])
                self._at = match.end()
            else:
                twice = self._text.startswith(("$${", "%%{"), self._at)
                parts.append(self._text[self._at : self._at + (3 if twice else 1)])
                self._at += 3 if twice else 1
        self._at += 1
        return self._scalar("".join(parts), start, plain=False)

    def _template(self, start: int) -> None:
        """Over a template, and over the texts and templates in it, however deep."""
        opened = [""]  # a quote for a text, a brace for what is in a template
        while opened:
            following = self._next()
            if not following:
                raise _Fault("Syntax", start, "this template does not end")
            in_text = opened[-1] == '"'
            if in_text and following == "\\":
                self._at += 2
                continue
            if in_text and self._text.startswith(("${", "%{"), self._at):
                opened.append("{")
                self._at += 2
                continue
            if following == '"':
                opened.pop() if in_text else opened.append('"')
            elif following == "{" and not in_text:
                opened[-1:] = ["{"] if opened[-1] == "" else [opened[-1], "{"]
            elif following == "}" and not in_text:
                opened.pop()
            self._at += 1

    def _name(self) -> Scalar:
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise _Fault("Syntax", self._at, "a name belongs here")
        start, self._at = self._at, match.end()
        return self._scalar(match[0], start, plain=True)

    def _scalar(self, text: str, start: int, *, plain: bool) -> Scalar:
        self._values += 1
        if self._values > BOUNDS.values:
            raise _Fault("TooManyValues", start, f"more than {BOUNDS.values} values in one file")
        return Scalar(text, plain, *self.position(start), *self.position(self._at))

    def _deeper(self, level: int) -> int:
        if level + 1 >= BOUNDS.levels:
            raise _Fault("TooDeep", self._at, f"more than {BOUNDS.levels} nested levels")
        return level + 1

    def _skip(self, gap: re.Pattern[str]) -> None:
        match = gap.match(self._text, self._at)
        self._at = match.end() if match is not None else self._at

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]
