"""YAML as the JSON texts that it stands for, one a document, read from parser events.

Reading events instead of composing nodes keeps three attacks out at once: nesting deep enough to overflow the C stack,
aliases that grow to gigabytes, and constructors of any kind. What kubectl prints has none of them.
"""

import re

import msgspec
import yaml

from reconciler.cluster.unreadable import UnreadableError

_DEEPEST = 100
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE|yes|Yes|YES|on|On|ON")
_FALSE = re.compile(r"false|False|FALSE|no|No|NO|off|Off|OFF")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]{1,3})?")
_PLAIN_TAGS = {None, "!"}
_STRING_TAG = "tag:yaml.org,2002:str"

_Value = dict[str, "_Value"] | list["_Value"] | str | int | float | bool | None


class YamlError(UnreadableError):
    """YAML that cannot be read; `item` is the document that it is in."""

    def __init__(self, item: str, message: str) -> None:
        super().__init__(message)
        self.item = item
        self.message = message


def json_parts(text: bytes) -> list[bytes]:
    """Each document that is not empty as JSON. Scalars are typed as Kubernetes types them (YAML 1.1 without dates)."""
    parts: list[bytes] = []
    number = 0
    try:
        loader = yaml.CLoader(text)
        try:
            value: _Value = None
            stack: list[_Open] = []
            while loader.check_event():
                event = loader.get_event()
                if isinstance(event, yaml.DocumentStartEvent):
                    number += 1
                elif isinstance(event, yaml.DocumentEndEvent):
                    if value is not None:
                        parts.append(msgspec.json.encode(value))
                    value = None
                elif isinstance(event, yaml.AliasEvent):
                    raise _error(number, event, "an alias (*): snapshots are read without aliases")
                elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                    if len(stack) == _DEEPEST:
                        raise _error(number, event, "nested more deeply than any object is")
                    stack.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else [], event))
                elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                    value = stack.pop().content
                    if stack:
                        _add(number, stack[-1], value, event)
                elif isinstance(event, yaml.ScalarEvent):
                    scalar = _scalar(event)
                    if stack:
                        _add(number, stack[-1], scalar, event)
                    else:
                        value = scalar
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        where = _where(getattr(error, "problem_mark", None))
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise YamlError(f"document {max(number, 1)}", f"no valid YAML: {problem}{where}") from None
    except UnicodeDecodeError:
        raise YamlError(f"document {max(number, 1)}", "text that is not UTF-8") from None
    return parts


class _Open:
    """A mapping or sequence whose end has not come yet; `key` waits for its value."""

    __slots__ = ("content", "key", "start")

    def __init__(self, content: dict[str, _Value] | list[_Value], start: yaml.Event) -> None:
        self.content = content
        self.key: str | None = None
        self.start = start


def _add(number: int, parent: _Open, value: _Value, event: yaml.Event) -> None:
    if isinstance(parent.content, list):
        parent.content.append(value)
    elif parent.key is None:
        if isinstance(value, dict | list):
            raise _error(number, event, "a mapping key that is no text")
        key = event.value if isinstance(event, yaml.ScalarEvent) else ""
        if key in parent.content:
            raise _error(number, event, f"the key {key!r} twice in one mapping")
        parent.key = key
    else:
        parent.content[parent.key] = value
        parent.key = None


def _scalar(event: yaml.ScalarEvent) -> _Value:
    text: str = event.value
    if event.tag == _STRING_TAG or event.style is not None or event.tag not in _PLAIN_TAGS:
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


def _error(number: int, event: yaml.Event, message: str) -> YamlError:
    return YamlError(f"document {number}", message + _where(event.start_mark))


def _where(mark: object) -> str:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    return "" if line is None or column is None else f" (line {line + 1}, column {column + 1})"
