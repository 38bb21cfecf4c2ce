"""A node whose pods an API server in memory evicts: budgets count as the real one counts them, finalizers hold pods."""

from typing import Any

from reconciler.kube.drain import NodeDrain
from tests.kube import objects
from tests.kube.api_server import FakeApiServer

_PODS = "/api/v1/namespaces/kube-drain/pods"
_BUDGETS = "/apis/policy/v1/namespaces/kube-drain/poddisruptionbudgets"


class EmptiedNode:
    """The scene of test_drain.py."""

    def __init__(self, name: str, foreign: dict[str, str], began_seconds: int) -> None:
        self.api, self.node, self.clock = FakeApiServer(), f"kube-drain-{name}", ManualClock(began_seconds)
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
        name = f"{self.node}-{name}"
        self.api.put(f"{_BUDGETS}/{name}", {"metadata": {"name": name}, "spec": {"minAvailable": least, "selector": {}}})

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
