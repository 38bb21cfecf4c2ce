"""YAML as the JSON texts that it stands for, one a document, read from parser events.

Reading events instead of composing nodes keeps three attacks out at once: nesting deep enough to overflow the C stack,
aliases that grow to gigabytes, and constructors of any kind.
"""

import re

import msgspec
import yaml

from reconciler.cluster.values.unreadable import UnreadableError

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
