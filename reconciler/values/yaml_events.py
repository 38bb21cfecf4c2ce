"""The rules for every YAML text: bounds, aliases, tags, and what an unquoted scalar is.

Both readers take parser events instead of the parser's own nodes. This prevents three attacks: nesting that overflows the C
stack, aliases that grow to gigabytes, and constructors of any kind.

The two readers differ for a reason:

- `policy.reading.yaml_text` reads what people write: policies, and the manifests next to them. It keeps the place of each value.
  It keeps both of two equal keys, because only the owner of a document may report a mistake in it.
- `cluster.snapshots.texts` reads what programs print, up to gigabytes in one text. It makes JSON and keeps no places. A
  mistake ends the reading, because no part of a damaged capture can be trusted.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
import yaml

T = TypeVar("T")
Loader: TypeAlias = type[yaml.CSafeLoader] | type[yaml.SafeLoader]
LOADER: Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MERGE_KEY = "<<"
"""YAML 1.1 merges mappings by it, YAML 1.2 does not: written plain it is refused."""
_CORE = "tag:yaml.org,2002:"
_TYPED = tuple(_CORE + name for name in ("int", "bool", "null", "float"))


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much one text may hold. An alias counts for the `values` and the `levels` that it repeats."""

    documents: int
    levels: int
    values: int


class Opened(Generic[T]):
    """A collection that is being read. `items` are its values so far; in a mapping, keys and values alternate. `keys` are for a
    reader that judges keys."""

    __slots__ = ("anchor", "event", "items", "keys", "levels", "mapping", "values_before")

    def __init__(self, event: yaml.CollectionStartEvent, values_before: int) -> None:
        self.event = event
        self.mapping = isinstance(event, yaml.MappingStartEvent)
        self.anchor = event.anchor
        self.values_before = values_before
        self.levels = 0  # of the deepest item
        self.items: list[T] = []
        self.keys: set[str] = set()


