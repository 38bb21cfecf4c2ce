"""Which pods are on which nodes, as a stack of cells that is its own undo log."""

from array import array
from collections.abc import Iterable

from reconciler.cluster.pods.pod_table import FINISHED_PHASES, PodTable
from reconciler.scheduling.index_sets.index_set import IndexSet
from reconciler.scheduling.kernels import domains, loops, passes
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.watchers import Watchers

_NOTHING_ON = array("i", (-1,))


class Bindings:
    """Cells (node, shape, count) in order of time, and the room that they leave.

    Taking pods off is one more cell with a negative count; undoing pops cells. Watchers hear of every change of the
    shapes that they watch.
    """

    def __init__(self, nodes: NodeTable, shapes: ShapeTable) -> None:
        self._nodes = nodes
        self._shapes = shapes
        self.size = 0
        self.head = array("i", [-1]) * len(nodes)
        self._node = array("i")
        self._shape = array("i")
        self._count = array("i")
        self._below = array("i")
        self.watchers = Watchers()

    def bind_world(self, pods: PodTable, chosen: Iterable[int] | None) -> "array[int]":
        """Bind pods where they are: those chosen, or all on a node that have not finished. Returns their indices."""
        if chosen is None:
            picked = array("i", bytes(4 * len(pods)))
            pod_count = loops.running_pods(pods.node, pods.phase, *FINISHED_PHASES, picked)
        else:
            picked = array("i", chosen)
            pod_count = len(picked)
        self._reserve(pod_count)
        self.size = loops.bind_each(
            picked,
            pod_count,
            pods.node,
            pods.shape,
            self._shapes.requests,
            self._nodes.free,
            self._nodes.columns.width,
            self.head,
            self._node,
            self._shape,
            self._count,
            self._below,
            self.size,
        )
        return picked[:pod_count]

    def add_nodes(self, node_count: int) -> None:
        """Nodes were appended to the table."""
        self.head.extend(_NOTHING_ON * node_count)

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone; nothing is bound to them any more."""
        del self.head[count:]

    def push(self, shape: int, node: int, count: int) -> None:
        """`count` more pods of a shape on a node; fewer when negative."""
        if not count:
            return
        self._reserve(1)
        size = self.size
        self._node[size] = node
        self._shape[size] = shape
        self._count[size] = count
        self._below[size] = self.head[node]
        self.head[node] = size
        self.size = size + 1
        free, base = self._nodes.free, node * self._nodes.columns.width
        columns, amounts = self._shapes.need(shape)
        for column, amount in zip(columns, amounts, strict=True):
            free[base + column] -= amount * count
        for watcher in self.watchers.of(shape):
            watcher.change(shape, node, count)

    def first_fit(
        self,
        shape: int,
        count: int,
        allowed: bytearray,
        blocked: bytearray,
        order: "array[int] | None",
        most_each: int,
    ) -> tuple[tuple[int, int], ...]:
        """Bind up to `count` pods first fit by resources alone; (node, pods) in the order of binding."""
        stop = len(self._nodes) if order is None else len(order)
        if not stop:
            return ()
        self._reserve(min(count, stop))
        before = self.size
        columns, amounts = self._shapes.need(shape)
        self.size = loops.first_fit(
            columns,
            amounts,
            self._nodes.free,
            self._nodes.columns.width,
            self._nodes.shape,
            allowed,
            blocked,
            array("i") if order is None else order,
            stop,
            most_each,
            count,
            shape,
            self.head,
            self._node,
            self._shape,
            self._count,
            self._below,
            before,
        )
        placed = tuple(zip(self._node[before : self.size], self._count[before : self.size], strict=True))
        for watcher in self.watchers.of(shape):
            for node, pods in placed:
                watcher.change(shape, node, pods)
        return placed

    def fit_each(
        self,
        shapes: "array[int]",
        counts: "array[int]",
        first: int,
        end: int,
        allowed: bytearray,
        rows: "array[int]",
        before: "array[int]",
        order: "array[int]",
        cursor: "array[int]",
        reached: "array[int]",
    ) -> tuple[int, int]:
        """See the kernel; shapes that nothing watches. Returns the entry that lacks a place (or `end`), and the nodes seen."""
        self._reserve(sum(counts[first:end]))
        looked = array("q", bytes(24))
        self.size = passes.fit_each(
            shapes,
            counts,
            first,
            end,
            self._shapes.requests,
            self._nodes.free,
            self._nodes.columns.width,
            self._nodes.shape,
            allowed,
            rows,
            len(self._nodes.shapes),
            self._nodes.closed,
            before,
            order,
            cursor,
            reached,
            looked,
            self.head,
            self._node,
            self._shape,
            self._count,
            self._below,
            self.size,
        )
        return looked[1], looked[0]

    def since(self, size: int) -> tuple["array[int]", "array[int]", "array[int]"]:
        """Nodes, shapes and counts of the cells from `size` on."""
        return self._node[size : self.size], self._shape[size : self.size], self._count[size : self.size]

    def push_list(self, nodes: "array[int]", shapes: "array[int]", counts: "array[int]") -> None:
        """`push` for several entries."""
        self._reserve(len(nodes))
        self.size = passes.bind_list(
            nodes,
            shapes,
            counts,
            0,
            len(nodes),
            self._shapes.requests,
            self._nodes.free,
            self._nodes.columns.width,
            self.head,
            self._node,
            self._shape,
            self._count,
            self._below,
            self.size,
        )
        if self.watchers:
            for node, shape, count in zip(nodes, shapes, counts, strict=True):
                for watcher in self.watchers.of(shape):
                    watcher.change(shape, node, count)

    def with_room(
        self, shape: int, allowed: bytearray, blocked: bytearray, order: "array[int] | None", most_each: int
    ) -> tuple["array[int]", "array[int]"]:
        """Nodes with room for the shape, in the given order, and for how many pods each has."""
        stop = len(self._nodes) if order is None else len(order)
        nodes, room = array("i", bytes(4 * stop)), array("i", bytes(4 * stop))
        columns, amounts = self._shapes.need(shape)
        node_count = loops.with_room(
            columns,
            amounts,
            self._nodes.free,
            self._nodes.columns.width,
            self._nodes.shape,
            allowed,
            blocked,
            array("i") if order is None else order,
            stop,
            most_each,
            nodes,
            room,
        )
        return nodes[:node_count], room[:node_count]

    def short(self, shape: int) -> bytearray:
        """By node: 1 where some request of the shape is not free."""
        flags = bytearray(len(self._nodes))
        columns, amounts = self._shapes.need(shape)
        loops.short_of(columns, amounts, self._nodes.free, self._nodes.columns.width, flags)
        return flags

    def pop_to(self, size: int) -> None:
        """Undo the newest cells until `size` are left."""
        if self.watchers:
            for index in range(self.size - 1, size - 1, -1):
                for watcher in self.watchers.of(self._shape[index]):
                    watcher.change(self._shape[index], self._node[index], -self._count[index])
        loops.pop_cells(
            self.size,
            size,
            self._shapes.requests,
            self._nodes.free,
            self._nodes.columns.width,
            self.head,
            self._node,
            self._shape,
            self._count,
            self._below,
        )
        self.size = size

    def on(self, node: int) -> dict[int, int]:
        """Pods by shape on a node, counts above zero, in no particular order."""
        pods: dict[int, int] = {}
        cell = self.head[node]
        while cell >= 0:
            shape = self._shape[cell]
            pods[shape] = pods.get(shape, 0) + self._count[cell]
            cell = self._below[cell]
        return {shape: count for shape, count in pods.items() if count > 0}

    def of(self, shapes: Iterable[int]) -> list[tuple[int, int, int]]:
        """(shape, node, count) of every cell of these shapes; one node can come more than once."""
        wanted = bytearray(len(self._shapes))
        for shape in shapes:
            wanted[shape] = 1
        if not any(wanted):
            return []
        cells = array("i", bytes(4 * self.size))
        cell_count = loops.cells_of(wanted, self._shape, self.size, cells)
        return [(self._shape[cell], self._node[cell], self._count[cell]) for cell in cells[:cell_count]]

    def count_in(self, shapes: IndexSet, domain_of: "array[int]", counts_node: bytearray, counts: "array[int]") -> None:
        """Add the pods of these shapes that are on nodes that count to `counts`, by domain."""
        packed = shapes.packed()
        columns = (self._shape, self._node, self._count, self.size)
        domains.count_cells(packed, shapes.first, *columns, domain_of, counts_node, counts)

    def _reserve(self, more: int) -> None:
        short = self.size + more - len(self._node)
        if short > 0:
            spare = bytes(4 * (short + max(256, len(self._node) // 2)))
            for column in (self._node, self._shape, self._count, self._below):
                column.frombytes(spare)
