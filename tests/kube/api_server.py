"""An API server in memory, for every test that asks one and needs no real one.

It does to its clients what the real one does: versions and conflicts, owners of fields, permissions, watches that come late,
lists from a cache that is behind. `test_api_server.py` asks the same of it and of a real one.

When threads take turns, when bookmarks come and how far the cache is behind is drawn by lot in each test. FAKE_API_SEED repeats
what a failed one has printed.

SOURCE: Kubernetes API concepts (resource versions, efficient detection of changes, streaming lists), server-side apply.
"""

import copy
import json
import os
import queue
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from types import ModuleType
from typing import Any

from reconciler.kube.connection.api import ApiError, Cause, ContentType, UnreachableError
from reconciler.kube.connection.transport import FIELD_MANAGER
from reconciler.kube.watching.collection import BUFFERS, DEVICES, SERVICES, WORKLOAD, Collection
from tests.kube.owned_fields import applied, updated

Object = dict[str, Any]
_IN_NAMESPACE = re.compile(r"/namespaces/[^/]+(?=/)")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_EMPTY = re.compile(r"/(configmaps|leases|events)$")
_CREATED, _DELETED = "2026-11-21T10:00:00Z", "2027-01-15T08:00:00Z"
_NOWHERE = ("not-there", "no-such-namespace")
_SET_BY_SERVER = ("uid", "creationTimestamp", "deletionTimestamp")


