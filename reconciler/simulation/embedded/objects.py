"""The objects of a simulated cluster, as its API server would hold them, and the World that they make."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import PodPhase, PodShape, PodTraits
from reconciler.cluster.pods.pod_table import PodTable, phase_code, pod_flags
from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget
from reconciler.cluster.world import World
from reconciler.scheduling.default_spread import DefaultSpread
from reconciler.scheduling.kernels import rows as kernels
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.simulation.embedded.pod_rows import PodRows
from reconciler.simulation.embedded.pod_store import PodStore
from reconciler.simulation.embedded.turnover import Turnover

Value = TypeVar("Value")

_SPARE_SHAPES = 64
_RUNNING = phase_code(PodPhase.RUNNING)
_READY = pod_flags(ready=True, gated=False)


class ClusterObjects:
    """All objects by key. Whoever changes one says so by `touch` (of a pod by `touch_pod`), so that the next World is a new one.

    Shapes and traits keep the indices of the World that the objects came from; new ones are appended.
    """

    def __init__(self, world: World, target_of: dict[str, TargetRef], default_spread: DefaultSpread | None = None) -> None:
        """`default_spread` is what the scheduler asks of pods that have no constraints (None: nothing)."""
        self._default_spread = default_spread
        self._origin = world
        self.node_shapes: list[NodeShape] = list(world.node_shapes)
        self.pod_shapes: list[PodShape] = list(world.pod_shapes)
        self.pod_traits: list[PodTraits] = list(world.pod_traits)
        self._node_shape_index: dict[NodeShape, int] | None = None
        self._pod_shape_index: dict[PodShape, int] | None = None
        self._traits_index: dict[PodTraits, int] | None = None
        self._free_shapes: list[int] = []
        self._free_traits: list[int] = []
        self.nodes: dict[str, NodeObject] = {node.name: NodeObject(node, target_of.get(node.name)) for node in world.nodes}
        self.pods = PodStore(world.pods, list(self.nodes.values()))
        self.targets: dict[TargetRef, TargetFacts] = {facts.ref: facts for facts in world.targets}
        self.machines: dict[tuple[str, str], Machine] = {(machine.namespace, machine.name): machine for machine in world.machines}
        self.budgets: dict[tuple[str, str], DisruptionBudget] = {(b.namespace, b.name): b for b in world.budgets}
        self.controllers: dict[tuple[str, str, str], Controller] = {(c.kind, c.namespace, c.name): c for c in world.controllers}
        self.turnover = Turnover()
        self._pods_of_shape: Counter[int] = Counter(world.pods.shape)
        self._rows = PodRows(world.pods, self.pods, in_order=self.pods.in_order)
        self._view: World | None = None
        self._node_order = list(self.nodes.values())
        self._ordered = True
        for index, node in enumerate(self._node_order):
            node.index = index
        self.revision = 0

    def touch(self) -> None:
        """Something other than a pod changed."""
        self._view = None
        self.revision += 1

    def touch_pod(self, pod: PodObject) -> None:
        """A pod changed."""
        self._rows.changed(pod)
        if pod.node is not None:
            self.turnover.changed(pod)
        self.touch()

    def node_at(self, index: int) -> NodeObject:
        """The node with an index of the last World."""
        return self._node_order[index]

    def node_shape(self, shape: NodeShape) -> int:
        """The index of a node shape, made when it is new."""
        if self._node_shape_index is None:
            self._node_shape_index = {known: index for index, known in enumerate(self.node_shapes)}
        return _interned(self._node_shape_index, self.node_shapes, shape)

    def pod_shape(self, shape: PodShape) -> int:
        """The index of a pod shape, made when it is new."""
        if self._pod_shape_index is None:
            self._pod_shape_index = {known: index for index, known in enumerate(self.pod_shapes)}
        if shape not in self._pod_shape_index and self._free_shapes:
            self.turnover.anew = True  # the scheduler knows another shape by this number
        return _interned(self._pod_shape_index, self.pod_shapes, shape, self._free_shapes)

    def forget_shape(self, number: int) -> None:
        """Nothing has this shape any more: the next new one gets its number. Those of the first World keep theirs."""
        if self._pod_shape_index is not None and number >= len(self._origin.pod_shapes):
            del self._pod_shape_index[self.pod_shapes[number]]
            self._free_shapes.append(number)

    def forget_traits(self, number: int) -> None:
        """As `forget_shape`."""
        if self._traits_index is not None and number >= len(self._origin.pod_traits):
            del self._traits_index[self.pod_traits[number]]
            self._free_traits.append(number)

    def new_pod_shape(self, shape: PodShape, traits: PodTraits) -> int:
        """The index of the shape of pods that are to be made, with what the scheduler asks of them."""
        judged = shape if self._default_spread is None else self._default_spread.of(shape, traits.controller)
        return self.pod_shape(judged)

    def traits(self, traits: PodTraits) -> int:
        """The index of pod traits, made when they are new."""
        if self._traits_index is None:
            self._traits_index = {known: index for index, known in enumerate(self.pod_traits)}
        return _interned(self._traits_index, self.pod_traits, traits, self._free_traits)

    def pod_table(self) -> PodTable:
        """The pods as they are now."""
        return self.world(self._origin.captured_seconds if self._view is None else self._view.captured_seconds).pods

    def goes_with_node(self, pod: PodObject) -> bool:
        """DaemonSet and mirror pods: nobody evicts them, they vanish with their node."""
        traits = self.pod_traits[pod.traits]
        return traits.daemonset or traits.mirror

    def add_node(self, value: Node, target: TargetRef | None) -> NodeObject:
        """Register a node."""
        node = self.nodes[value.name] = NodeObject(value, target)
        self._ordered = False
        self.turnover.anew = True
        self.touch()
        return node

    def remove_node(self, node: NodeObject) -> tuple[PodObject, ...]:
        """Take a node away with everything on it; the pods that went."""
        gone = tuple(node.pods)
        for pod in gone:
            self.remove_pod(pod)
        del self.nodes[node.name]
        node.index = -1
        self._ordered = False
        self.turnover.nodes[node] = None
        self.touch()
        return gone

    def change_node(self, node: NodeObject, **changes: object) -> None:
        """Replace fields of a node; `node_shape` (a NodeShape) is interned."""
        shape = changes.pop("node_shape", None)
        if isinstance(shape, NodeShape):
            changes["shape"] = self.node_shape(shape)
        node.value = msgspec.structs.replace(node.value, **changes)
        self._ordered = False
        self.turnover.nodes[node] = None
        self.touch()

    def shape_of(self, node: NodeObject) -> NodeShape:
        """The node's shape."""
        return self.node_shapes[node.value.shape]

    def add_pod(self, pod: PodObject, node: NodeObject | None = None) -> PodObject:
        """Create a pod, bound to a node or pending."""
        self.pods[pod.namespace, pod.name] = pod
        self._rows.joined(pod)
        self._pods_of_shape[pod.shape] += 1
        if node is None:
            self.pods.waiting[pod] = None
        else:
            self._put(pod, node)
        self.touch()
        return pod

    def remove_pod(self, pod: PodObject) -> None:
        """Delete a pod for good."""
        del self.pods[pod.namespace, pod.name]
        self._pods_of_shape[pod.shape] -= 1
        if pod.node is not None:
            self.turnover.went(pod, pod.node)
            del pod.node.pods[pod]
            pod.node = None
        else:
            del self.pods.waiting[pod]
        self._rows.gone(pod)
        self.touch()

    def bind(self, pod: PodObject, node: NodeObject) -> None:
        """Put a pod that waits on a node."""
        del self.pods.waiting[pod]
        self._put(pod, node)

    def _put(self, pod: PodObject, node: NodeObject) -> None:
        pod.node = node
        pod.unschedulable = 0
        pod.nominated = None
        node.put(pod)
        self.turnover.came(pod, node)
        self.touch_pod(pod)

    def seat(self, rows: Sequence[int], nodes: Sequence[int], moved_seconds: int) -> None:
        """Pods of these rows of `pod_table` run on nodes of these indices. Those that had a node are as new. All objects of pods
        made so far are others from now on, so nobody may keep one."""
        old = self.pod_table()
        columns = {name: getattr(old, name)[:] for name in ("node", "phase", "flags", "unschedulable_seconds", "created_seconds")}
        came = Counter(zip(nodes, map(old.shape.__getitem__, rows), strict=True))
        left = [row for row in rows if old.node[row] >= 0]
        came.subtract(Counter((old.node[row], old.shape[row]) for row in left))
        for row in left:
            columns["created_seconds"][row] = moved_seconds
        kernels.seat(
            array("i", rows),
            array("i", nodes),
            _RUNNING,
            _READY,
            *(columns[name] for name in ("node", "phase", "flags", "unschedulable_seconds")),
        )
        table = old.with_columns(**columns)
        for (node, shape), count in came.items():
            key = (self._node_order[node], shape)
            self.turnover.moved[key] = self.turnover.moved.get(key, 0) + count
        self.pods = PodStore(table, self._node_order, in_order=self._rows.in_order)
        self._rows.replaced(table, self.pods)
        self.touch()

    def pending(self) -> Iterator[PodObject]:
        """Pods that wait for a node, in no particular order."""
        if not self.pods.waits:
            return iter(())
        return (
            pod for pod in self.pods.waiting if not pod.unknown_node and not pod.gated and not pod.deletion and not pod.finished
        )

    @property
    def serves_devices(self) -> bool:
        """Are there device classes, so that what a pod asks for may be served in ways that hang on all nodes?"""
        return bool(self._origin.device_classes)

    def lowest_priority(self) -> int:
        """The smallest priority of any pod; 0 without pods."""
        return min((self.pod_shapes[shape].priority for shape, count in self._pods_of_shape.items() if count), default=0)

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
            moved = None if self._ordered else self._order_nodes()
            self._view = msgspec.structs.replace(
                self._origin,
                captured_seconds=now_seconds,
                node_shapes=tuple(self.node_shapes),
                nodes=tuple([node.value for node in self._node_order]),
                pod_shapes=tuple(self.pod_shapes),
                pod_traits=tuple(self.pod_traits),
                pods=self._rows.table(moved),
                targets=tuple([self.targets[ref] for ref in sorted(self.targets)]),
                machines=tuple([self.machines[key] for key in sorted(self.machines)]),
                budgets=tuple([self.budgets[key] for key in sorted(self.budgets)]),
                controllers=tuple(sorted(self.controllers.values())),
            )
        elif self._view.captured_seconds != now_seconds:
            self._view = msgspec.structs.replace(self._view, captured_seconds=now_seconds)
        return self._view

    def _order_nodes(self) -> list[int] | None:
        """Gives nodes the index that they have by name; what became of each former index (-1: its node is gone), with -1 behind
        the last. None: all that are left are where they were."""
        before = self._node_order
        self._node_order = [self.nodes[name] for name in sorted(self.nodes)]
        for index, node in enumerate(self._node_order):
            node.index = index
        self._ordered = True
        moved = [node.index for node in before]
        return None if moved == list(range(len(before))) else [*moved, -1]


def _interned(index: dict[Value, int], values: list[Value], value: Value, free: list[int] | None = None) -> int:
    """The number of a value. A new one gets one of `free`, or the next."""
    position = index.get(value)
    if position is not None:
        return position
    if free:
        position = free.pop()
        values[position] = value
    else:
        position = len(values)
        values.append(value)
    index[value] = position
    return position
