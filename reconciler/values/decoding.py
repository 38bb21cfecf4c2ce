"""JSON and plain values as typed structs, from any thread.

SOURCE: msgspec 0.22 stores what it knows about a struct type in the class before that knowledge is complete. A second thread that
decodes the same type for the first time then reads a null pointer, and the process ends with SIGSEGV. We saw this when the loop
started its watches. Eight threads and a short switch interval reproduce it at once. So one lock guards the first use of a type.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

_Value = TypeVar("_Value")
_first_use = threading.RLock()
_decoders: dict[Any, Any] = {}


def decoder(kind: type[_Value]) -> "msgspec.json.Decoder[_Value]":
    """The decoder of a type, made once. Raises TypeError for a type that JSON cannot hold."""
    known: msgspec.json.Decoder[_Value] | None = _decoders.get(kind)
    if known is None:
        with _first_use:
            known = _decoders[kind] = msgspec.json.Decoder(kind)
    return known


def decode(body: bytes | str | memoryview, kind: type[_Value]) -> _Value:
    """JSON as a value of that type. Raises `msgspec.DecodeError` and its `ValidationError`, also where msgspec itself raises
    something else."""
    try:
        return decoder(kind).decode(body)
    except RecursionError:
        raise msgspec.DecodeError("Nested more deeply than any object is") from None
    except UnicodeError:
        raise msgspec.DecodeError("Text that is not UTF-8") from None


def convert(
    value: object,
    kind: type[_Value],
    *,
    from_attributes: bool = False,
    dec_hook: Callable[[type[Any], Any], Any] | None = None,
) -> _Value:
    """A plain value as one of that type. Raises `msgspec.ValidationError`."""
    decoder(kind)
    return msgspec.convert(value, kind, from_attributes=from_attributes, dec_hook=dec_hook)
