"""Merges parts of a policy: mappings by key, limits and tiers by name. Other lists are appended."""

from collections.abc import Mapping
from typing import Any

_BY_NAME = ("limits", "tiers")


def merge(spec: dict[str, Any], addition: Mapping[str, Any]) -> None:
    """Put `addition` into `spec`, which keeps its other values."""
    for key, value in addition.items():
        there = spec.get(key)
        if isinstance(there, dict) and isinstance(value, Mapping):
            merge(there, value)
        elif isinstance(there, list) and isinstance(value, list):
            for item in value:
                _add(there, item, by_name=key in _BY_NAME)
        else:
            spec[key] = _copy(value)


def _add(items: list[Any], item: Any, *, by_name: bool) -> None:  # noqa: ANN401 - an item of any list
    if item in items:
        return
    name = item.get("name") if isinstance(item, Mapping) else None
    same = next((one for one in items if name is not None and isinstance(one, dict) and one.get("name") == name), None)
    if same is None:
        items.append(_copy(item))
    elif by_name:
        merge(same, item)
    else:
        names = {one.get("name") for one in items if isinstance(one, dict)}
        free = next(number for number in range(2, len(items) + 3) if f"{name}-{number}" not in names)
        items.append({**_copy(item), "name": f"{name}-{free}"})


def _copy(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    if isinstance(value, Mapping):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value
