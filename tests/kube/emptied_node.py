"""A node whose pods an API server in memory evicts: budgets count as the real one counts them, finalizers hold pods."""

import copy
import json
from collections.abc import Mapping
from typing import Any

from reconciler.kube.connection.api import ApiError, Cause, ContentType
from reconciler.kube.drain import NodeDrain
from tests.kube import objects
from tests.kube.versioned import VersionedServer

_PODS = "/api/v1/namespaces/kube-drain/pods"
_DELETED = "2027-01-15T08:00:00Z"


class EvictingServer(VersionedServer):
    """Pods leave as they are evicted, unless a budget (its name, and how many pods must stay) refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.budgets: dict[str, int] = {}

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if path == _PODS:
            return json.dumps({"metadata": {}, "items": self._pods()}).encode()
        if path == "/api/v1/pods":
            wanted = (query or {})["fieldSelector"].removeprefix("spec.nodeName=")
            items = [pod for pod in self._pods() if pod["spec"]["nodeName"] == wanted]
            return json.dumps({"metadata": {}, "items": items}).encode()
        return super().get(path, query)

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        if path.endswith("/status"):
            path = path.removesuffix("/status")
        if content_type is ContentType.JSON_PATCH:
            return self._json_patched(path, body)
        answer = super().write(method, path, body, content_type=content_type, query=query)
        if path.endswith("/eviction"):
            self._evict(path.removesuffix("/eviction"))
        return answer

    def _json_patched(self, path: str, operations: Any) -> bytes:
        """RFC 6902 as far as it is needed here: `test`, where a member that is missing equals null as the real server has it, and
        `add`."""
        between, self.between = self.between, None
        if between is not None:
            between()
        self.sent.append(("PATCH", path, operations))
        if path in self.refused:
            raise self.refused[path]
        if path not in self.objects:
            raise ApiError(404, "NotFound", path)
        item = copy.deepcopy(self.objects[path])
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
        self.put(path, item)
        return json.dumps(self.objects[path]).encode()

    def _pods(self) -> list[dict[str, Any]]:
        return [item for path, item in self.objects.items() if path.startswith(f"{_PODS}/")]

    def _evict(self, path: str) -> None:
        pod = self.objects.get(path)
        if pod is None:
            raise ApiError(404, "NotFound", path)
        if len(self.budgets) > 1:
            told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise ApiError(500, "InternalError", told)
        healthy = sum(not other["metadata"].get("deletionTimestamp") for other in self._pods())
        for name, least in self.budgets.items():
            if healthy <= least:
                words = f"The disruption budget {name} needs {least} healthy pods and has {healthy} currently"
                told = "Cannot evict pod as it would violate the pod's disruption budget."
                raise ApiError(429, "TooManyRequests", told, (Cause(reason="DisruptionBudget", message=words),))
        if pod["metadata"].get("finalizers"):
            pod["metadata"].setdefault("deletionTimestamp", _DELETED)
        else:
            del self.objects[path]


class EmptiedNode:
    """The scene of test_drain.py."""

    def __init__(self, name: str, foreign: dict[str, str], began_seconds: int) -> None:
        self.api, self.node, self.clock = EvictingServer(), f"kube-drain-{name}", ManualClock(began_seconds)
        item = objects.node(self.node, taints=[foreign])
        item["metadata"]["uid"] = f"uid-of-{self.node}"
        self.api.put(f"/api/v1/nodes/{self.node}", item)
        self.drain = self.drain_of("prod")

    def drain_of(self, owner: str, **options: Any) -> NodeDrain:
        return NodeDrain(options.pop("api", self.api), owner, self.clock, timeout_seconds=600, **options)

    def pods(self, *names: str, annotations: dict[str, str] | None = None, finalizer: bool = False, **spec: object) -> None:
        for name in names:
            item = objects.pod("kube-drain", f"{self.node}-{name}", nodeName=self.node, **spec)
            item["metadata"] |= {"annotations": annotations or {}, "uid": name}
            if finalizer:
                item["metadata"]["finalizers"] = ["kube-tests.dev/stay"]
            self.api.put(self.path(name), item | {"status": {"phase": "Running"}})

    def daemon(self) -> None:
        self.pods("daemon")
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
        self.api.objects[self.path("daemon")]["metadata"]["ownerReferences"] = [owner]

    def path(self, name: str) -> str:
        return f"{_PODS}/{self.node}-{name}"

    def left(self) -> list[str]:
        return sorted(path.rpartition(f"{self.node}-")[2] for path in self.api.objects if path.startswith(_PODS))

    def budget(self, name: str, least: int) -> None:
        self.api.budgets[f"{self.node}-{name}"] = least

    loosen = budget

    def taints(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.api.objects[f"/api/v1/nodes/{self.node}"]["spec"].get("taints", [])
        return found


class ManualClock:
    """Unix time that tests move."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now
