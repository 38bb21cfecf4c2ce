"""Recognizes items without a kind and without their cloud's key, as `--query` prints them, by their own keys."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.platform_reading import kind_objects, readings
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.values.decoding import decode

_LEAST_KEYS = 3
_LOOKED_AT = 20


def kind_of(items: Sequence[Raw]) -> str | None:
    """The kind of a cloud that shares the most fields with the items. None if no kind fits, or two fit equally well."""
    keys: set[str] = set()
    for item in items[:_LOOKED_AT]:
        try:
            keys |= decode(item, dict[str, Raw]).keys()
        except DECODING_ERRORS:
            return None
    fits = sorted(((len(keys & fields), kind) for kind, fields, needed in _fields() if needed <= keys), reverse=True)
    if not fits or fits[0][0] < _LEAST_KEYS or (len(fits) > 1 and fits[1][0] == fits[0][0]):
        return None
    return fits[0][1]


def is_object(item: Raw) -> bool:
    """Whether it has `metadata`, as all objects of Kubernetes do."""
    try:
        return "metadata" in decode(item, dict[str, Raw])
    except DECODING_ERRORS:
        return False


@cache
def _fields() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Kind, keys that are read of an item, and those among them that every item has."""
    return tuple(
        (kind.kind, frozenset(field.encode_name for field in fields), frozenset(map(_needed, filter(_is_needed, fields))))
        for reading in readings()
        for kind in reading.kinds
        if kind.envelope is not None
        for fields in (msgspec.structs.fields(kind_objects(reading, kind).type),)
    )


def _needed(field: Any) -> str:  # noqa: ANN401 - msgspec's own description of a field
    return str(field.encode_name)


def _is_needed(field: Any) -> bool:  # noqa: ANN401 - likewise
    return bool(field.required)
