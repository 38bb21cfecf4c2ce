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
