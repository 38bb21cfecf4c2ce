"""The objects of a simulated cluster, as its API server would hold them, and the World that they make."""

from array import array
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import Owner, PodPhase, PodShape, PodTraits
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget
from reconciler.cluster.world import World

Value = TypeVar("Value")

_PHASE_CODES = {phase: code for code, phase in enumerate(PodPhase)}
_READY, _GATED = 1, 2
_SPARE_SHAPES = 64


class PodObject:
    """One pod; changes over time, so no struct. Times are Unix seconds, 0 when absent. `replaces` is the key of the pod
    whose place this one took when that was evicted or deleted."""

    __slots__ = (
        "created",
        "deletion",
        "gated",
        "name",
        "namespace",
        "node",
        "nominated",
        "phase",
        "ready",
        "replaces",
        "shape",
        "traits",
        "uid",
        "unknown_node",
        "unschedulable",
    )

    def __init__(self, namespace: str, name: str, uid: str, shape: int, traits: int, created: int) -> None:
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.shape = shape
        self.traits = traits
        self.created = created
        self.deletion = 0
        self.unschedulable = 0
        self.node: NodeObject | None = None
        self.nominated: NodeObject | None = None
        self.phase = PodPhase.PENDING
        self.ready = False
        self.gated = False
        self.unknown_node = ""
        self.replaces = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Succeeded or Failed."""
        return self.phase is PodPhase.SUCCEEDED or self.phase is PodPhase.FAILED

    @property
    def active(self) -> bool:
        """Counts for its controller: neither terminating nor finished."""
        return not self.deletion and not self.finished


class NodeObject:
    """One node with the pods on it. `target` sizes it (None: nobody). `index` is its place in the last World."""

    __slots__ = ("index", "pods", "target", "value")

    def __init__(self, value: Node, target: TargetRef | None) -> None:
        self.value = value
        self.target = target
        self.index = -1
        self.pods: dict[PodObject, None] = {}

    @property
    def name(self) -> str:
        """The node's name."""
        return self.value.name


