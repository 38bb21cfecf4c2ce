"""An API server in memory for the guards of writes: objects carry versions, a write under an old one is a conflict.

What a real server answers is tested on a real one, in the tests beside this; here the question is what is sent.
"""

import copy
import json
from collections.abc import Callable, Mapping
from inspect import signature
from types import ModuleType
from typing import Any

from reconciler.kube.connection.api import ApiError, ContentType

Object = dict[str, Any]
_NOWHERE = ("not-there", "no-such-namespace")


class VersionedServer:
    """Objects by path. `sent` keeps every write: method, path, body. `between` is called before the next write, once; a write
    to a path of `refused` meets that error. Namespaces of `_NOWHERE` are missing."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.lists: dict[str, list[Object]] = {}
        self.sent: list[tuple[str, str, Object]] = []
        self.refused: dict[str, Exception] = {}
        self.between: Callable[[], None] | None = None
        self._version = 0

    def put(self, path: str, body: Object) -> None:
        """Somebody writes the object, whatever its version."""
        self._version += 1
        stored = copy.deepcopy(body)
        stored.setdefault("metadata", {})["resourceVersion"] = str(self._version)
        self.objects[path] = stored

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if path in self.lists:
            return json.dumps({"metadata": {}, "items": self.lists[path]}).encode()
        if path in self.objects:
            return json.dumps(self.objects[path]).encode()
        below = [item for place, item in self.objects.items() if place.rpartition("/")[0] == path]
        if not below:
            raise _not_found(path)
        label, named, value = (query or {}).get("labelSelector", "").partition("=")
        found = [item for item in below if not label or _labelled(item, label, value if named else None)]
        return json.dumps({"metadata": {}, "items": found}).encode()

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        del content_type, query
        between, self.between = self.between, None
        if between is not None:
            between()
        said: Object = json.loads(json.dumps(body, default=lambda raw: json.loads(bytes(raw)))) if body is not None else {}
        self.sent.append((method, path, said))
        if path in self.refused:
            raise self.refused[path]
        if path.endswith("/eviction"):
            return b"{}"
        for name in _NOWHERE:
            if f"/namespaces/{name}/" in path:
                raise ApiError(404, "NotFound", f'namespaces "{name}" not found')
        if method == "POST":
            path = f"{path}/{said['metadata']['name']}"
            if path in self.objects:
                raise ApiError(409, "AlreadyExists", path)
        elif path not in self.objects:
            raise _not_found(path)
        elif method == "DELETE":
            return json.dumps(self.objects.pop(path)).encode()
        else:
            version = said["metadata"].get("resourceVersion") if "metadata" in said else None
            if version is not None and version != self.objects[path]["metadata"]["resourceVersion"]:
                raise ApiError(409, "Conflict", f"{path} has changed")
        self.put(path, _merged(self.objects[path], said) if method == "PATCH" else said)
        return json.dumps(self.objects[path]).encode()

    def with_guard(self, guard: Callable[[], None]) -> "Guarded":
        """The same server; each write asks the guard first."""
        return Guarded(self, guard)

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> Any:
        raise AssertionError("nothing is watched here")


def asked(module: ModuleType) -> dict[str, object]:
    """The tests of a module that ask a server, to be asked of another one; not those that need a whole control plane."""
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    needs = {name: set(signature(test).parameters) for name, test in tests.items()}
    return {
        name: tests[name] for name, what in needs.items() if {"api", "scene", "telling"} & what and "control_plane" not in what
    }


class Guarded:
    """Writes to a server after a guard was asked."""

    def __init__(self, server: VersionedServer, guard: Callable[[], None]) -> None:
        self._server, self._guard = server, guard

    def write(self, method: str, path: str, body: object = None) -> bytes:
        self._guard()
        return self._server.write(method, path, body)


def _labelled(item: Object, label: str, value: str | None) -> bool:
    """Whether it has the label, with this value unless any will do."""
    found = item["metadata"].get("labels", {}).get(label)
    return found is not None if value is None else found == value


def _not_found(path: str) -> ApiError:
    collection, _, name = path.rpartition("/")
    return ApiError(404, "NotFound", f'{collection.rpartition("/")[2]} "{name}" not found')


def _merged(item: Any, patch: Any) -> Any:
    """RFC 7386, merge patch: objects field by field, null takes away, all else is replaced."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = _merged(kept.get(name), value)
    return kept
