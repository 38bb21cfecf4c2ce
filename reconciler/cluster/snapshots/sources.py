"""Where objects were read from, as one number an object, so that a message can name file and item later."""

from reconciler.cluster.snapshots.document import Document

_SHIFT = 32


class Sources:
    """Numbers for the items of documents."""

    def __init__(self) -> None:
        self._documents: list[tuple[str, str, str, int, bool]] = []

    def first(self, document: Document) -> int:
        """The number of the document's first item; the following items count on from it."""
        self._documents.append((document.file, document.part, document.kind, document.offset, document.is_list))
        return (len(self._documents) - 1) << _SHIFT

    def place(self, source: int, name: str) -> tuple[str, str]:
        """File and item of an object called `name`."""
        file, part, kind, offset, is_list = self._documents[source >> _SHIFT]
        number = f"item {offset + (source & ((1 << _SHIFT) - 1))}" if is_list else ""
        named = f"{kind} {name}"
        item = f"{number} ({named})" if number else named
        return file, f"{part}, {item}" if part else item
