"""A text of several JSON values, as `jq`, a shell's `>>` and `kubectl cluster-info dump` leave it, and what stands between them.

SOURCE: kubectl writes warnings of the API server as `Warning: …`, its own as klog lines (`W1125 12:00:00.000000 …`) and
`Flag --x has been deprecated`; with `2>&1` they land in the file. `cluster-info dump` puts the logs of containers between the
lists, between `==== START logs for container …` and `==== END logs for container …`.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.decoding import decode

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
