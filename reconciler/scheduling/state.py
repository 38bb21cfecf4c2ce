"""A working copy of "which pods are on which nodes", for what-ifs: bind, place, ask, undo."""

from array import array
from collections.abc import Iterable, Sequence

from reconciler.cluster.node import NodeShape
from reconciler.cluster.pod import PodShape
from reconciler.cluster.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.eligibility import Eligibility
from reconciler.scheduling.features import not_modelled
from reconciler.scheduling.host_ports import HostPorts
from reconciler.scheduling.node_mask import marked, union
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.node_resources_fit import resources_rejection
from reconciler.scheduling.shapes import Demand, ShapeTable
from reconciler.scheduling.verdict import Rejection

_NO_BOUND = 1 << 31
_FEW_NODES = 8


class SchedulingState:
    """Nodes (existing ones first, in World order, then added ones) with what is bound to them.

    Deterministic: same calls, same answers. Never reads a clock. Costs of asking are by shape, not by pod.
    """

    def __init__(self, world: World, *, pods: Iterable[int] | None = None) -> None:
        """Bind the pods of `world` given by index; None means all that are on a node of the view and not finished
        (terminating ones included, as kube-scheduler counts them)."""
        self._nodes = NodeTable(world.node_shapes, world.nodes)
        width = self._nodes.columns.width
        for shape in world.pod_shapes:
            self._nodes.columns.learn(shape.requests)
        if self._nodes.columns.width > width:
            self._nodes.widen(width)
        self._shapes = ShapeTable(world.pod_shapes, self._nodes.columns)
        self._demands: list[Demand] = self._shapes.demands()
        self._eligibility = Eligibility(self._nodes)
        self._bindings = Bindings(self._nodes, self._shapes)
        self._bindings.bind_world(world.pods, pods)
        self._ports = HostPorts(self._bindings, self._shapes)
        self._not_modelled: dict[int, str] = {}
        self._closed: list[int] = []
        self._marks: list[tuple[int, int, int]] = []

    @property
    def node_count(self) -> int:
        """Number of nodes, closed ones included; valid indices are below it."""
        return len(self._nodes)

    def name(self, node: int) -> str:
        """Name of a node."""
        return self._nodes.names[node]

    def shape_of(self, node: int) -> NodeShape:
        """Shape of a node."""
        return self._nodes.shapes[self._nodes.shape[node]]

    def pod_shape(self, shape: int) -> PodShape:
        """A pod shape by index: those of the World first, then added ones."""
        return self._shapes.shapes[shape]

    def add_shape(self, shape: PodShape) -> int:
        """Register a pod shape that is not in the World (headroom); equal shapes get one index. Not undone by `undo`."""
        found = self._shapes.index(shape)
        if found is not None:
            return found
        width = self._nodes.columns.width
        if self._nodes.columns.learn(shape.requests):
            self._nodes.widen(width)
            self._shapes.widen(width)
        index = self._shapes.append(shape)
        self._demands = self._shapes.demands()
        return index

    def add_node(self, name: str, shape: NodeShape, pods: Sequence[int] = ()) -> int:
        """A node that is not there yet (upcoming, or a new one of a group) with its daemonset pods, by pod shape, bound
        without asking. Returns its index. Undone by `undo`."""
        width = self._nodes.columns.width
        node = self._nodes.add(name, shape)
        if self._nodes.columns.width > width:
            self._shapes.widen(width)
        self._bindings.add_node()
        for pod in pods:
            self._bindings.push(pod, node, 1)
        return node

    def close(self, node: int) -> None:
        """The node takes no more pods (it is leaving); what is bound to it stays bound until unbound. Undone by `undo`."""
        if not self._nodes.closed[node]:
            self._nodes.closed[node] = 1
            self._closed.append(node)

    def modelled(self, shape: int) -> str:
        """Empty when verdicts for this shape are exact; else what is not modelled, as a phrase (`DynamicResources`)."""
        found = self._not_modelled.get(shape)
        if found is None:
            found = self._not_modelled[shape] = not_modelled(self._shapes.shapes[shape], self._shapes.shapes)
        return found

    def fits(self, shape: int, node: int) -> bool:
        """Would one more pod of this shape run on this node? False on closed nodes and for shapes not modelled."""
        return self._room(shape, node, 1) > 0

    def verdict(self, shape: int, node: int) -> tuple[Rejection, ...]:
        """Every filter plugin that rejects the pod on the node, sorted by plugin; empty: fits. `closed` does not count."""
        missing = self.modelled(shape)
        if missing:
            return (Rejection("NotModelled", missing),)
        demand = self._demands[self._shapes.demand[shape]]
        said: list[Rejection | None] = list(self._eligibility.rejections(demand, node))
        if self._shapes.shapes[shape].host_ports:
            said.append(self._ports.rejection(shape, node))
        nodes = self._nodes
        columns, amounts = self._shapes.need(shape)
        room = nodes.room[nodes.shape[node]]
        said.append(resources_rejection(nodes.columns.names, columns, amounts, nodes.free_row(node), room))
        return tuple(sorted(rejection for rejection in said if rejection is not None))

    def place(self, shape: int, count: int, nodes: Sequence[int] | None = None) -> tuple[tuple[int, int], ...]:
        """Bind up to `count` pods of one shape, first fit over `nodes` in the given order (None: all, by index).

        Returns (node, pods bound) for nodes that got some; their sum is what was placed. Equals pod-by-pod first fit.
        """
        if count <= 0 or self.modelled(shape):
            return ()
        if nodes is not None and len(nodes) <= _FEW_NODES:
            return self._place_on_few(shape, count, nodes)
        demand = self._demands[self._shapes.demand[shape]]
        blocked = self._nodes.closed
        excluded = self._eligibility.excluded(demand)
        if excluded is not None:
            blocked = union(blocked, excluded)
        most_each = _NO_BOUND
        if self._shapes.shapes[shape].host_ports:
            blocked = marked(blocked, self._ports.excluded(shape))
            most_each = 1
        order = None if nodes is None else array("i", nodes)
        return self._bindings.first_fit(shape, count, self._eligibility.allowed(demand), blocked, order, most_each)

    def bind(self, shape: int, node: int, count: int = 1) -> None:
        """Bind without asking."""
        self._bindings.push(shape, node, count)

    def unbind(self, shape: int, node: int, count: int = 1) -> None:
        """Take pods of a shape off a node."""
        self._bindings.push(shape, node, -count)

    def bound(self, node: int) -> tuple[tuple[int, int], ...]:
        """(shape, count) on a node, by shape index; counts above zero."""
        return tuple(sorted(self._bindings.on(node).items()))

    def used(self, node: int) -> Resources:
        """Sum of the requests bound to a node."""
        room = self._nodes.room[self._nodes.shape[node]]
        free = self._nodes.free_row(node)
        return self._nodes.columns.resources(array("q", [had - left for had, left in zip(room, free, strict=True)]))

    def mark(self) -> int:
        """A point to return to. Marks nest."""
        self._marks.append((self._bindings.size, len(self._closed), len(self._nodes)))
        return len(self._marks) - 1

    def undo(self, mark: int) -> None:
        """Back to `mark`: costs as much as what happened since, not as the size of the world."""
        size, closed, count = self._marks[mark]
        del self._marks[mark + 1 :]
        self._bindings.pop_to(size)
        for node in self._closed[closed:]:
            self._nodes.closed[node] = 0
        del self._closed[closed:]
        if count < len(self._nodes):
            self._nodes.drop_to(count)
            self._bindings.drop_to(count)
            self._eligibility.drop_to(count)

    def _room(self, shape: int, node: int, most: int) -> int:
        """How many more pods of the shape the node takes, `most` at most."""
        if self._nodes.closed[node] or self.modelled(shape):
            return 0
        if not self._eligibility.allows(self._demands[self._shapes.demand[shape]], node):
            return 0
        if self._shapes.shapes[shape].host_ports:
            if not self._ports.fits(shape, node):
                return 0
            most = min(most, 1)
        free, base = self._nodes.free, node * self._nodes.columns.width
        for column, amount in zip(*self._shapes.need(shape), strict=True):
            most = min(most, free[base + column] // amount)
        return max(most, 0)

    def _place_on_few(self, shape: int, count: int, nodes: Iterable[int]) -> tuple[tuple[int, int], ...]:
        placed = []
        for node in nodes:
            many = self._room(shape, node, count)
            if many:
                self._bindings.push(shape, node, many)
                placed.append((node, many))
                count -= many
        return tuple(placed)
