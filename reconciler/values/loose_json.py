"""Parts of JSON that no schema has checked: another value than the expected one reads as absent."""

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]


def mapping_at(item: Object, key: str) -> Mapping[str, Any]:
    """The mapping under a key; empty where there is none."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def list_at(item: Object, key: str) -> list[Any]:
    """The list under a key; empty where there is none."""
    value = item.get(key)
    return value if isinstance(value, list) else []


def mappings_at(item: Object, key: str) -> list[Mapping[str, Any]]:
    """The mappings in the list under a key; other elements are left out."""
    return [one for one in list_at(item, key) if isinstance(one, dict)]


def text_at(item: Object, key: str) -> str:
    """The text under a key; empty where there is none."""
    value = item.get(key)
    return value if isinstance(value, str) else ""
