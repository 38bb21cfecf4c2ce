"""Objects of one kind by namespace and name. Two different objects of one name are an error."""

from typing import Generic, TypeVar

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
