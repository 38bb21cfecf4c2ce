"""Who owns which field of an object, and what an apply makes of it. Lists are one field each, whatever keys their items have.

SOURCE: Kubernetes, server-side apply: conflicts, fields that are left out, updates that take fields over.
"""

import copy
from collections.abc import Iterator
from typing import Any

from reconciler.kube.connection.api import ApiError, Cause

Object = dict[str, Any]
Path = tuple[str, ...]
_IDENTITY = {
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
}


def applied(before: Object | None, said: Object, manager: str, *, force: bool, status: bool) -> Object:
    """The object after an apply. Raises `ApiError` for fields that somebody else owns and says otherwise."""
    item = copy.deepcopy(before) if before is not None else {}
    wanted = {path: value for path, value in _fields(said) if (path[0] == "status") == status}
    entries = _entries(item)
    mine = next((entry for entry in entries if (entry["manager"], entry["operation"]) == (manager, "Apply")), None)
    had = _owned(mine) if mine is not None else set()
    others = [entry for entry in entries if entry is not mine]
    met = [
        (entry["manager"], path)
        for entry in others
        for path in sorted(_owned(entry) & wanted.keys())
        if _value(item, path) != wanted[path]
    ]
    if met and not force:
        causes = tuple(
            Cause(reason="FieldManagerConflict", message=f'conflict with "{who}"', field="." + ".".join(path))
            for who, path in met
        )
        told = ", ".join(f'conflict with "{who}": .{".".join(path)}' for who, path in met)
        raise ApiError(409, "Conflict", f"Apply failed with {len(met)} conflict{'s' * (len(met) > 1)}: {told}", causes)
    for entry in others:
        _own(entry, _owned(entry) - {path for who, path in met if who == entry["manager"]})
    kept = set().union(*(_owned(entry) for entry in others))
    for path in had - wanted.keys() - kept:
        _take(item, path)
    for path, value in wanted.items():
        _set(item, path, value)
    ours = mine or {"manager": manager, "operation": "Apply"} | ({"subresource": "status"} if status else {})
    _own(ours, set(wanted))
    return _with(item, said, [*others, ours])


def updated(before: Object | None, after: Object, manager: str, *, status: bool) -> Object:
    """`after` with its owners: what was changed is the writer's now, unless it says itself whose fields are whose."""
    item = copy.deepcopy(after)
    given = item.get("metadata", {}).get("managedFields")
    entries = (
        _entries(before) if before is not None and (given is None or given == before["metadata"].get("managedFields")) else given
    )
    entries = copy.deepcopy(entries or [])
    was, now = dict(_fields(before or {})), dict(_fields(item))
    changed = {path for path, value in now.items() if path not in was or was[path] != value}
    mine = next((entry for entry in entries if (entry["manager"], entry["operation"]) == (manager, "Update")), None)
    if mine is None and changed:
        mine = {"manager": manager, "operation": "Update"} | ({"subresource": "status"} if status else {})
        entries.append(mine)
    for entry in entries:
        gone = {path for path in _owned(entry) if path in was and path not in now}
        _own(entry, (_owned(entry) | changed) - gone if entry is mine else _owned(entry) - changed - gone)
    return _with(item, {}, entries)


def _with(item: Object, said: Object, entries: list[Object]) -> Object:
    identity = {name: said[name] for name in ("apiVersion", "kind") if name in said}
    names = {name: said["metadata"][name] for name in ("name", "namespace") if name in said.get("metadata", {})}
    kept = [entry for entry in entries if entry.get("fieldsV1")]
    metadata = names | item.get("metadata", {}) | ({"managedFields": kept} if kept else {})
    return identity | item | {"metadata": metadata}


def _fields(item: Object) -> Iterator[tuple[Path, Any]]:
    """The fields that somebody can own."""
    for name, value in item.items():
        if name == "metadata":
            inside = {key: part for key, part in value.items() if key not in _IDENTITY}
            yield from (((name, *path), part) for path, part in _leaves(inside) if path)
        elif name not in ("apiVersion", "kind"):
            yield from (((name, *path), part) for path, part in _leaves(value))


def _leaves(value: Any) -> Iterator[tuple[Path, Any]]:
    if not isinstance(value, dict) or not value:
        yield (), value
        return
    for name, part in value.items():
        yield from (((name, *path), leaf) for path, leaf in _leaves(part))


def _entries(item: Object) -> list[Object]:
    return copy.deepcopy(item.get("metadata", {}).get("managedFields", []))


def _owned(entry: Object) -> set[Path]:
    return {path for path, _ in _unfolded(entry.get("fieldsV1", {}))}


def _unfolded(tree: Object) -> Iterator[tuple[Path, None]]:
    for name, inside in tree.items():
        part = name.removeprefix("f:")
        if inside:
            yield from (((part, *path), None) for path, _ in _unfolded(inside))
        else:
            yield (part,), None


def _own(entry: Object, paths: set[Path]) -> None:
    tree: Object = {}
    for path in sorted(paths):
        inside = tree
        for name in path:
            inside = inside.setdefault(f"f:{name}", {})
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": tree}


def _value(item: Any, path: Path) -> Any:
    for name in path:
        item = item.get(name, {}) if isinstance(item, dict) else {}
    return item


def _set(item: Any, path: Path, value: Any) -> None:
    for name in path[:-1]:
        item = item.setdefault(name, {})
    item[path[-1]] = value


def _take(item: Any, path: Path) -> None:
    for name in path[:-1]:
        item = item.get(name, {})
    item.pop(path[-1], None)
