"""A text of several JSON values, as `jq`, a shell's `>>` and `kubectl cluster-info dump` leave it, and what stands between them.

SOURCE: kubectl writes warnings of the API server as `Warning: …`, its own as klog lines (`W1125 12:00:00.000000 …`) and
`Flag --x has been deprecated`; with `2>&1` they land in the file. `cluster-info dump` puts the logs of containers between the
lists, inside of `==== START logs for container …` and `==== END logs for container …`.
"""

import re
from collections.abc import Collection, Iterator

import msgspec
import yaml
from msgspec import Raw

from reconciler.cluster.values.unreadable import UnreadableError

_BLANK = re.compile(rb"\s*")
_TOLD = re.compile(rb"(?:Warning: |Flag --|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ )[^\n]*(?:\n|$)")
_LOGS = re.compile(rb"==== START logs for container [^\n]*\n")
_LOGS_END = re.compile(rb"(?m)^==== END logs for container [^\n]*(?:\n|$)")
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_COMMENT = re.compile(rb"(?:#[^\n]*|---[ \t]*)(?:\n|$)")
_OBJECT = re.compile(rb"""(?:\[\s*)?\{\s*"(?:apiVersion|kind|items|metadata)"\s*:|(?:apiVersion|kind|items|metadata):\s""")
BEGINNING_BYTES = 4096
_SHOWN_CHARACTERS = 40


def without_messages(text: bytes, position: int = 0) -> int:
    """Where the next value begins: behind blanks, lines that kubectl wrote to who ran it, and logs of containers.

    Raises `UnreadableError` for logs without their end.
    """
    while True:
        start = position
        position = _after(_BLANK, text, position)
        position = _after(_TOLD, text, position)
        logs = _LOGS.match(text, position)
        if logs is not None:
            end = _LOGS_END.search(text, logs.end())
            if end is None:
                raise UnreadableError(f"{place(text, position)}: logs of a container without their end: the dump was cut off")
            position = end.end()
        if position == start:
            return position


def several(error: Exception) -> bool:
    """Whether a text failed because another value follows the first."""
    return _TRAILING.search(str(error)) is not None


