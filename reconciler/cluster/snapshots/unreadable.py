"""What cannot be read: one value of an object, or a document as a whole."""


class UnreadableError(ValueError):
    """A value that is not what its field must hold; the message says which value and what was expected."""

    def at(self, path: str) -> "UnreadableError":
        """The same finding with the path of the field in front."""
        return UnreadableError(f"{path}: {self}")


class SnapshotError(Exception):
    """A snapshot that cannot be trusted, because a part of it is damaged, cut off or contradicts another part.

    `file` is the path inside the snapshot (empty: the snapshot as a whole), `item` names the object
    (`item 4 (Pod shop/web-1)`; empty: the whole file), `message` is one sentence.
    """

    def __init__(self, file: str, item: str, message: str) -> None:
        super().__init__(file, item, message)
        self.file = file
        self.item = item
        self.message = message

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.item, self.message) if part)
