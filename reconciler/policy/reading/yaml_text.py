"""Bytes of a policy file -> YAML documents as nodes with places. Refuses what YAML parsers disagree on or choke on.

Only events are used (libyaml's when it is there), so that no tag can construct anything and depth, size and alias
expansion are bounded before any tree exists. Texts that libyaml and the pure parser word differently get one wording.
"""

import codecs
import re
from itertools import islice
from typing import TypeAlias

import yaml

from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar, Sequence, Spot

# Syntax faults in words that say what to mend, the same for libyaml and for the pure parser.

# Parts of the parsers' own messages -> sentence, hint.
_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a second ':' in this value, or the indentation does not fit the line above",
        "quote a text that holds ': ', or align the key with its siblings",
    ),
    ("expected ',' or ']'", "a ',' or ']' is missing", "close the list"),
    ("expected ',' or '}'", "a ',' or '}' is missing", "close the braces"),
    ("found unexpected end of stream", "a quote is opened here and never closed", "add the closing quote"),
    ("found unexpected document indicator", "a quote is opened here and never closed", "add the closing quote"),
    ("could not find expected ':'", "this line is no 'key: value'", "add the ':' or indent it under the line above"),
    ("expected '-' indicator", "a list and a mapping are mixed at one level", "start the line with '- ' or indent it"),
    ("expected key", "the indentation fits no level above", "align the key with its siblings"),
    ("expected <block end>", "the indentation fits no level above", "align the key with its siblings"),
    ("<document start>", "text after the end of a document", "start a new document with '---' or mend the indentation"),
    ("node content", "a value is missing here", "write the value, or remove the key"),
    ("unknown escape character", "an unknown escape in double quotes", r"write \\ for a backslash, or use single quotes"),
    ("undefined tag handle", "an unknown tag", "a policy is plain data: remove the tag"),
    ("incompatible YAML document", "a YAML version that cannot be read", "remove the %YAML line"),
    ("block sequence entries are not allowed", "a list cannot start here", "put '- ' on a line of its own"),
    ("block mapping", "a mapping cannot start here", "align the key with its siblings"),
)
_START = "cannot start any token"
# What libyaml says beyond a bound of its own, which it meets before ours since the one that comes with PyYAML 6.0.4.
_TOO_DEEP = "maximum nesting depth"
_CONTEXT_MATTERS = ("found unexpected end of stream", "found unexpected document indicator")


def describe_fault(error: yaml.YAMLError, source: Source) -> tuple[str, Spot, str, str]:
    """Code, place, sentence and hint of a syntax fault."""
    problem = str(getattr(error, "problem", "") or error)
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None)
    if mark is None:
        return "Syntax", Spot(1, 1), _own_words(problem), ""
    if context is not None and any(part in problem for part in _CONTEXT_MATTERS):
        mark = context
    spot = Spot(mark.line + 1, mark.column + 1)
    if _TOO_DEEP in problem:
        return "TooDeep", spot, "nested more deeply than any policy is", "write fewer levels"
    at = source.line(spot.line)[spot.column - 1 : spot.column]
    if _START in problem:
        if at == "\t":
            return "Tab", spot, "a tab starts this line; YAML is indented with spaces", "replace tabs by spaces"
        return "Syntax", spot, f"a value cannot start with {at!r}", "quote the value"
    for part, sentence, hint in _WORDS:
        if part in problem:
            return "Syntax", spot, sentence, hint
    return "Syntax", spot, _own_words(problem), ""


def _own_words(problem: str) -> str:
    words = re.sub(r"\s+", " ", problem).strip()
    return f"this is no YAML: {words}" if words else "this is no YAML"


MAX_FILE_BYTES = 1 << 20
MAX_DOCUMENTS = 1_000
MAX_DEPTH = 32
MAX_NODES = 200_000

