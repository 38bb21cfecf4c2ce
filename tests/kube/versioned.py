"""An API server in memory for the guards of writes: objects carry versions, a write under an old one is a conflict.

What a real server answers is tested on a real one, in the tests beside this; here the question is what is sent.
"""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from reconciler.kube.connection.api import ApiError, ContentType

Object = dict[str, Any]


class VersionedServer:
    """Objects by path. `sent` keeps every write: method, path, body. `between` is called before each write, once."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.lists: dict[str, list[Object]] = {}
        self.sent: list[tuple[str, str, Object]] = []
        self.between: Callable[[], None] | None = None
        self._version = 0

    def put(self, path: str, body: Object) -> None:
        """Somebody writes the object, whatever its version."""
        self._version += 1
        stored = copy.deepcopy(body)
        stored.setdefault("metadata", {})["resourceVersion"] = str(self._version)
        self.objects[path] = stored

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        del query
        if path in self.lists:
            return json.dumps({"metadata": {}, "items": self.lists[path]}).encode()
        if path not in self.objects:
            raise ApiError(404, "NotFound", path)
        return json.dumps(self.objects[path]).encode()

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
        if path.endswith("/eviction"):
            return b"{}"
        if method == "POST":
            path = f"{path}/{said['metadata']['name']}"
            if path in self.objects:
                raise ApiError(409, "AlreadyExists", path)
        else:
            version = said["metadata"].get("resourceVersion")
            if version is not None and version != self.objects[path]["metadata"]["resourceVersion"]:
                raise ApiError(409, "Conflict", f"{path} has changed")
        merged = {**self.objects[path], **said} if method == "PATCH" else said
        self.put(path, merged)
        return json.dumps(self.objects[path]).encode()

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> Any:
        raise AssertionError("nothing is watched here")
