"""Bytes of a policy file -> YAML documents as nodes with places. Rejects what YAML parsers disagree on or choke on.

The rules for every YAML text are in `values.yaml_events`. Messages that libyaml and the pure parser word differently get one
wording.
"""

import codecs
import re
from functools import cache
from itertools import islice

import yaml

from reconciler.policy.problems.findings import Findings, Source
from reconciler.policy.reading.syntax_faults import describe_fault
from reconciler.policy.yaml_nodes import Mapping, Node, Scalar, Sequence, Spot, is_null
from reconciler.values.yaml_events import LOADER, Bounds, Loader, Opened, YamlReader, place_of

MAX_FILE_BYTES = 1 << 20
BOUNDS = Bounds(documents=1_000, levels=32, values=200_000)

_BEYOND_ASCII = "\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_MOST_REPORTED = 20
_LINE_BREAKS = "\r\x85\u2028\u2029"


@cache
def _forbidden(*, ascii_only: bool) -> re.Pattern[str]:
    """What no policy may have. To compile the set of all characters takes longer than to read a small tree."""
    return re.compile(
        f"[^\t\n\r\x20-\x7e{'' if ascii_only else _BEYOND_ASCII}]"
        "|[\u202a-\u202e\u2066-\u2069]"  # direction overrides make a reviewer see another text than the parser reads
        "|\r(?!\n)"  # with the three that are left out above: line breaks of YAML that a reviewer does not see
    )


def read_source(path: str, data: bytes, findings: Findings) -> tuple[Source, str] | None:
    """Decode one file. None, with a problem, if it is not text that can be parsed."""
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
        findings.add("NotUtf8", source, spot, f"byte 0x{data[error.start]:02x} is not valid UTF-8", "save the file as UTF-8")
        return None
    source = Source.of(path, text)
    findings.open(source)
    # As many as are told, and no more: a list of all of a megabyte would be made without letting another thread run.
    forbidden = list(islice(_forbidden(ascii_only=text.isascii()).finditer(text), _MOST_REPORTED))
    for match in forbidden:
        before_match = Source.of("", text[: match.start()]).lines
        spot = Spot(len(before_match), len(before_match[-1]) + 1)
        hidden = match[0] in _LINE_BREAKS
        what = "is a line break in YAML but not in most editors and diffs" if hidden else "is invisible and not allowed"
        findings.add(
            "HiddenLineBreak" if hidden else "ControlCharacter",
            source,
            spot,
            f"the character U+{ord(match[0]):04X} {what}",
            "end lines with a plain line break, or write it as an escape in double quotes"
            if hidden
            else "delete it, or write it as an escape in double quotes",
        )
    return None if forbidden else (source, text)


def compose_documents(
    source: Source, text: str, findings: Findings, *, loader: Loader = LOADER, tags: bool = False
) -> list[Node]:
    """The documents of one text, empty ones left out. After a fault the documents before it are still returned. `tags`: a value
    with a tag is a mapping from the tag's name to it, as CloudFormation reads `!Ref X`."""
    composer = _Composer(source, findings, tags=tags)
    try:
        composer.read(text, loader)
    except yaml.YAMLError as error:
        code, spot, message, hint = describe_fault(error, source)
        findings.add(code, source, spot, message, hint)
    return composer.complete


class _Composer(YamlReader[Node]):
    """Events -> nodes; faults are findings."""

    def __init__(self, source: Source, findings: Findings, *, tags: bool) -> None:
        super().__init__(BOUNDS)
        self.complete: list[Node] = []
        self._tags = tags
        self._source = source
        self._findings = findings

    def scalar(self, event: yaml.ScalarEvent, *, plain: bool, key: bool) -> Node:
        return self._tagged(event, Scalar(event.value, plain, *place_of(event.start_mark), *place_of(event.end_mark)))

    def collection(self, opened: Opened[Node], event: yaml.CollectionEndEvent) -> Node:
        marks = (*place_of(opened.event.start_mark), *place_of(event.end_mark))
        if opened.mapping:
            return self._tagged(opened.event, Mapping(tuple(zip(opened.items[::2], opened.items[1::2], strict=True)), *marks))
        return self._tagged(opened.event, Sequence(tuple(opened.items), *marks))

    def _tagged(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, node: Node) -> Node:
        if not self._tags or event.tag is None or not event.tag[1:] or event.tag.startswith("tag:"):
            return node
        ends = (node.line, node.column, node.end_line, node.end_column)
        return Mapping(
            (
                (
                    Scalar(
                        event.tag.lstrip("!"),
                        plain=False,
                        line=node.line,
                        column=node.column,
                        end_line=node.line,
                        end_column=node.column,
                    ),
                    node,
                ),
            ),
            *ends,
        )

    def document(self, value: Node) -> None:
        if not is_null(value):
            self.complete.append(value)

    def fault(self, code: str, event: yaml.Event, message: str, hint: str = "", *, width: int = 1) -> None:
        self._findings.add(code, self._source, Spot(*place_of(event.start_mark), max(1, width)), message, hint)
