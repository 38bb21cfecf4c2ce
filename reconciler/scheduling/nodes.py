"""The nodes of a scheduling state as columns: name, shape, room, and whether they take pods."""

from array import array
from collections.abc import Collection, Iterable, Sequence

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, Node, NodeShape
from reconciler.scheduling.columns import ENDLESS, ResourceColumns, widened


class NodeTable:
    """Nodes by index. `free` has `columns.width` numbers per node: allocatable minus what is bound, negative if more is.

    `shape` indexes `shapes`. `closed` is one byte per node. Only the last nodes can be dropped again. Other removed nodes are
    `gone`, and those about to be removed are `leaving`.

    `served` are extended resources that device classes serve and some pod requests. A node that does not list one of them has
    endless room for it here, because its devices decide. Source: NodeResourcesFit 1.36, `shouldDelegateResourceToDRA`.
    """

    __slots__ = (
        "_by_value",
        "_hosts",
        "_last",
        "closed",
        "columns",
        "free",
        "gone",
        "leaving",
        "names",
        "room",
        "served",
        "shape",
        "shapes",
    )

    def __init__(
        self, shapes: Sequence[NodeShape], nodes: Sequence[Node], columns: ResourceColumns, served: Collection[str] = ()
    ) -> None:
        self.columns = columns
        self.served = frozenset(served)
        self.shapes: list[NodeShape] = list(shapes)
        for shape in self.shapes:
            self.columns.learn(shape.allocatable)
        self.columns.learn_names(sorted(self.served))
        self.room: list[array[int]] = [self._room_of(shape) for shape in self.shapes]
        self.names: list[str] = [node.name for node in nodes]
        self.shape = array("i", [node.shape for node in nodes])
        rows = [row.tobytes() for row in self.room]
        self.free = array("q", b"".join([rows[node.shape] for node in nodes]))
        self.closed = bytearray(len(nodes))
        self.gone: set[int] = set()
        self.leaving: set[int] = set()
        self._hosts: list[tuple[bool, str | None]] = []
        self._by_value: dict[NodeShape, int] = {}
        self._last: tuple[NodeShape | None, int] = (None, -1)

    def __len__(self) -> int:
        return len(self.names)

    def add(self, names: Sequence[str], shape: NodeShape) -> int:
        """Append nodes of one shape; the index of the first."""
        last, index = self._last
        if shape is not last:
            index = self._shape_index(shape)
            self._last = (shape, index)
        first, count = len(self.names), len(names)
        self.names.extend(names)
        if count == 1:
            self.shape.append(index)
            self.free.extend(self.room[index])
            self.closed.append(0)
        else:
            self.shape.extend(array("i", (index,)) * count)
            self.free.extend(self.room[index] * count)
            self.closed.extend(bytes(count))
        return first

    def alter(self, node: int, shape: NodeShape) -> None:
        """Give a node another shape; what is bound to it stays so."""
        index, width = self._shape_index(shape), self.columns.width
        before, after = self.room[self.shape[node]], self.room[index]
        for column in range(width):
            self.free[node * width + column] += after[column] - before[column]
        self.shape[node] = index

    def take(self, node: int, row: "array[int]", count: int) -> None:
        """So much is taken of a node, `count` times."""
        base = node * self.columns.width
        for column, amount in enumerate(row):
            self.free[base + column] -= amount * count

    def drop_to(self, count: int) -> None:
        """Forget all nodes from index `count` on."""
        del self.names[count:]
        del self.shape[count:]
        del self.closed[count:]
        del self.free[count * self.columns.width :]

    def widen(self, old: int) -> None:
        """Bring rows of `old` numbers to the width that `columns` has now."""
        new = self.columns.width
        self.free = widened(self.free, old, new)
        self.room = [widened(row, old, new) for row in self.room]

    def serve(self, names: Collection[str]) -> bool:
        """Device classes serve these extended resources too, and pods that are not bound yet request them. True when rows became
        longer."""
        old = self.columns.width
        wider = self.columns.learn_names(sorted(names))
        if wider:
            self.widen(old)
        self.served = self.served.union(names)
        width, before = self.columns.width, self.room
        self.room = [self._room_of(shape) for shape in self.shapes]
        for node, shape in enumerate(self.shape):
            for column, (had, has) in enumerate(zip(before[shape], self.room[shape], strict=True)):
                self.free[node * width + column] += has - had
        return wider

    def from_devices(self, node: int, requests: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        """Of these requests those that only devices of the node can meet."""
        if not self.served:
            return ()
        listed = self.shapes[self.shape[node]].allocatable
        return tuple((name, amount) for name, amount in requests if amount and name in self.served and not listed.get(name))

    def free_row(self, node: int) -> "array[int]":
        """What is free on one node, by column."""
        width = self.columns.width
        return self.free[node * width : (node + 1) * width]

    def hostname(self, node: int) -> str | None:
        """The hostname label of a node: implied by its name unless the shape spells it out, or says that there is none."""
        without, spelled = self._hosts_by_shape()[self.shape[node]]
        if without:
            return None
        return self.names[node] if spelled is None else spelled

    def hosts_by_name(self, first: int) -> list[str] | None:
        """The hostname labels of all nodes from `first` on; None where one is not implied by the name."""
        hosts = self._hosts_by_shape()
        return self.names[first:] if {hosts[shape] for shape in self.shape[first:]} == {(False, None)} else None

    def _hosts_by_shape(self) -> list[tuple[bool, str | None]]:
        hosts = self._hosts
        if len(hosts) < len(self.shapes):
            hosts.extend((shape.without_hostname, shape.label(HOSTNAME_LABEL)) for shape in self.shapes[len(hosts) :])
        return hosts

    def _shape_index(self, shape: NodeShape) -> int:
        if len(self._by_value) < len(self.shapes):
            self._by_value = {known: index for index, known in reversed(list(enumerate(self.shapes)))}
        index = self._by_value.get(shape)
        if index is None:
            old = self.columns.width
            if self.columns.learn(shape.allocatable):
                self.widen(old)
            index = len(self.shapes)
            self.shapes.append(shape)
            self.room.append(self._room_of(shape))
            self._by_value[shape] = index
        return index

    def _room_of(self, shape: NodeShape) -> "array[int]":
        row = self.columns.row(shape.allocatable)
        for name in self.served:
            if not shape.allocatable.get(name):
                row[self.columns.index(name)] = ENDLESS
        return row
