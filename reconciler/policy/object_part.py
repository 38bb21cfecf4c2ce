"""An object of another autoscaler, read key by key. Keys that nobody reads are reported."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from reconciler.policy.import_fragment import Leftover, Piece

T = TypeVar("T")
UNKNOWN = "it is unknown here"
_INDEX = re.compile(r"\[[0-9]+\]")
_BY_SERVER = "its server writes it"
_OF_THE_OBJECT = "it decides nothing about nodes"
_EVERYWHERE = {
    "status": _BY_SERVER, "metadata.uid": _BY_SERVER, "metadata.resourceVersion": _BY_SERVER, "metadata.generation": _BY_SERVER,
    "metadata.creationTimestamp": _BY_SERVER, "metadata.managedFields": _BY_SERVER, "metadata.selfLink": _BY_SERVER,
    "metadata.annotations": _OF_THE_OBJECT, "metadata.labels": _OF_THE_OBJECT, "metadata.namespace": _OF_THE_OBJECT,
    "metadata.finalizers": _OF_THE_OBJECT, "metadata.ownerReferences": _OF_THE_OBJECT,
}  # fmt: skip


class ObjectPart:
    """A mapping in an object, and where it is. A value of another type than the one asked for reads as absent, and is named."""

    def __init__(self, content: Mapping[str, Any], path: str = "", wrong: list[Leftover] | None = None) -> None:
        """`content` as the object has it, `here` where that is. `wrong` collects values of a wrong type; the parts of one object
        share it."""
        self.content = content
        self.here = path
        self._wrong = [] if wrong is None else wrong
        self._asked: dict[str, list[ObjectPart]] = {}

    def path(self, key: str) -> str:
        """Where the key is: `spec.limits`."""
        return f"{self.here}.{key}" if self.here else key

    def keys(self) -> tuple[str, ...]:
        """All keys that have a value."""
        return tuple(key for key, value in self.content.items() if value is not None)

    def value(self, key: str) -> Any:  # noqa: ANN401 - JSON of any form
        """What stands there, of whatever type; None where nothing does."""
        self._asked.setdefault(key, [])
        return self.content.get(key)

    def text(self, key: str) -> str:
        """A text; empty where there is none."""
        return self._of_type(key, str, "a text") or ""

    def whole(self, key: str) -> int | None:
        """A whole number; None where there is none."""
        return self._of_type(key, int, "a whole number")

    def values(self, key: str) -> list[Any]:
        """The items of a list, of whatever type."""
        return self._of_type(key, list, "a list") or []

    def part(self, key: str) -> "ObjectPart":
        """The mapping at the key; an empty one where there is none."""
        part = ObjectPart(self._of_type(key, dict, "an object") or {}, self.path(key), self._wrong)
        self._asked[key] = [part]
        return part

    def parts(self, key: str) -> "list[ObjectPart]":
        """The mappings in the list at the key."""
        parts = []
        for number, item in enumerate(self.values(key)):
            path = f"{self.path(key)}[{number}]"
            if isinstance(item, dict):
                parts.append(ObjectPart(item, path, self._wrong))
            else:
                self._wrong.append(Leftover(path=path, value=item, why="it must be an object"))
        self._asked[key] = parts
        return parts

    def piece(self, key: str, tree: Mapping[str, Any]) -> Piece:
        """What the value at the key becomes."""
        return Piece(path=self.path(key), value=self.value(key), tree=tree)

    def leftover(self, key: str, why: str) -> Leftover:
        """The value at the key becomes nothing."""
        return Leftover(path=self.path(key), value=self.value(key), why=why)

    def leftovers(self, reasons: Mapping[str, str]) -> tuple[Leftover, ...]:
        """Everything that was not asked for, and values of a wrong type. `reasons` has paths with `[]` for every number."""
        known = _EVERYWHERE | dict(reasons)
        unused = ((path, value, known.get(_INDEX.sub("[]", path), UNKNOWN)) for path, value in self._unused())
        return (
            *self._wrong,
            *(Leftover(path=path, value="…" if why == _BY_SERVER else value, why=why) for path, value, why in unused),
        )

    def _unused(self) -> Iterator[tuple[str, Any]]:
        for key, value in self.content.items():
            if key not in self._asked:
                yield self.path(key), value
            for part in self._asked.get(key, ()):
                yield from part._unused()

    def _of_type(self, key: str, wanted: type[T], called: str) -> T | None:
        value = self.value(key)
        # To Python true is a number.
        if isinstance(value, wanted) and not isinstance(value, bool):
            return value
        if value is not None:
            self._wrong.append(Leftover(path=self.path(key), value=value, why=f"it must be {called}"))
        return None