_CORE = "tag:yaml.org,2002:"
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
    "|[\u202a-\u202e\u2066-\u2069]"  # direction overrides make a reviewer see another text than the parser reads
    "|\r(?!\n)"  # with the three that are left out above: line breaks of YAML that a reviewer does not see
)
_MOST_TOLD = 20
_LINE_BREAKS = "\r\x85\u2028\u2029"
Loader: TypeAlias = type[yaml.CSafeLoader] | type[yaml.SafeLoader]
LOADER: Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_source(path: str, data: bytes, findings: Findings) -> tuple[Source, str] | None:
    """Decode one file; None (with a problem) when it is no text that can be parsed."""
    findings.open(Source(path, ("",)))
    if len(data) > MAX_FILE_BYTES:
        message = f"the file has {len(data)} bytes, the limit is {MAX_FILE_BYTES}"
        findings.add("FileTooLarge", Source(path, ("",)), Spot(1, 1), message, "split it into several files")
        return None
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        source = Source.of(path, data.decode("utf-8", "replace"))
        findings.open(source)
        before = Source.of(path, data[: error.start].decode("utf-8")).lines
        spot = Spot(len(before), len(before[-1]) + 1)
        findings.add("NotUtf8", source, spot, f"byte 0x{data[error.start]:02x} is no UTF-8", "save the file as UTF-8")
        return None
    source = Source.of(path, text)
    findings.open(source)
    # As many as are told, and no more: a list of all of a megabyte would be made without letting another thread run.
    forbidden = list(islice(_FORBIDDEN.finditer(text), _MOST_TOLD))
    for match in forbidden:
        before_match = Source.of("", text[: match.start()]).lines
        spot = Spot(len(before_match), len(before_match[-1]) + 1)
        hidden = match[0] in _LINE_BREAKS
        what = "is a line break to YAML and none to who reads a change" if hidden else "is invisible and not allowed"
        findings.add(
            "HiddenLineBreak" if hidden else "ControlCharacter",
            source,
            spot,
            f"the character U+{ord(match[0]):04X} {what}",
            "end lines as everybody does, or write it as an escape in double quotes"
            if hidden
            else "delete it, or write it as an escape in double quotes",
        )
    return None if forbidden else (source, text)


class _Frame:
    """A collection that is being composed."""

    __slots__ = ("anchor", "depth", "items", "mapping", "nodes_before", "start")

    def __init__(self, event: yaml.CollectionStartEvent, nodes_before: int) -> None:
        self.mapping = isinstance(event, yaml.MappingStartEvent)
        self.start = _place(event.start_mark)
        self.anchor = event.anchor
        self.nodes_before = nodes_before
        self.depth = 0  # of the deepest item
        self.items: list[Node] = []


def compose_documents(source: Source, text: str, findings: Findings, *, loader: Loader = LOADER) -> list[Node]:
    """The documents of one text, empty ones left out. After a fault the documents before it are still returned."""
    documents: list[Node] = []
    composer = _Composer(source, findings, documents)
    try:
        for event in yaml.parse(text, Loader=loader):
            if not composer.take(event):
                break
    except yaml.YAMLError as error:
        code, spot, message, hint = describe_fault(error, source)
        findings.add(code, source, spot, message, hint)
    return documents


