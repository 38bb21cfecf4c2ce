"""The smallest snapshot that still shows a difference."""

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def shrink(snapshot: Object, still: Callable[[Object], bool]) -> Object:
    """Leave out objects, in halves and then one by one, as long as `still` holds for what remains."""
    items = list(snapshot["items"])
    size = len(items) // 2
    while size:
        start = 0
        while start < len(items):
            fewer = items[:start] + items[start + size :]
            if still(snapshot | {"items": fewer}):
                items = fewer
            else:
                start += size
        size //= 2
    return snapshot | {"items": [_smaller(snapshot, items, index, still) for index in range(len(items))]}


def _smaller(snapshot: Object, items: list[Object], index: int, still: Callable[[Object], bool]) -> Object:
    """One object without what does not matter in its metadata, spec and status; `items` is changed in place."""
    for part in ("metadata", "spec", "status"):
        for key in list(items[index].get(part, {})):
            # Without its labels a node would lack the one with its name too, which is a story of its own.
            if key in ("name", "namespace", "uid") or (key == "labels" and items[index].get("kind") == "Node"):
                continue
            fewer = {name: value for name, value in items[index][part].items() if name != key}
            changed = items[index] | {part: fewer}
            if still(snapshot | {"items": [*items[:index], changed, *items[index + 1 :]]}):
                items[index] = changed
    return items[index]