class ClusterObjects:
    """All objects by key. Whoever changes one says so by `touch`, so that the next World is a new one.

    Shapes and traits keep the indices of the World that the objects came from; new ones are appended.
    """

    def __init__(self, world: World, target_of: dict[str, TargetRef]) -> None:
        self._origin = world
        self.node_shapes: list[NodeShape] = list(world.node_shapes)
        self.pod_shapes: list[PodShape] = list(world.pod_shapes)
        self.pod_traits: list[PodTraits] = list(world.pod_traits)
        self._node_shape_index: dict[NodeShape, int] | None = None
        self._pod_shape_index: dict[PodShape, int] | None = None
        self._traits_index: dict[PodTraits, int] | None = None
        self.nodes: dict[str, NodeObject] = {node.name: NodeObject(node, target_of.get(node.name)) for node in world.nodes}
        self.pods: dict[tuple[str, str], PodObject] = {}
        self.targets: dict[TargetRef, TargetFacts] = {facts.ref: facts for facts in world.targets}
        self.machines: dict[tuple[str, str], Machine] = {(machine.namespace, machine.name): machine for machine in world.machines}
        self.budgets: dict[tuple[str, str], DisruptionBudget] = {(b.namespace, b.name): b for b in world.budgets}
        self.controllers: dict[tuple[str, str, str], Controller] = {(c.kind, c.namespace, c.name): c for c in world.controllers}
        self._load_pods(world)
        self._view: World | None = None
        self._node_order: list[NodeObject] | None = list(self.nodes.values())
        self._pod_order: list[PodObject] | None = list(self.pods.values())
        self.revision = 0

    def _load_pods(self, world: World) -> None:
        nodes = [self.nodes[node.name] for node in world.nodes]
        for row in world.pods:
            pod = PodObject(row.namespace, row.name, row.uid, row.shape, row.traits, row.created_seconds)
            pod.deletion, pod.unschedulable = row.deletion_seconds, row.unschedulable_seconds
            pod.phase, pod.ready, pod.gated, pod.unknown_node = row.phase, row.ready, row.gated, row.unknown_node
            if row.nominated >= 0:
                pod.nominated = nodes[row.nominated]
            if row.node >= 0:
                pod.node = nodes[row.node]
                pod.node.pods[pod] = None
            self.pods[row.namespace, row.name] = pod

    def touch(self) -> None:
        """Something changed."""
        self._view = None
        self.revision += 1

    def node_shape(self, shape: NodeShape) -> int:
        """The index of a node shape, made when it is new."""
        if self._node_shape_index is None:
            self._node_shape_index = {known: index for index, known in enumerate(self.node_shapes)}
        return _interned(self._node_shape_index, self.node_shapes, shape)

    def pod_shape(self, shape: PodShape) -> int:
        """The index of a pod shape, made when it is new."""
        if self._pod_shape_index is None:
            self._pod_shape_index = {known: index for index, known in enumerate(self.pod_shapes)}
        return _interned(self._pod_shape_index, self.pod_shapes, shape)

    def traits(self, traits: PodTraits) -> int:
        """The index of pod traits, made when they are new."""
        if self._traits_index is None:
            self._traits_index = {known: index for index, known in enumerate(self.pod_traits)}
        return _interned(self._traits_index, self.pod_traits, traits)

    def owner_of(self, pod: PodObject) -> Owner | None:
        """The pod's controller."""
        return self.pod_traits[pod.traits].controller

    def goes_with_node(self, pod: PodObject) -> bool:
        """DaemonSet and mirror pods: nobody evicts them, they vanish with their node."""
        traits = self.pod_traits[pod.traits]
        return traits.daemonset or traits.mirror

    def add_node(self, value: Node, target: TargetRef | None) -> NodeObject:
        """Register a node."""
        node = self.nodes[value.name] = NodeObject(value, target)
        self._node_order = None
        self.touch()
        return node

    def remove_node(self, node: NodeObject) -> tuple[PodObject, ...]:
        """Take a node away with everything on it; the pods that went."""
        gone = tuple(node.pods)
        for pod in gone:
            self.remove_pod(pod)
        del self.nodes[node.name]
        node.index = -1
        self._node_order = None
        self.touch()
        return gone

    def change_node(self, node: NodeObject, **changes: object) -> None:
        """Replace fields of a node; `node_shape` (a NodeShape) is interned."""
        shape = changes.pop("node_shape", None)
        if isinstance(shape, NodeShape):
            changes["shape"] = self.node_shape(shape)
        node.value = msgspec.structs.replace(node.value, **changes)
        self._node_order = None
        self.touch()

    def shape_of(self, node: NodeObject) -> NodeShape:
        """The node's shape."""
        return self.node_shapes[node.value.shape]

    def add_pod(self, pod: PodObject, node: NodeObject | None = None) -> PodObject:
        """Create a pod, bound to a node or pending."""
        self.pods[pod.namespace, pod.name] = pod
        self._pod_order = None
        if node is not None:
            self.bind(pod, node)
        self.touch()
        return pod

    def remove_pod(self, pod: PodObject) -> None:
        """Delete a pod for good."""
        del self.pods[pod.namespace, pod.name]
        if pod.node is not None:
            del pod.node.pods[pod]
            pod.node = None
        self._pod_order = None
        self.touch()

    def bind(self, pod: PodObject, node: NodeObject) -> None:
        """Put a pod on a node."""
        pod.node = node
        pod.unschedulable = 0
        pod.nominated = None
        node.pods[pod] = None
        self.touch()

    def pending(self) -> Iterator[PodObject]:
        """Pods that wait for a node, in no particular order."""
        return (
            pod
            for pod in self.pods.values()
            if pod.node is None and not pod.unknown_node and not pod.gated and not pod.deletion and not pod.finished
        )

    def _forget_node_shapes(self) -> None:
        """Keep only shapes that a node has: every drain makes one of its own, and over weeks they become many."""
        used = sorted({node.value.shape for node in self.nodes.values()})
        places = {old: new for new, old in enumerate(used)}
        for node in self.nodes.values():
            node.value = msgspec.structs.replace(node.value, shape=places[node.value.shape])
        self.node_shapes = [self.node_shapes[old] for old in used]
        self._node_shape_index = None

    def empty_world(self) -> World:
        """The World without nodes and pods: what is asked of a new node alone need not go through all that is there."""
        return msgspec.structs.replace(
            self._origin, node_shapes=(), nodes=(), machines=(), pods=PodTable(), pod_shapes=tuple(self.pod_shapes)
        )

    def world(self, now_seconds: int) -> World:
        """The World at an instant; the same value as before when nothing changed but the clock."""
        if self._view is None:
            if len(self.node_shapes) > _SPARE_SHAPES + 2 * len(self.nodes):
                self._forget_node_shapes()
            if self._node_order is None:
                self._node_order = [self.nodes[name] for name in sorted(self.nodes)]
            if self._pod_order is None:
                self._pod_order = [self.pods[key] for key in sorted(self.pods)]
            for index, node in enumerate(self._node_order):
                node.index = index
            self._view = msgspec.structs.replace(
                self._origin,
                captured_seconds=now_seconds,
                node_shapes=tuple(self.node_shapes),
                nodes=tuple([node.value for node in self._node_order]),
                pod_shapes=tuple(self.pod_shapes),
                pod_traits=tuple(self.pod_traits),
                pods=_columns(self._pod_order),
                targets=tuple([self.targets[ref] for ref in sorted(self.targets)]),
                machines=tuple(sorted(self.machines.values())),
                budgets=tuple([self.budgets[key] for key in sorted(self.budgets)]),
                controllers=tuple(sorted(self.controllers.values())),
            )
        elif self._view.captured_seconds != now_seconds:
            self._view = msgspec.structs.replace(self._view, captured_seconds=now_seconds)
        return self._view


def _interned(index: dict[Value, int], values: list[Value], value: Value) -> int:
    found = index.get(value)
    if found is None:
        found = index[value] = len(values)
        values.append(value)
    return found


def _columns(pods: list[PodObject]) -> PodTable:
    """The table of pods, column by column."""
    table = PodTable()
    table.namespace = [pod.namespace for pod in pods]
    table.name = [pod.name for pod in pods]
    table.uid = [pod.uid for pod in pods]
    table.shape = array("i", [pod.shape for pod in pods])
    table.traits = array("i", [pod.traits for pod in pods])
    table.node = array("i", [-1 if pod.node is None else pod.node.index for pod in pods])
    table.nominated = array("i", [-1 if pod.nominated is None else pod.nominated.index for pod in pods])
    table.phase = array("B", [_PHASE_CODES[pod.phase] for pod in pods])
    table.flags = array("B", [(_READY if pod.ready else 0) | (_GATED if pod.gated else 0) for pod in pods])
    table.created_seconds = array("q", [pod.created for pod in pods])
    table.deletion_seconds = array("q", [pod.deletion for pod in pods])
    table.unschedulable_seconds = array("q", [pod.unschedulable for pod in pods])
    table.unknown_node = {index: pod.unknown_node for index, pod in enumerate(pods) if pod.unknown_node}
    return table
