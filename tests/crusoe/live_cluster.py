"""The loop over pools of our own server, whose machines are nodes of a real control plane: kwok keeps them ready, the real
scheduler places real pods, and nodes are emptied by real evictions."""

import itertools
import json
from typing import Any

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import documents
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.world import World
from reconciler.kube.connection.transport import connect
from reconciler.kube.drain import DrainStep, NodeDrain, SeenNode
from reconciler.policy.documents import PolicySet
from tests.crusoe.loops import KINDS, Cluster, Loop
from tests.crusoe.service.server import Service
from tests.crusoe.service.state import Machine
from tests.crusoe.writes import Writer
from tests.testbed.api import Api, Object
from tests.testbed.capture import captured
from tests.testbed.cluster_documents import namespace
from tests.testbed.control_plane import MASTERS, ControlPlane

_numbers = itertools.count(1)
_PATIENCE_SECONDS = 200
_AMOUNTS = {"cpu": "8", "memory": "32Gi", "pods": "110"}


class RealNodes:
    """Nodes of one test, in a namespace of its own: one for every machine that has come, `crusoe://ID` its provider id."""

    def __init__(self, plane: ControlPlane, service: Service) -> None:
        self.api: Api = plane.api
        self.connection = connect(plane.kubeconfig_of("reconciler", MASTERS))
        self.namespace = f"crusoe-{next(_numbers)}"
        self.service = service
        self.api.create(namespace(self.namespace))
        service.account.joined.append(self.join)
        service.account.gone.append(self.leave)

    def name(self, machine: Machine) -> str:
        """The node of a machine."""
        return f"{self.namespace}-{machine.id[-4:]}"

    def all(self) -> list[Object]:
        """Those that are there."""
        return [one for one in self.api.items("/api/v1/nodes") if one["metadata"].get("labels", {}).get("team") == self.namespace]

    def join(self, machine: Machine) -> None:
        """What kubelet and the cloud's controller do."""
        labels = {"team": self.namespace, "kubernetes.io/hostname": self.name(machine)}
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": self.name(machine), "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
                "spec": {"providerID": f"crusoe://{machine.id}"},
                "status": {"capacity": _AMOUNTS, "allocatable": _AMOUNTS},
            }
        )
        own = f"/api/v1/nodes?fieldSelector=metadata.name%3D{self.name(machine)}"
        self.api.wait(own, lambda items: self._ready(items) == 1, f"node {self.name(machine)} ready", _PATIENCE_SECONDS)

    def leave(self, machine: Machine) -> None:
        """What the cloud's controller does once a machine is gone."""
        for one in self.all():
            if one["metadata"]["name"] == self.name(machine):
                self.api.delete(one)

    def fail(self, machine: Machine) -> None:
        """Its kubelet is heard of no more."""
        node = next(one for one in self.all() if one["metadata"]["name"] == self.name(machine))
        self.api.merge(node, {"metadata": {"annotations": {"kwok.x-k8s.io/node": None}}})
        ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T00:16:25Z", "reason": "Test"}
        path = f"/api/v1/nodes/{self.name(machine)}/status"
        self.api.call("PATCH", path, {"status": {"conditions": [ready]}}, "application/strategic-merge-patch+json")

    def heal(self, machine: Machine) -> None:
        """It is heard of again."""
        node = next(one for one in self.all() if one["metadata"]["name"] == self.name(machine))
        self.api.merge(node, {"metadata": {"annotations": {"kwok.x-k8s.io/node": "fake"}}})

    def until_ready(self, count: int) -> None:
        """So many nodes of the test are ready."""
        self.api.wait(
            "/api/v1/nodes",
            lambda items: self._ready(items) == count,
            f"{count} nodes of {self.namespace} ready",
            _PATIENCE_SECONDS,
        )

    def _ready(self, items: list[Object]) -> int:
        mine = [one for one in items if one["metadata"].get("labels", {}).get("team") == self.namespace]
        conditions = (one.get("status", {}).get("conditions", ()) for one in mine)
        return sum(1 for row in conditions if any(one["type"] == "Ready" and one["status"] == "True" for one in row))

    def deployment(self, name: str, where: str, image: str) -> Object:
        """A Deployment with one pod, in a namespace that is made for it."""
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        self.api.create(namespace(where))
        made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": where}, "spec": spec}
        return self.api.create(made)[0]

    def train(self, replicas: int) -> None:
        """A Deployment of so many pods, each of which fills a node."""
        item: Object = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "train", "namespace": self.namespace},
        }
        selector = {"matchLabels": {"app": "train"}}
        spec = {
            "nodeSelector": {"team": self.namespace},
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "6"}}}],
        }
        template = {"metadata": {"labels": {"app": "train"}}, "spec": spec}
        self.api.apply({**item, "spec": {"replicas": replicas, "selector": selector, "template": template}}, "test", force=True)
        self.api.wait(self.pods, lambda items: len(items) == replicas, f"{replicas} pods of {self.namespace}", _PATIENCE_SECONDS)

    def until_running(self, count: int) -> None:
        """So many pods of the test are on a node."""

        def placed(items: list[Object]) -> bool:
            return (
                sum(1 for one in items if one["spec"].get("nodeName") and not one["metadata"].get("deletionTimestamp")) == count
            )

        self.api.wait(self.pods, placed, f"{count} pods of {self.namespace} placed", _PATIENCE_SECONDS)

    @property
    def pods(self) -> str:
        """Where the pods of the test are."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def gone(self) -> None:
        """Everything of the test is on its way."""
        self.service.account.joined.clear()
        self.service.account.gone.clear()
        for one in self.all():
            self.api.delete(one)
        self.api.delete(namespace(self.namespace))


class LiveCluster(Cluster):
    """What the loop sees is what the API server and Crusoe's server say at this moment."""

    def __init__(self, service: Service, policy: PolicySet, writer: Writer, real: RealNodes) -> None:
        super().__init__(service, policy, writer)
        self.real = real
        self._drain = NodeDrain(real.connection, "prod", self.now)

    def observe(self) -> World:
        whole = Intake()
        for document in self.poll.documents():
            whole.read(document, stamps=False)
        for name, body in captured(self.real.api).items():
            kept = self._mine(name, json.loads(body))
            for document in documents(name, json.dumps(kept).encode()):
                whole.read(document, stamps=False)
        if self.others:
            listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.others}).encode()
            for document in documents("others.json", listed):
                whole.read(document, stamps=False)
        return assemble(whole, Manifest(captured_seconds=self.now(), kinds=frozenset(KINDS)))

    def _mine(self, name: str, listed: dict[str, Any]) -> dict[str, Any]:
        """Other tests of the session have nodes and pods of their own on the control plane."""
        if name == "nodes.json":
            listed["items"] = [
                one for one in listed["items"] if one["metadata"].get("labels", {}).get("team") == self.real.namespace
            ]
        if name in ("pods.json", "replicasets.json", "poddisruptionbudgets.json"):
            listed["items"] = [one for one in listed["items"] if one["metadata"]["namespace"] == self.real.namespace]
        return listed

    def begin(self, name: str, seen: SeenNode | None = None) -> None:
        self._drain.begin(name, seen)

    def step(self, name: str) -> DrainStep:
        self.drained.append(name)
        return self._drain.step(name)

    def undo(self, name: str) -> None:
        self._drain.undo(name)


class LiveLoop(Loop):
    """One process after the other, over both servers."""

    def __init__(self, service: Service, policy: str, real: RealNodes, lowering: str = "Keeps") -> None:
        self.real = real
        super().__init__(service, policy.replace("labels: {team: a}", f"labels: {{team: {real.namespace}}}"), lowering)

    def made(self, policy: PolicySet) -> LiveCluster:
        """The view of a process."""
        return LiveCluster(self.service, policy, self.writer, self.real)
