"""The log of the live loop: one JSON object a line, on stderr."""

import json
import threading
from collections.abc import Callable
from typing import TextIO

from reconciler.plan.instant import instant_text
from reconciler.rendering.json_text import inert_json

Field = str | int | float | bool | None | tuple[str, ...]


class Log:
    """Writes lines with the fields that every one carries (`time`, `level`, `message`, `code`), then those of the event.

    Values are data: JSON escapes what could end a line or steer a terminal.
    """

    def __init__(self, stream: TextIO, now_seconds: Callable[[], int]) -> None:
        self._stream = stream
        self._now = now_seconds
        self._lock = threading.Lock()

    def info(self, code: str, message: str, **fields: Field) -> None:
        """Something that was done or has changed."""
        self._write("info", code, message, fields)

    def warning(self, code: str, message: str, **fields: Field) -> None:
        """Something that a person should know and the loop gets over by itself."""
        self._write("warning", code, message, fields)

    def error(self, code: str, message: str, **fields: Field) -> None:
        """Something that needs a person."""
        self._write("error", code, message, fields)

    def _write(self, level: str, code: str, message: str, fields: dict[str, Field]) -> None:
        line = {"time": instant_text(self._now()), "level": level, "code": code, "message": message} | fields
        with self._lock:
            self._stream.write(inert_json(json.dumps(line, ensure_ascii=True)) + "\n")
            self._stream.flush()
