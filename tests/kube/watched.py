"""An API server in memory that is watched: lists, discovery, streaming lists, bookmarks, and what changes as it changes.

SOURCE: Kubernetes API concepts (efficient detection of changes, streaming lists); what it forgets is told with 410.
"""

import copy
import json
import queue
import re
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.kube.connection.api import ApiError, ContentType
from reconciler.kube.watching.collection import WORKLOAD, Collection
from tests.kube.versioned import Object, VersionedServer

_IN_NAMESPACE = re.compile(r"/namespaces/[^/]+(?=/)")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CREATED = "2026-11-21T10:00:00Z"


class WatchedServer(VersionedServer):
    """Serves the kinds of a workload cluster and those that are defined. A path in `forbidden` is refused; `reads` keeps every
    read and watch."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[str, Collection] = {item.path: item for item in WORKLOAD}
        self.forbidden: set[str] = set()
        self.reads: list[tuple[str, dict[str, str]]] = []
        self._watches: list[Watch] = []
        self._told: list[tuple[int, str, bytes]] = []
        self._forgotten = 0
        self._change = threading.RLock()

    def with_timeout(self, seconds: float) -> "WatchedServer":
        del seconds
        return self

    def define(self, item: Object) -> None:
        """Serve the kind of a definition."""
        spec = item["spec"]
        for version in spec["versions"]:
            found = Collection(
                group=spec["group"], kind=spec["names"]["kind"], version=version["name"], plural=spec["names"]["plural"]
            )
            self.kinds[found.path] = found

    def forget(self) -> None:
        """No watch may begin from before now."""
        with self._change:
            self._forgotten = self._version
            self._told.clear()

    def end(self, path: str, why: Exception | None = None) -> None:
        """End the watches of a collection: in order, or by a failure."""
        with self._change:
            for watch in self._watches:
                if watch.path == path:
                    watch.say(why)

    def put(self, path: str, body: Object) -> None:
        with self._change:
            body = copy.deepcopy(body)
            new = path not in self.objects
            before = self.objects.get(path, {"metadata": {"uid": f"uid-{self._version}", "creationTimestamp": _CREATED}})
            own = {name: before["metadata"][name] for name in ("uid", "creationTimestamp")}
            generation = before["metadata"].get("generation", 0) + (new or before.get("spec") != body.get("spec"))
            body["metadata"] = own | body.get("metadata", {}) | {"generation": generation}
            super().put(path, body)
            self._tell("ADDED" if new else "MODIFIED", path, self.objects[path])

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.reads.append((path, dict(query or {})))
        with self._change:
            if path == "/version":
                self._check(path)
                return b'{"gitVersion":"v1.36.3"}'
            kind = self._kind(path)
            if kind is not None:
                self._check(path)
                items = [item for place, item in sorted(self.objects.items()) if path in _collections(place)]
                head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version}
                return json.dumps(head | {"metadata": {"resourceVersion": str(self._version)}, "items": items}).encode()
            found = self._discovered(path)
            return found if found is not None else super().get(path.removesuffix("/status"), query)

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        with self._change:
            path = path.removesuffix("/status")
            gone = self.objects.get(path)
            answer = super().write(method, path, body, content_type=content_type, query=query)
            if method == "DELETE" and gone is not None:
                self._version += 1
                self._tell("DELETED", path, gone | {"metadata": gone["metadata"] | {"resourceVersion": str(self._version)}})
                if path.startswith("/api/v1/namespaces/"):
                    for inside in [place for place in self.objects if f"{path.removeprefix('/api/v1')}/" in place]:
                        self.write("DELETE", inside)
            if method == "POST" and path == _DEFINITIONS:
                self.define(json.loads(answer))
            return answer

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> "Watch":
        return Watch(self, path, dict(query), silence_seconds)

    def begin(self, watch: "Watch") -> None:
        """What a watch is told first, and from then on what changes."""
        query = watch.query
        with self._change:
            self.reads.append((watch.path, query))
            if self._kind(watch.path) is None:
                raise ApiError(404, "NotFound", "the server could not find the requested resource")
            self._check(watch.path)
            if query.get("sendInitialEvents") == "true":
                if query.get("resourceVersionMatch") != "NotOlderThan":
                    raise ApiError(422, "Invalid", "resourceVersionMatch: must be NotOlderThan with sendInitialEvents")
                for place, item in sorted(self.objects.items()):
                    if watch.path in _collections(place):
                        watch.say(_event("ADDED", item))
                watch.say(self.bookmark(watch.path, end=True))
            elif int(query["resourceVersion"]) < self._forgotten:
                told = f"too old resource version: {query['resourceVersion']} ({self._version})"
                watch.say(_event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": told}))
                watch.say(None)
            else:
                for version, place, line in self._told:
                    if version > int(query["resourceVersion"]) and watch.path in _collections(place):
                        watch.say(line)
            self._watches.append(watch)

    def bookmark(self, path: str, *, end: bool = False) -> bytes:
        """Where a watch of the collection is."""
        kind = self._kind(path)
        assert kind is not None
        metadata: Object = {"resourceVersion": str(self._version)}
        if end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return _event("BOOKMARK", {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata})

    def ended(self, watch: "Watch") -> None:
        with self._change:
            if watch in self._watches:
                self._watches.remove(watch)

    def _kind(self, path: str) -> Collection | None:
        return self.kinds.get(_IN_NAMESPACE.sub("", path))

    def _check(self, path: str) -> None:
        if path in self.forbidden:
            raise ApiError(403, "Forbidden", f"{path} is forbidden")

    def _tell(self, what: str, path: str, item: Object) -> None:
        line = _event(what, item)
        self._told.append((self._version, path, line))
        for watch in self._watches:
            if watch.path in _collections(path):
                watch.say(line)

    def _discovered(self, path: str) -> bytes | None:
        """`/apis/GROUP` and `/apis/GROUP/VERSION`; subresources are listed before what they belong to."""
        if path.count("/") not in (2, 3) or not path.startswith("/apis/"):
            return None
        group, _, version = path.removeprefix("/apis/").partition("/")
        found = [kind for kind in self.kinds.values() if kind.group == group and version in ("", kind.version)]
        if not found:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if not version:
            versions = [{"version": name} for name in sorted({kind.version for kind in found}, reverse=True)]
            return json.dumps({"name": group, "versions": versions, "preferredVersion": versions[0]}).encode()
        names = [(f"{kind.plural}{sub}", kind.kind) for kind in found for sub in ("/status", "")]
        return json.dumps({"resources": [{"name": name, "kind": kind} for name, kind in names]}).encode()


class Watch:
    """One watch, read by one thread; `cut` ends it from another."""

    def __init__(self, server: WatchedServer, path: str, query: dict[str, str], silence_seconds: float) -> None:
        self.server, self.path, self.query, self.silence_seconds = server, path, query, silence_seconds
        self._lines: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()

    def say(self, line: bytes | Exception | None) -> None:
        """A line, a failure, or the end."""
        self._lines.put(line)

    def cut(self) -> None:
        self.say(None)

    def __enter__(self) -> Iterator[bytes]:
        assert self.query["watch"] == "true"
        self.server.begin(self)
        return self._told()

    def __exit__(self, *_: object) -> None:
        self.server.ended(self)

    def _told(self) -> Iterator[bytes]:
        while (line := self._lines.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line


def _event(what: str, item: Any) -> bytes:
    return json.dumps({"type": what, "object": item}).encode()


def _collections(path: str) -> tuple[str, str]:
    """The collections that an object is in: that of its namespace, and that of all."""
    own = path.rpartition("/")[0]
    return own, _IN_NAMESPACE.sub("", own)