def json_values(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The values with their places in the text. Raises `UnreadableError` for what stands between them and is none."""
    view = memoryview(text)
    position = without_messages(text)
    while position < len(text):
        if text[position : position + 1] not in (b"{", b"["):
            line = text[position : position + _SHOWN_CHARACTERS].split(b"\n")[0].decode("utf-8", "replace")
            raise UnreadableError(f"{place(text, position)}: {line!r} is no JSON: what else was written into this file?")
        end = len(text)
        try:
            msgspec.json.decode(view[position:], type=Raw)
        except msgspec.DecodeError as error:
            # A value that is damaged itself is told by who reads it.
            following = _TRAILING.search(str(error))
            # The number counts up to and with the first character of the next one.
            end = position + int(following[1]) - 1 if following else end
        yield position, bytes(view[position:end])
        position = without_messages(text, end)


def looks_like_objects(beginning: bytes) -> bool:
    """Whether a file of any name begins as objects of Kubernetes do; `beginning` are its first bytes."""
    try:
        position = without_messages(beginning)
    except UnreadableError:
        return False
    while (after := _after(_BLANK, beginning, _after(_COMMENT, beginning, position))) != position:
        position = after
    return _OBJECT.match(beginning, position) is not None


def place(text: bytes, position: int) -> str:
    """Line and column, from 1."""
    before = text[:position]
    return f"line {before.count(10) + 1}, column {position - (before.rfind(10) + 1) + 1}"


def _after(pattern: re.Pattern[bytes], text: bytes, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found is not None else position


# YAML as the JSON texts that it stands for, one a document, read from parser events.
#
# Reading events instead of composing nodes keeps three attacks out at once: nesting deep enough to overflow the C stack,
# aliases that grow to gigabytes, and constructors of any kind.

_DEEPEST = 100
_MOST_VALUES = 20_000_000
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE|yes|Yes|YES|on|On|ON")
_FALSE = re.compile(r"false|False|FALSE|no|No|NO|off|Off|OFF")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]{1,3})?")
_DEEP = "nested more deeply than any object is"
# What libyaml says beyond a bound of its own, since the one that comes with PyYAML 6.0.4.
_TOO_DEEP = "maximum nesting depth"

_Value = dict[str, "_Value"] | list["_Value"] | str | int | float | bool | None


class YamlError(UnreadableError):
    """YAML that cannot be read; `item` is the document that it is in."""

    def __init__(self, item: str, message: str) -> None:
        super().__init__(message)
        self.item = item
        self.message = message


def json_parts(text: bytes) -> list[bytes]:
    """Each document that is not empty as JSON. Scalars are typed as Kubernetes types them (YAML 1.1 without dates).

    Raises `YamlError`.
    """
    parts: list[bytes] = []
    number = 0
    try:
        loader = yaml.CLoader(text)
        try:
            reading = _Document(0)
            while loader.check_event():
                event = loader.get_event()
                if isinstance(event, yaml.DocumentStartEvent):
                    number += 1
                    reading = _Document(number)
                elif isinstance(event, yaml.DocumentEndEvent):
                    if reading.value is not None:
                        parts.append(msgspec.json.encode(reading.value))
                elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                    reading.take(event)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        where = _where(getattr(error, "problem_mark", None))
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        if _TOO_DEEP in problem:
            raise YamlError(f"document {max(number, 1)}", _DEEP) from None
        raise YamlError(f"document {max(number, 1)}", f"no valid YAML: {problem}{where}") from None
    except UnicodeDecodeError:
        raise YamlError(f"document {max(number, 1)}", "text that is not UTF-8") from None
    except RecursionError:
        raise YamlError(f"document {max(number, 1)}", _DEEP) from None
    return parts


class _Open:
    """A mapping or sequence whose end has not come yet; `key` waits for its value, `values` counts what is inside."""

    __slots__ = ("anchor", "content", "key", "values")

    def __init__(self, content: dict[str, _Value] | list[_Value], anchor: str | None) -> None:
        self.content = content
        self.anchor = anchor
        self.key: str | None = None
        self.values = 1


class _Document:
    """One document while its events come in; `value` once they have."""

    def __init__(self, number: int) -> None:
        self.value: _Value = None
        self._number = number
        self._stack: list[_Open] = []
        # What an anchor stands for, and how many values an alias of it adds.
        self._anchors: dict[str, tuple[_Value, int]] = {}

    def take(self, event: yaml.Event) -> None:
        """One more event. Raises `YamlError`."""
        if isinstance(event, yaml.ScalarEvent):
            self._add(_scalar(event), 1, event.anchor, event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._stack) == _DEEPEST:
                raise self._error(event, _DEEP)
            self._stack.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = self._stack.pop()
            self._add(closed.content, closed.values, closed.anchor, event)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise self._error(event, f"the alias *{event.anchor} stands for something that holds it, or for nothing")
            value, values = self._anchors[event.anchor]
            self._add(value, values, None, event)

    def _add(self, value: _Value, values: int, anchor: str | None, event: yaml.Event) -> None:
        if anchor:
            self._anchors[anchor] = (value, values)
        if not self._stack:
            self.value = value
            return
        parent = self._stack[-1]
        parent.values += values
        if parent.values > _MOST_VALUES:
            raise self._error(event, f"more than {_MOST_VALUES} values in one document, aliases counted where they are used")
        if isinstance(parent.content, list):
            parent.content.append(value)
        elif parent.key is not None:
            parent.content[parent.key] = value
            parent.key = None
        else:
            key = event.value if isinstance(event, yaml.ScalarEvent) else value
            if not isinstance(key, str):
                raise self._error(event, "a mapping key that is no text")
            if key in parent.content:
                raise self._error(event, f"the key {key!r} twice in one mapping")
            parent.key = key

    def _error(self, event: yaml.Event, message: str) -> YamlError:
        return YamlError(f"document {self._number}", message + _where(event.start_mark))


def _scalar(event: yaml.ScalarEvent) -> _Value:
    text: str = event.value
    # Quoted and explicitly tagged scalars are texts; only plain ones can be anything else.
    if not event.implicit[0]:
        return text
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _where(mark: object) -> str:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    return "" if line is None or column is None else f" (line {line + 1}, column {column + 1})"


# How much packed data may become: a small file of others must not fill the memory.

_LEAST_BYTES = 64 << 20
_RATIO = 200  # objects of one kind pack to a tenth or a fiftieth of their size; a bomb to a thousandth


def most_unpacked(packed_bytes: int, most_bytes: int) -> int:
    """Bytes that `packed_bytes` of gzip may unpack to, at most `most_bytes`."""
    return min(most_bytes, max(_LEAST_BYTES, _RATIO * packed_bytes))


# Archives and dumps keep everything below one folder, which is no part of the names in a snapshot.

_OWN = frozenset({"management", "workload"})


def top_folder(names: Collection[str]) -> str:
    """The folders that all names are below, with `/` at the end; empty where there is none. Ours say which cluster is in them."""
    common: list[str] = []
    split = [name.split("/")[:-1] for name in names]
    for level in range(min(map(len, split), default=0)):
        part = split[0][level]
        if part in _OWN or any(folders[level] != part for folders in split):
            break
        common.append(part)
    return "".join(f"{part}/" for part in common)
