"""Parts of objects that the first decoding left as bytes, decoded when a distinct value of them is first met."""

from typing import Generic, TypeVar

import msgspec
from msgspec import Raw

from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.decoder_words import in_plain_words
from reconciler.values.decoding import decoder

_T = TypeVar("_T")
_ABSENT = (b"", b"null")
DECODING_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for a text that is damaged or is something else; `finding` puts each into words."""


class RawPart(Generic[_T]):
    """A decoder of one kind of part; an absent part (or null) reads as None."""

    def __init__(self, kind: type[_T], path: str) -> None:
        self._decoder = decoder(kind)
        self._path = path

    def read(self, part: Raw, path: str = "") -> _T | None:
        """The part, or None. Raises `UnreadableError` with the path of the field (`path` where it differs by place)."""
        body = memoryview(part)
        if len(body) <= 4 and bytes(body) in _ABSENT:
            return None
        try:
            return self._decoder.decode(body)
        except DECODING_ERRORS as error:
            raise UnreadableError(finding(error)).at(path or self._path) from None


def finding(error: Exception) -> str:
    """A decoding error as the rest of a sentence: `spec.containers[0].name: must be a text, not a whole number`."""
    if isinstance(error, RecursionError):
        return "nested more deeply than any object is"
    if isinstance(error, UnicodeDecodeError):
        return "text that is not UTF-8"
    text, _, path = str(error).partition(" - at `")
    # A small first letter, unless it begins a name (JSON).
    text = in_plain_words(text)
    text = (text[:1].lower() + text[1:] if text[1:2].islower() else text).replace("`", "")
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    return f"{path}: {text}" if path else text


# Objects of one kind by namespace and name, each once.

_KEPT_OBJECT_T = TypeVar("_KEPT_OBJECT_T")
Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""


class ContradictionError(Exception):
    """Two objects under one name that say different things; `first` and `second` are their sources."""

    def __init__(self, name: str, first: int, second: int) -> None:
        super().__init__(name, first, second)
        self.name = name
        self.first = first
        self.second = second


class Kept(Generic[_KEPT_OBJECT_T]):
    """The objects read so far. The same object twice counts once; iteration is by key."""

    def __init__(self) -> None:
        self._items: dict[Key, _KEPT_OBJECT_T] = {}
        self._sources: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._items)

    def add(self, key: Key, value: _KEPT_OBJECT_T, source: int) -> None:
        """Keep one more object. Raises `ContradictionError` when it differs from one of the same name."""
        known = self._items.get(key)
        if known is None:
            self._items[key] = value
            self._sources[key] = source
        elif known != value:
            raise ContradictionError("/".join(part for part in key if part), self._sources[key], source)

    def discard(self, key: Key) -> _KEPT_OBJECT_T | None:
        """Forget an object, as a live view does before it reads it again. Returns what was kept, or None."""
        self._sources.pop(key, None)
        return self._items.pop(key, None)

    def get(self, key: Key) -> _KEPT_OBJECT_T | None:
        """One object."""
        return self._items.get(key)

    def by_key(self) -> dict[Key, _KEPT_OBJECT_T]:
        """The objects by namespace and name, in the order of the names."""
        return dict(sorted(self._items.items(), key=lambda pair: pair[0]))

    def values(self) -> list[_KEPT_OBJECT_T]:
        """The objects in the order of their names."""
        return list(self.by_key().values())
