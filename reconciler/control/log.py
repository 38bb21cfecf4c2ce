"""The log of a long-running command: one line an event, on stderr; JSON for machines, text for people."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import TextIO

from reconciler.rendering.printers.json_text import inert_json
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed, plain
from reconciler.values.instant import instant_text

Field = str | int | float | bool | None | tuple[str, ...]


class LogForm(StrEnum):
    """How lines are written."""

    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """Info: something that was done or has changed. Warning: a person should know, and the loop gets over it by itself. Error: it
    needs a person."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_ORDER = tuple(LogLevel)
_HEAD_FIELDS = ("result", "resultCode", "reason", "target", "group", "fromReplicas", "toReplicas")
"""Fields that a line of text says before its message or in other words; JSON has them."""


class Log:
    """Writes lines with the fields that every one carries (`time`, `level`, `message`, `code`), then those of the event. Lines
    below `least` are left out.

    Values are data: JSON escapes what could end a line or steer a terminal, text makes it visible and tells of many names three.
    """

    def __init__(
        self,
        stream: TextIO,
        now_seconds: Callable[[], int],
        form: LogForm = LogForm.JSON,
        least: LogLevel = LogLevel.INFO,
        fields: Mapping[str, Field] | None = None,
    ) -> None:
        self._stream = stream
        self._fields = dict(fields or {})
        self._now = now_seconds
        self._form = form
        self._least = _ORDER.index(least)
        self._lock = threading.Lock()

    def of(self, fields: Mapping[str, Field]) -> "Log":
        """The same log, whose lines carry these fields as well."""
        log = Log(self._stream, self._now, self._form, _ORDER[self._least], {**self._fields, **fields})
        log._lock = self._lock
        return log

    def info(self, code: str, message: str, **fields: Field) -> None:
        """Something that was done or has changed."""
        self._write(LogLevel.INFO, code, message, fields)

    def warning(self, code: str, message: str, **fields: Field) -> None:
        """Something that a person should know and the loop gets over by itself."""
        self._write(LogLevel.WARNING, code, message, fields)

    def error(self, code: str, message: str, **fields: Field) -> None:
        """Something that needs a person."""
        self._write(LogLevel.ERROR, code, message, fields)

    def line(self, level: LogLevel, code: str, message: str, fields: dict[str, Field]) -> None:
        """A line that was made elsewhere."""
        self._write(level, code, message, fields)

    def _write(self, level: LogLevel, code: str, message: str, fields: dict[str, Field]) -> None:
        if _ORDER.index(level) < self._least:
            return
        fields = {**self._fields, **fields}
        at = instant_text(self._now())
        if self._form is LogForm.TEXT:
            line = _text(at, level, code, message, fields)
        else:
            record: dict[str, Field] = {"time": at, "level": str(level), "code": code, "message": message, **fields}
            line = inert_json(json.dumps(record, ensure_ascii=True))
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()


def _text(at: str, level: LogLevel, code: str, message: str, fields: Mapping[str, Field]) -> str:
    """`2026-11-21T18:00:00Z warning ResizeRefused general-a 2 -> 5: conflict with kubectl; retry in 10 s`: what became of what,
    why, then what else is known (`nodes n1, n2, n3 and 4 more`). No message repeats its code."""
    details = ", ".join(_fields(fields))
    head = " ".join(part for part in (code, *_subject(fields)) if part)
    return plain(f"{at} {level:<7} {head}: {message.removeprefix(f'{code}: ')}" + (f" ({details})" if details else ""))


def _subject(fields: Mapping[str, Field]) -> Iterator[str]:
    """The group, or the target where no group is known, and its sizes."""
    before, after = fields.get("fromReplicas"), fields.get("toReplicas")
    yield str(fields.get("group") or fields.get("target") or "")
    if before != after:
        yield f"{before} -> {after}"


def _fields(fields: Mapping[str, Field]) -> Iterator[str]:
    for name, value in fields.items():
        if value in (None, "", ()) or name in _HEAD_FIELDS:
            continue
        yield f"{name} {listed(value, NAMES_SHOWN)}" if isinstance(value, tuple) else f"{name} {value}"
