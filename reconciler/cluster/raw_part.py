"""Parts of objects that the first decoding left as bytes, decoded when a distinct value of them is first met."""

from typing import Generic, TypeVar

import msgspec
from msgspec import Raw

from reconciler.cluster.unreadable import UnreadableError

_T = TypeVar("_T")
_ABSENT = (b"", b"null")


class RawPart(Generic[_T]):
    """A decoder of one kind of part; an absent part (or null) reads as None."""

    def __init__(self, kind: type[_T], path: str) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._path = path

    def read(self, part: Raw, path: str = "") -> _T | None:
        """The part, or None. Raises `UnreadableError` with the path of the field (`path` where it differs by place)."""
        body = memoryview(part)
        if len(body) <= 4 and bytes(body) in _ABSENT:
            return None
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise UnreadableError(field_message(error)).at(path or self._path) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableError(str(error)).at(path or self._path) from None


def field_message(error: msgspec.ValidationError) -> str:
    """A decoder's finding with the path in front: `spec.containers[0].name: expected str, got int`."""
    text, _, path = str(error).partition(" - at `")
    text = (text[:1].lower() + text[1:]).replace("`", "")
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    return f"{path}: {text}" if path else text