class YamlReader(ABC, Generic[T]):
    """Reads one text. A subclass makes the values and decides what a fault leads to."""

    def __init__(self, bounds: Bounds) -> None:
        self.documents = 0
        """How many have begun."""
        self._bounds = bounds
        self._opened: list[Opened[T]] = []
        self._anchors: dict[str, tuple[T, int, int]] = {}  # name -> value, how many values it holds, how many levels
        self._values = 0

    @abstractmethod
    def scalar(self, event: yaml.ScalarEvent, *, plain: bool, key: bool) -> T:
        """The value of a scalar. `plain`: its look gives it a type. `key`: it is one of a mapping."""

    @abstractmethod
    def collection(self, opened: Opened[T], event: yaml.CollectionEndEvent) -> T:
        """The value of a mapping or a sequence that ends with `event`."""

    @abstractmethod
    def document(self, value: T) -> None:
        """Take the value of a document."""

    def key(self, opened: Opened[T], key: T, event: yaml.Event) -> None:
        """Judge a key of a mapping, before it is in `items`."""

    @abstractmethod
    def fault(self, code: str, event: yaml.Event, message: str, hint: str = "", *, width: int = 1) -> None:
        """Take a fault at the beginning of `event`. `width`: in characters."""

    def read(self, text: str | bytes, loader: Loader = LOADER) -> None:
        """Read up to the end, or to the first fault that ends the reading. Raises `yaml.YAMLError` for invalid YAML."""
        for event in yaml.parse(text, Loader=loader):
            if not self._take(event):
                break

    def _take(self, event: yaml.Event) -> bool:
        """Use one event. False: the rest of the text is not read."""
        if isinstance(event, yaml.ScalarEvent):
            self._values += 1
            plain = not event.style
            if event.tag is not None:
                plain = self._keeps_its_look(event, event.tag, "str") and plain
            return self._put(self.scalar(event, plain=plain, key=self._at_key()), event.anchor, 1, 0, event)
        if isinstance(event, yaml.CollectionStartEvent):
            if event.tag is not None:
                self._keeps_its_look(event, event.tag, "map" if isinstance(event, yaml.MappingStartEvent) else "seq")
            self._opened.append(Opened(event, self._values))
            self._values += 1
            if len(self._opened) > self._bounds.levels:
                return self._end("TooDeep", event, f"more than {self._bounds.levels} nested levels")
            return self._within(event)
        if isinstance(event, yaml.CollectionEndEvent):
            opened = self._opened.pop()
            whole = self.collection(opened, event)
            return self._put(whole, opened.anchor, self._values - opened.values_before, 1 + opened.levels, event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, event.anchor or "")
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors = {}
            self.documents += 1
            if self.documents > self._bounds.documents:
                message = f"more than {self._bounds.documents} documents in one file"
                return self._end("TooManyDocuments", event, message, "split the file")
        return True

    def _at_key(self) -> bool:
        return bool(self._opened) and self._opened[-1].mapping and len(self._opened[-1].items) % 2 == 0

    def _put(self, value: T, anchor: str | None, values: int, levels: int, event: yaml.Event) -> bool:
        """Add a finished value, which holds so many values and levels, to the collection that it is in."""
        if anchor is not None:
            self._anchors[anchor] = (value, values, levels)
        if not self._opened:
            self.document(value)
            return self._within(event)
        opened = self._opened[-1]
        if self._at_key():
            self.key(opened, value, event)
        opened.items.append(value)
        opened.levels = max(opened.levels, levels)
        return self._within(event)

    def _alias(self, event: yaml.AliasEvent, name: str) -> bool:
        (line, column), (end_line, end_column) = place_of(event.start_mark), place_of(event.end_mark)
        width = end_column - column if end_line == line else 1
        anchor = self._anchors.get(name)
        if anchor is None:
            if any(opened.anchor == name for opened in self._opened):
                message = f"the alias *{name} is inside the value that it repeats"
                return self._end("AliasLoop", event, message, "write the value out", width=width)
            message = f"unknown anchor &{name}: it must come before this alias"
            return self._end("UnknownAlias", event, message, "write the value out", width=width)
        value, values, levels = anchor
        self._values += values
        if len(self._opened) + levels > self._bounds.levels:
            message = f"the alias *{name} nests more than {self._bounds.levels} levels"
            return self._end("TooDeep", event, message, "write the value out", width=width)
        if self._values > self._bounds.values:
            message = f"the alias *{name} expands this file to more than {self._bounds.values} values"
            return self._end("AliasBomb", event, message, "write the values out", width=width)
        return self._put(value, None, values, levels, event)

    def _within(self, event: yaml.Event) -> bool:
        if self._values > self._bounds.values:
            return self._end("TooManyValues", event, f"more than {self._bounds.values} values in one file", "split the file")
        return True

    def _keeps_its_look(self, event: yaml.Event, tag: str, own: str) -> bool:
        """Whether a tag leaves a plain scalar the type that its look gives it. One that stands for anything but plain data is a
        fault."""
        if tag in (_CORE + own, "!"):
            return False
        if own == "str" and tag in _TYPED:
            return True
        shown = "!!" + tag[len(_CORE) :] if tag.startswith(_CORE) else tag
        hint = "a policy is plain data: remove the tag"
        self.fault("UnsupportedTag", event, f"the tag {shown!r} is not allowed", hint, width=len(shown))
        return False

    def _end(self, code: str, event: yaml.Event, message: str, hint: str = "", *, width: int = 1) -> bool:
        self.fault(code, event, message, hint, width=width)
        return False


def place_of(mark: Any) -> tuple[int, int]:  # noqa: ANN401 - the marks of libyaml and of the pure parser share no type
    """Line and column, from 1."""
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def too_deep(error: yaml.YAMLError) -> bool:
    """Whether libyaml stopped at a bound of its own, which it meets before ours since the one that comes with PyYAML 6.0.4."""
    return "maximum nesting depth" in str(getattr(error, "problem", "") or error)
