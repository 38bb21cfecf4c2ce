"""Converts YAML documents to JSON texts. The rules for all YAML are in `values.yaml_events`."""

import re

import msgspec
import yaml

from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.plain_scalar import Look, look_of_plain
from reconciler.values.yaml_events import MERGE_KEY, Bounds, Opened, YamlReader, too_deep

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