class FakeApiServer:
    """Objects by path. `sent` keeps every write: method, path, body; `reads` every read and watch.

    A read of a path in `forbidden` is refused. A path in `refused` answers writes, and one in `unreadable` reads, with that error
    or with those bytes. `between` is called before the next write, once; `before` with the path before every write is done. What
    they raise is the answer. Namespaces of `_NOWHERE` are missing.
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is None:
            seed = int(os.environ.get("FAKE_API_SEED", "") or random.randrange(1 << 32))
            print(f"FAKE_API_SEED={seed}")
        self.chance = random.Random(seed)
        self.bookmarks = 0.2
        """How likely a bookmark is after each change."""
        self.objects: dict[str, Object] = {}
        self.sent: list[tuple[str, str, Any]] = []
        self.reads: list[tuple[str, dict[str, str]]] = []
        self.refused: dict[str, Exception | bytes] = {}
        self.unreadable: dict[str, Exception | bytes] = {}
        self.forbidden: set[str] = set()
        self.away = False
        """Nobody answers."""
        self.between: Callable[[], None] | None = None
        self.before: Callable[[str], None] = lambda _: None
        self.kinds: dict[str, Collection] = {item.path: item for item in (*WORKLOAD, *DEVICES, SERVICES, *BUFFERS[1:])}
        self._version = 0
        self._cache: dict[str, Object] = {}
        self._cached_version = 0
        self._watches: list[Watch] = []
        self._told: list[tuple[int, str, bytes]] = []
        self._forgotten = 0
        self._change = threading.RLock()

    def with_timeout(self, seconds: float) -> "FakeApiServer":
        del seconds
        return self

    def with_guard(self, guard: Callable[[], None]) -> "Guarded":
        """The same server; each write asks the guard first."""
        return Guarded(self, guard)

    def define(self, item: Object) -> None:
        """Serve the kind of a definition."""
        spec, names = item["spec"], item["spec"]["names"]
        for version in spec["versions"]:
            self.serve(f"/apis/{spec['group']}/{version['name']}/{names['plural']}", names["kind"])

    def serve(self, path: str, kind: str) -> None:
        """Serve a kind at `/apis/GROUP/VERSION/PLURAL`."""
        _, _, group, version, plural = path.split("/")
        self.kinds[path] = Collection(group=group, kind=kind, version=version, plural=plural)

    def put(self, path: str, body: Object) -> None:
        """Somebody writes the object, whatever its version and owners; what it says of its owners is kept."""
        with self._change:
            self._version += 1
            body = copy.deepcopy(body)
            new = path not in self.objects
            before = self.objects.get(path, {"metadata": {"uid": f"uid-{self._version}", "creationTimestamp": _CREATED}})
            own = {name: before["metadata"][name] for name in _SET_BY_SERVER if name in before["metadata"]}
            generation = before["metadata"].get("generation", 0) + (new or before.get("spec") != body.get("spec"))
            body["metadata"] = own | {"generation": generation} | body.get("metadata", {})
            if not new:
                body["metadata"]["generation"] = generation
            body["metadata"]["resourceVersion"] = str(self._version)
            self.objects[path] = body
            self._tell("ADDED" if new else "MODIFIED", path, body)

    def remove(self, path: str) -> None:
        """Somebody deletes the object; one with finalizers stays until they are gone."""
        with self._change:
            item = self.objects[path]
            if item["metadata"].get("finalizers"):
                self.put(path, item | {"metadata": {"deletionTimestamp": _DELETED} | item["metadata"]})
                return
            del self.objects[path]
            self._version += 1
            self._tell("DELETED", path, item | {"metadata": item["metadata"] | {"resourceVersion": str(self._version)}})
            if path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
                inside = [place for place in self.objects if f"{path.removeprefix('/api/v1')}/" in place]
                for place in inside:
                    self.remove(place)

    # Reads

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        query = dict(query or {})
        self.reads.append((path, query))
        self._take_turns()
        with self._change:
            self._check(path)
            if isinstance(damaged := self.unreadable.get(path), bytes):
                return damaged
            if path == "/version":
                return b'{"gitVersion":"v1.36.3"}'
            path = path.removesuffix("/status")
            if path in self.objects:
                return json.dumps(self.objects[path]).encode()
            found = self._discovered(path)
            return found if found is not None else self._listed(path, query)

    def _listed(self, path: str, query: Mapping[str, str]) -> bytes:
        """From etcd; from the cache, which is behind, where any version will do."""
        if self.chance.random() < 0.5:
            self._cache, self._cached_version = dict(self.objects), self._version
        behind = query.get("resourceVersion") == "0"
        objects, version = (self._cache, self._cached_version) if behind else (self.objects, self._version)
        items = [item for place, item in sorted(objects.items()) if path in _collections(place)]
        kind = self._kind(path)
        if kind is None and not items and not _EMPTY.search(path) and not self._serves(path):
            raise _not_found(path)
        head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version} if kind is not None else {"kind": "List"}
        items = [item for item in items if _selected(item, query)]
        return json.dumps(head | {"metadata": {"resourceVersion": str(version)}, "items": items}).encode()

    def _serves(self, path: str) -> bool:
        """Whether objects of another namespace are of that collection."""
        whole = _IN_NAMESPACE.sub("", path)
        return any(whole in _collections(place) for place in self.objects)

    def _kind(self, path: str) -> Collection | None:
        return self.kinds.get(_IN_NAMESPACE.sub("", path))

    def _check(self, path: str) -> None:
        if self.away:
            raise UnreachableError("gone")
        if isinstance(fault := self.unreadable.get(path), Exception):
            raise fault
        if path in self.forbidden:
            raise ApiError(403, "Forbidden", f"{path} is forbidden")

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

    # Writes

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        said: Any = json.loads(json.dumps(body, default=lambda raw: json.loads(bytes(raw)))) if body is not None else {}
        between, self.between = self.between, None
        if between is not None:
            between()
        self._take_turns()
        with self._change:
            self.sent.append((method, path, said))
            if self.away:
                raise UnreachableError("gone")
            self.before(path)
            if isinstance(refusal := self.refused.get(path), bytes):
                return refusal
            if refusal is not None:
                raise refusal
            for name in _NOWHERE:
                if f"/namespaces/{name}/" in path:
                    raise ApiError(404, "NotFound", f'namespaces "{name}" not found')
            if path.endswith("/eviction"):
                return self._evict(path.removesuffix("/eviction"), said)
            path, status = path.removesuffix("/status"), path.endswith("/status")
            if method == "POST":
                path = f"{path}/{said['metadata']['name']}"
                if path in self.objects:
                    raise ApiError(409, "AlreadyExists", path)
            elif content_type is ContentType.APPLY and path not in self.objects and not status:
                if "uid" in said.get("metadata", {}):
                    raise ApiError(409, "Conflict", f"uid mismatch: {path} is not there")
            elif path not in self.objects:
                raise _not_found(path)
            return self._written(method, path, said, content_type, query or {}, status=status)

    def _written(
        self, method: str, path: str, said: Any, content_type: ContentType, query: Mapping[str, str], *, status: bool
    ) -> bytes:
        before = self.objects.get(path)
        bound = said.get("preconditions" if method == "DELETE" else "metadata", {}) if isinstance(said, dict) else {}
        for name in ("resourceVersion", "uid") if before is not None else ():
            if bound.get(name) not in (None, before["metadata"].get(name)):  # type: ignore[index]
                raise ApiError(409, "Conflict", f"{path} has changed: {name}")
        if method == "DELETE":
            self.remove(path)
            return json.dumps(before).encode()
        manager = query.get("fieldManager", FIELD_MANAGER)
        if content_type is ContentType.APPLY:
            after = applied(before, said, manager, force=query.get("force") == "true", status=status)
        else:
            if content_type is ContentType.JSON_PATCH:
                after = _json_patched(before, said)
            else:
                after = _merged(before, said) if method == "PATCH" else said
            if before is not None and (status or "status" in before):
                kept, part = (before, after) if status else (after, before)
                after = kept | {"status": part.get("status", {})}
            after = updated(before, after, manager, status=status)
        if after != before:
            self.put(path, after)
            meta = self.objects[path]["metadata"]
            if meta.get("deletionTimestamp") and not meta.get("finalizers"):
                self.remove(path)
                return json.dumps(after).encode()
        if method == "POST" and path.startswith(f"{_DEFINITIONS}/"):
            self.define(self.objects[path])
        return json.dumps(self.objects[path]).encode()

    def _evict(self, path: str, said: Object) -> bytes:
        """As budgets allow; the pod goes at once but for its finalizers."""
        if path not in self.objects:
            raise _not_found(path)
        uid = said.get("deleteOptions", {}).get("preconditions", {}).get("uid")
        if uid not in (None, self.objects[path]["metadata"]["uid"]):
            raise ApiError(409, "Conflict", f"{path} is another one: uid")
        pod, namespace = self.objects[path], path.rpartition("/pods/")[0]
        labels = pod["metadata"].get("labels", {}).items()
        top = f"{namespace.replace('/api/v1', '/apis/policy/v1')}/poddisruptionbudgets/"
        budgets = [item for place, item in self.objects.items() if place.startswith(top)]
        budgets = [item for item in budgets if item["spec"]["selector"].get("matchLabels", {}).items() <= labels]
        if len(budgets) > 1:
            told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(500, "InternalError", told)
        for budget in budgets:
            wanted, least = budget["spec"]["selector"].get("matchLabels", {}).items(), budget["spec"]["minAvailable"]
            pods = [item for place, item in self.objects.items() if place.startswith(f"{namespace}/pods/")]
            pods = [item for item in pods if wanted <= item["metadata"].get("labels", {}).items()]
            healthy = sum(not item["metadata"].get("deletionTimestamp") for item in pods)
            if healthy <= least:
                name = budget["metadata"]["name"]
                words = f"The disruption budget {name} needs {least} healthy pods and has {healthy} currently"
                told = "Cannot evict pod as it would violate the pod's disruption budget."
                raise ApiError(429, "TooManyRequests", told, (Cause(reason="DisruptionBudget", message=words),))
        self.remove(path)
        return b"{}"

    # Watches

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> "Watch":
        return Watch(self, path, dict(query), silence_seconds)

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
                watch.say(self._bookmark(watch.path, end=True))
            elif int(query["resourceVersion"]) < self._forgotten:
                told = f"too old resource version: {query['resourceVersion']} ({self._version})"
                watch.say(_event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": told}))
                watch.say(None)
            else:
                for version, place, line in self._told:
                    if version > int(query["resourceVersion"]) and watch.path in _collections(place):
                        watch.say(line)
            self._watches.append(watch)

    def ended(self, watch: "Watch") -> None:
        with self._change:
            if watch in self._watches:
                self._watches.remove(watch)

    def _bookmark(self, path: str, *, end: bool = False) -> bytes:
        """Where a watch of the collection is."""
        kind = self._kind(path)
        assert kind is not None
        metadata: Object = {"resourceVersion": str(self._version)}
        if end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return _event("BOOKMARK", {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata})

    def _tell(self, what: str, path: str, item: Object) -> None:
        line = _event(what, item)
        self._told.append((self._version, path, line))
        for watch in self._watches:
            if watch.path in _collections(path):
                watch.say(line)
            if watch.query.get("allowWatchBookmarks") == "true" and self.chance.random() < self.bookmarks:
                watch.say(self._bookmark(watch.path))

    def _take_turns(self) -> None:
        """Let other threads go first, now and then."""
        for _ in range(self.chance.randrange(3)):
            time.sleep(0)


class Watch:
    """One watch, read by one thread; `cut` ends it from another."""

    def __init__(self, server: FakeApiServer, path: str, query: dict[str, str], silence_seconds: float) -> None:
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
        return self._read()

    def __exit__(self, *_: object) -> None:
        self.server.ended(self)

    def _read(self) -> Iterator[bytes]:
        while (line := self._lines.get()) is not None:
            self.server._take_turns()
            if isinstance(line, Exception):
                raise line
            yield line


class Guarded:
    """Writes to a server after a guard was asked."""

    def __init__(self, server: FakeApiServer, guard: Callable[[], None]) -> None:
        self._server, self._guard = server, guard

    def write(self, method: str, path: str, body: object = None) -> bytes:
        self._guard()
        return self._server.write(method, path, body)


def asked(module: ModuleType) -> dict[str, object]:
    """The tests of a module that ask a server, to be asked of another one; not those that need a whole control plane."""
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    needs = {name: set(signature(test).parameters) for name, test in tests.items()}
    return {
        name: tests[name] for name, what in needs.items() if {"api", "scene", "telling"} & what and "control_plane" not in what
    }


def _event(what: str, item: Any) -> bytes:
    return json.dumps({"type": what, "object": item}).encode()


def _collections(path: str) -> tuple[str, str]:
    """The collections that an object is in: that of its namespace, and that of all."""
    own = path.rpartition("/")[0]
    return own, _IN_NAMESPACE.sub("", own)


def _selected(item: Object, query: Mapping[str, str]) -> bool:
    """By equality of labels, their presence or absence, and of fields."""
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, equals, value = term.partition("=")
        labels = item["metadata"].get("labels", {})
        if key.startswith("!"):
            if key[1:] in labels:
                return False
        elif key not in labels or (equals and labels[key] != value):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        path, _, value = term.partition("=")
        inside: Any = item
        for name in path.split("."):
            inside = inside.get(name, {})
        if (inside or "") != value:
            return False
    return True


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


def _json_patched(item: Any, operations: Any) -> Any:
    """RFC 6902 as far as we write it: `add`, and `test`, where a member that is missing equals null as the real server has it."""
    item = copy.deepcopy(item)
    for one in operations:
        *parents, last = one["path"].removeprefix("/").split("/")
        inside: Any = item
        for name in parents:
            inside = inside[name]
        if one["op"] == "add" and last == "-":
            inside.append(one["value"])
        elif one["op"] == "add":
            inside[last] = one["value"]
        elif inside.get(last) != one["value"]:
            raise ApiError(422, "Invalid", f"{one['path']} is another one")
    return item
