"""A text of several JSON values, as `jq`, a shell's `>>` and `kubectl cluster-info dump` leave it, and what stands between them.

SOURCE: kubectl writes warnings of the API server as `Warning: …`, its own as klog lines (`W1125 12:00:00.000000 …`) and
`Flag --x has been deprecated`; with `2>&1` they land in the file. `cluster-info dump` puts the logs of containers between the
lists, between `==== START logs for container …` and `==== END logs for container …`.
"""

import re
from collections.abc import Collection, Iterator

import msgspec
import yaml
from msgspec import Raw

from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.decoding import decode
from reconciler.values.plain_scalar import Look, look_of_plain
from reconciler.values.yaml_events import MERGE_KEY, Bounds, Opened, YamlReader, too_deep

_BLANK = re.compile(rb"\s*")
_NOTICES = re.compile(rb"(?:Warning: |Flag --|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ )[^\n]*(?:\n|$)")
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
        position = _after(_NOTICES, text, position)
        logs = _LOGS.match(text, position)
        if logs is not None:
            end = _LOGS_END.search(text, logs.end())
            if end is None:
                raise UnreadableError(f"{place(text, position)}: container logs without an end: the dump was truncated")
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
            raise UnreadableError(f"{place(text, position)}: {line!r} is not JSON: did something else write to this file?")
        end = len(text)
        try:
            decode(view[position:], Raw)
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
    match = pattern.match(text, position)
    return match.end() if match is not None else position


# YAML as the JSON texts that it stands for, one a document. What holds for every YAML text is in `values.yaml_events`.

_BOUNDS = Bounds(documents=1_000_000, levels=100, values=20_000_000)
_INTEGER_DIGITS = 18
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]{1,3})?")  # as JSON can say it

_Value = dict[str, "_Value"] | list["_Value"] | str | int | float | bool | None


class YamlError(UnreadableError):
    """YAML that cannot be read; `item` is the document that it is in."""

    def __init__(self, item: str, message: str) -> None:
        super().__init__(message)
        self.item = item
        self.message = message


def json_parts(text: bytes, bounds: Bounds = _BOUNDS) -> list[bytes]:
    """Each document that is not empty as JSON. Scalars are typed as Kubernetes types them (YAML 1.1 without dates).

    Raises `YamlError`.
    """
    reader = _JsonParts(bounds)
    try:
        reader.read(text)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        message = f"invalid YAML: {problem}{_where(getattr(error, 'problem_mark', None))}"
        raise reader.error("nested more deeply than any object is" if too_deep(error) else message) from None
    except UnicodeDecodeError:
        raise reader.error("text that is not UTF-8") from None
    return reader.parts


class _JsonParts(YamlReader[_Value]):
    """Events -> JSON; the first fault is raised."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self.parts: list[bytes] = []

    def scalar(self, event: yaml.ScalarEvent, *, plain: bool, key: bool) -> _Value:
        return _typed(event.value) if plain and not key else event.value

    def key(self, opened: Opened[_Value], key: _Value, event: yaml.Event) -> None:
        if not isinstance(key, str):
            raise self.error(f"a mapping key that is not a text{_where(event.start_mark)}")
        if isinstance(event, yaml.ScalarEvent) and key == MERGE_KEY and not event.style:
            self.fault("MergeKey", event, f"merge keys ({MERGE_KEY}) are not supported")
        if key in opened.keys:
            self.fault("DuplicateKey", event, f"the key {key!r} twice in one mapping")
        opened.keys.add(key)

    def collection(self, opened: Opened[_Value], event: yaml.CollectionEndEvent) -> _Value:
        if not opened.mapping:
            return opened.items
        return {str(key): value for key, value in zip(opened.items[::2], opened.items[1::2], strict=True)}

    def document(self, value: _Value) -> None:
        if value is not None:
            self.parts.append(msgspec.json.encode(value))

    def fault(self, code: str, event: yaml.Event, message: str, hint: str = "", *, width: int = 1) -> None:
        raise self.error(message + _where(event.start_mark))

    def error(self, message: str) -> YamlError:
        """In the document that was begun last."""
        return YamlError(f"document {max(self.documents, 1)}", message)


def _typed(text: str) -> _Value:
    look = look_of_plain(text)
    if look is Look.NULL:
        return None
    if look is Look.BOOLEAN:
        return text in ("true", "True", "TRUE")
    if look is Look.WORD_BOOLEAN and len(text) > 1:
        return text.lower() in ("yes", "on")
    if look is Look.INTEGER and len(text.lstrip("-+")) <= _INTEGER_DIGITS:
        return int(text)
    if look is Look.FLOAT and _FLOAT.fullmatch(text):
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
