"""The loop over node pools on our own server: nodes and pods are documents of the test, everything else is the product's."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import documents
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from reconciler.policy.documents import PolicySet
from tests.aws.policies import policy_set
from tests.cluster.objects import container, node, obj, pod
from tests.crusoe.documents import LOCATION
from tests.crusoe.service.server import Service
from tests.crusoe.writes import Writer

KINDS = (
    "Node", "Pod", "PodDisruptionBudget", "PriorityClass", "Namespace", "ReplicaSet", "StatefulSet", "Job", "DaemonSet",
    "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode",
)  # fmt: skip
HEAD = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  tiers: [{name: reserved}, {name: open}]
  budgets: [{nodes: 10}]
  pods: {burstPause: 0s}
  pace: {delayAfterAdd: 0s, delayAfterFailure: 0s}
  defaults:
    size: {min: 0, max: 9}
    scaleDown: {unneededTime: 0s}
    template: {capacity: {cpu: 8, memory: 32Gi}, labels: {team: a}}
"""


def group_text(name: str = "h100", tier: str = "reserved", more: str = "") -> str:
    return f"""---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec: {{policyRef: {{name: prod}}, tier: {tier}, target: {{crusoe: {{nodePool: {name}, location: {LOCATION}}}}}{more}}}
"""


class Cluster:
    """What the loop sees: the poll's documents, a node for every machine that runs or has run, pods as asked for. It is the
    drain too."""

    def __init__(self, service: Service, policy: PolicySet, writer: Writer) -> None:
        self.service, self.policy = service, policy
        self.seconds = 0.0
        self.poll = CrusoePoll(
            writer.account, writer.keeper, lambda: self.policy, lambda: self.seconds, lambda: service.account.now
        )
        self.pods: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        self.leaving: dict[str, str] = {}
        self.drained: list[str] = []

    def current(self) -> PolicySet:
        return self.policy

    def now(self) -> int:
        return int(self.service.account.now)

    def observe(self) -> World:
        whole = Intake()
        for document in self.poll.documents():
            whole.read(document, stamps=False)
        items = [*self._nodes(), *self.pods, *self.others]
        for document in documents("all.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()):
            whole.read(document, stamps=False)
        return assemble(whole, Manifest(captured_seconds=self.now(), kinds=frozenset(KINDS)))

    def _nodes(self) -> list[dict[str, Any]]:
        found = []
        for machine in self.service.account.machines.values():
            if machine.state == "DEFINING":
                continue
            name = f"n-{machine.id[-4:]}"
            taints = [{"key": "reconciler.dev/deleting", "value": self.leaving.get(name, ""), "effect": "NoSchedule"}]
            leaving = {"taints": taints} if name in self.leaving else {}
            found.append(node_of(machine.id, leaving, ready=machine.state == "RUNNING"))
        return found

    def begin(self, name: str, seen: SeenNode | None = None) -> None:
        self.leaving[name] = f"prod.{self.now()}"

    def step(self, name: str) -> DrainStep:
        self.drained.append(name)
        return DrainStep(remaining=0)

    def undo(self, name: str) -> None:
        self.leaving.pop(name, None)


class Loop:
    """One process after the other over one server."""

    def __init__(self, service: Service, policy: str, lowering: str = "Keeps") -> None:
        self.service, self.lowering = service, lowering
        self.writer = Writer(service, lowering=lowering)
        self.cluster = self.made(policy_set(policy))
        self.store = InMemoryStore()
        self._start()

    def made(self, policy: PolicySet) -> Cluster:
        """The view of a process."""
        return Cluster(self.service, policy, self.writer)

    def _start(self) -> None:
        port = LivePort(self.cluster, self.cluster.now, self.cluster, {NODE_POOL: self.writer.provider}, self.cluster, "prod")
        self.loop = ControlLoop(port, self.cluster, self.store)

    def restart(self) -> None:
        """Another process, with the memory and the notes that were stored."""
        before = self.cluster
        self.writer = Writer(self.service, self.writer.keeper, lowering=self.lowering)
        self.cluster = self.made(before.policy)
        self.cluster.pods, self.cluster.others, self.cluster.leaving = before.pods, before.others, before.leaving
        self._start()

    def turn(self, seconds: float = 10) -> LoopReport:
        self.service.advance(seconds)
        self.cluster.seconds += seconds
        self.cluster.poll.ask()
        return self.loop.turn()

    def turns(self, count: int) -> LoopReport:
        for _ in range(count):
            report = self.turn()
        return report


def node_of(machine: str, spec: Mapping[str, Any] = MappingProxyType({}), *, ready: bool = True) -> dict[str, Any]:
    """The node that a machine is, for one pod of `pending`."""
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-11-21T00:16:25Z"}
    return node(
        f"n-{machine[-4:]}",
        cpu="8",
        memory="32Gi",
        spec={"providerID": f"crusoe://{machine}", **spec},
        labels={"team": "a"},
        status={"conditions": [condition]},
    )


def pending(count: int, prefix: str = "train") -> list[dict[str, Any]]:
    containers = [container("6", "1Gi")]
    return [pod(f"{prefix}-{number}", containers=containers, nodeSelector={"team": "a"}) for number in range(count)]


def running(name: str, machine: str) -> dict[str, Any]:
    """A pod on the node of a machine."""
    return pod(name, containers=[container("6", "1Gi")], nodeName=f"n-{machine[-4:]}", status={"phase": "Running"})


def autoscaler(replicas: int = 1) -> dict[str, Any]:
    """Crusoe's own."""
    return obj("Deployment", "apps/v1", "cluster-autoscaler", "crusoe-system", spec={"replicas": replicas})