class _Composer:
    """Events -> nodes, iteratively, within the bounds."""

    def __init__(self, source: Source, findings: Findings, documents: list[Node]) -> None:
        self.source = source
        self.findings = findings
        self.complete = documents
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Node, int, int]] = {}  # name -> node, its size in nodes, its depth
        self.nodes = 0
        self.documents = 0

    def fault(self, code: str, event: yaml.Event, message: str, hint: str = "") -> bool:
        line, column, end_line, end_column = _span(event)
        width = end_column - column if end_line == line and isinstance(event, yaml.AliasEvent) else 1
        self.findings.add(code, self.source, Spot(line, column, max(1, width)), message, hint)
        return False

    def take(self, event: yaml.Event) -> bool:
        """Use one event; False stops the reading of this text."""
        if isinstance(event, yaml.ScalarEvent):
            self.nodes += 1
            plain = not event.style
            if event.tag is not None:
                plain = self.tagged(event, event.tag, "str") and plain
            return self.put(Scalar(event.value, plain, *_span(event)), event.anchor, 1, 0, event)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if event.tag is not None:
                self.tagged(event, event.tag, "map" if isinstance(event, yaml.MappingStartEvent) else "seq")
            self.frames.append(_Frame(event, self.nodes))
            self.nodes += 1
            if len(self.frames) > MAX_DEPTH:
                return self.fault("TooDeep", event, f"more than {MAX_DEPTH} levels inside each other")
            return self.within(event)
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            frame = self.frames.pop()
            marks = (*frame.start, *_place(event.end_mark))
            whole: Node
            if frame.mapping:
                whole = Mapping(tuple(zip(frame.items[::2], frame.items[1::2], strict=True)), *marks)
            else:
                whole = Sequence(tuple(frame.items), *marks)
            return self.put(whole, frame.anchor, self.nodes - frame.nodes_before, 1 + frame.depth, event)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, event.anchor or "")
        if isinstance(event, yaml.DocumentStartEvent):
            self.anchors = {}
            self.documents += 1
            if self.documents > MAX_DOCUMENTS:
                return self.fault("TooManyDocuments", event, f"more than {MAX_DOCUMENTS} documents in one file", "split the file")
        return True

    def put(self, node: Node, anchor: str | None, size: int, depth: int, event: yaml.Event) -> bool:
        """Add a finished node of `size` nodes and `depth` levels to the collection it stands in."""
        if anchor is not None:
            self.anchors[anchor] = (node, size, depth)
        if self.frames:
            self.frames[-1].items.append(node)
            self.frames[-1].depth = max(self.frames[-1].depth, depth)
        elif not (isinstance(node, Scalar) and node.plain and node.text in ("", "~", "null")):
            self.complete.append(node)
        return self.within(event)

    def within(self, event: yaml.Event) -> bool:
        if self.nodes > MAX_NODES:
            return self.fault("TooManyValues", event, f"more than {MAX_NODES} values in one file", "split the file")
        return True

    def alias(self, event: yaml.AliasEvent, name: str) -> bool:
        found = self.anchors.get(name)
        if found is None:
            if any(frame.anchor == name for frame in self.frames):
                return self.fault("AliasLoop", event, f"the alias *{name} stands inside what it repeats", "write the value out")
            return self.fault("UnknownAlias", event, f"there is no anchor &{name} before this alias", "write the value out")
        node, size, depth = found
        self.nodes += size
        if len(self.frames) + depth > MAX_DEPTH:
            return self.fault("TooDeep", event, f"the alias *{name} nests more than {MAX_DEPTH} levels", "write the value out")
        if self.nodes > MAX_NODES:
            message = f"the alias *{name} makes this file more than {MAX_NODES} values large"
            return self.fault("AliasBomb", event, message, "write the values out")
        return self.put(node, None, size, depth, event)

    def tagged(self, event: yaml.Event, tag: str, own: str) -> bool:
        """Check the tag of a node; whether a plain scalar keeps the type that its look gives it."""
        if tag in (_CORE + own, "!"):
            return False
        if own == "str" and tag in (_CORE + "int", _CORE + "bool", _CORE + "null", _CORE + "float"):
            return True
        shown = "!!" + tag[len(_CORE) :] if tag.startswith(_CORE) else tag
        spot = Spot(*_place(event.start_mark), max(1, len(shown)))
        hint = "a policy is plain data: remove the tag"
        self.findings.add("UnsupportedTag", self.source, spot, f"the tag {shown!r} is not allowed", hint)
        return False


def _place(mark: "yaml.error.Mark | yaml._yaml.Mark | None") -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _span(event: yaml.Event) -> tuple[int, int, int, int]:
    return (*_place(event.start_mark), *_place(event.end_mark))
