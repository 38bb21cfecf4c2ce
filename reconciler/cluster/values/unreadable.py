"""What cannot be read: one value of an object, or a document as a whole."""

from collections.abc import Sequence


class UnreadableError(ValueError):
    """A value that is not what its field must hold; the message says which value and what was expected."""

    def at(self, path: str) -> "UnreadableError":
        """The same finding with the path of the field in front."""
        return UnreadableError(f"{path}: {self}")


class SnapshotError(Exception):
    """A snapshot that cannot be trusted, because a part of it is damaged, truncated or contradicts another part.

    `file` is the path inside the snapshot (empty: the whole snapshot). `item` names the object as `item 4 (Pod shop/web-1)`
    (empty: the whole file). `message` is one sentence.
    """

    def __init__(self, file: str, item: str, message: str) -> None:
        super().__init__(file, item, message)
        self.file = file
        self.item = item
        self.message = message

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.item, self.message) if part)


class ForeignError(SnapshotError):
    """A readable text without objects, such as a version or a list of names. A snapshot is valid without it."""


class SeveralError(SnapshotError):
    """Everything in a snapshot that cannot be trusted; in place of one error it is the first of `all`."""

    def __init__(self, errors: Sequence[SnapshotError]) -> None:
        super().__init__(errors[0].file, errors[0].item, errors[0].message)
        self.all = tuple(errors)

    def __str__(self) -> str:
        return f"{super().__str__()} (and {len(self.all) - 1} more)"
