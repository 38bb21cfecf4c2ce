"""The pods of a simulated cluster by key. A pod becomes an object once something happens to it."""

from array import array
from collections.abc import Iterator, MutableMapping
from functools import partial

from reconciler.cluster.pods.pod_table import PodTable, is_gated, is_ready, phase_of
from reconciler.scheduling.kernels import loops
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject

PodKey = tuple[str, str]
"""Namespace and name."""


class PodStore(MutableMapping[PodKey, PodObject]):
    """In the order of the table, followed by what came later. Objects are made for all pods of a node at once, so these have
    their order there. So are those of all pods without a node."""

    def __init__(self, table: PodTable, nodes: list[NodeObject], *, in_order: bool | None = None) -> None:
        """`nodes` by the indices of the table. `in_order`: its rows are in order of their keys; None if nobody knows."""
        self._table = table
        self._nodes = nodes
        self._made: dict[PodKey, PodObject] = {}
        self._later: dict[PodKey, PodObject] = {}
        self._gone: set[PodKey] = set()
        self._waiting: dict[PodObject, None] | None = None
        self.in_order = table.in_order() if in_order is None else in_order
        # A lookup by halves costs no memory, and most rows of a large table are never looked up.
        self._rows = {} if self.in_order else {key: row for row, key in enumerate(self._keys())}
        self._starts = array("i", bytes(4 * (len(nodes) + 2)))
        self._order = array("i", bytes(4 * len(table)))
        self._seated = loops.by_node(table.node, self._starts, self._order)
        for index, node in enumerate(nodes):
            node.reseat(partial(self._seat, index) if self._starts[index] < self._starts[index + 1] else None)

    def _keys(self) -> Iterator[PodKey]:
        return zip(self._table.namespace, self._table.name, strict=True)

    @property
    def waits(self) -> bool:
        """Is there a pod without a node?"""
        return self._seated < len(self._table) if self._waiting is None else bool(self._waiting)

    @property
    def waiting(self) -> dict[PodObject, None]:
        """The pods without a node, finished ones too. Code that binds, removes or adds a pod must keep this up to date."""
        if self._waiting is None:
            self._waiting = {}
            self._waiting.update((self._make(row), None) for row, node in enumerate(self._table.node) if node < 0)
        return self._waiting

    def __getitem__(self, key: PodKey) -> PodObject:
        pod = self.get(key)
        if pod is None:
            raise KeyError(key)
        return pod

    def get(self, key: PodKey, default: PodObject | None = None) -> PodObject | None:  # type: ignore[override]
        """The pod, or `default`."""
        pod = self._made.get(key) or self._later.get(key)
        if pod is not None:
            return pod
        row = self._row(key)
        if row is None:
            return default
        node = self._table.node[row]
        _ = self._nodes[node].pods if node >= 0 else self.waiting
        return self._made[key]

    def _row(self, key: PodKey) -> int | None:
        """The row of a pod that is still there."""
        if key in self._gone:
            return None
        return self._table.row(key) if self.in_order else self._rows.get(key)

    def __setitem__(self, key: PodKey, pod: PodObject) -> None:
        self._later[key] = pod

    def __delitem__(self, key: PodKey) -> None:
        if self._later.pop(key, None) is None:
            del self._made[key]
            self._gone.add(key)

    def __contains__(self, key: object) -> bool:
        return key in self._made or key in self._later or (isinstance(key, tuple) and self._row(key) is not None)

    def __iter__(self) -> Iterator[PodKey]:
        yield from (key for key in self._keys() if key not in self._gone)
        yield from self._later

    def __len__(self) -> int:
        return len(self._table) - len(self._gone) + len(self._later)

    def made(self) -> list[PodObject]:
        """The pods that have an object."""
        return [*self._made.values(), *self._later.values()]

    def _seat(self, index: int) -> dict[PodObject, None]:
        """The pods of a node."""
        return {self._make(row): None for row in self._order[self._starts[index] : self._starts[index + 1]]}

    def _make(self, row: int) -> PodObject:
        table = self._table
        namespace, name = table.namespace[row], table.name[row]
        pod = PodObject(namespace, name, table.uid[row], table.shape[row], table.traits[row], table.created_seconds[row])
        node, nominated, flags = table.node[row], table.nominated[row], table.flags[row]
        pod.deletion, pod.unschedulable = table.deletion_seconds[row], table.unschedulable_seconds[row]
        pod.phase, pod.ready, pod.gated = phase_of(table.phase[row]), is_ready(flags), is_gated(flags)
        pod.node = self._nodes[node] if node >= 0 else None
        pod.nominated = self._nodes[nominated] if nominated >= 0 else None
        pod.unknown_node = table.unknown_node.get(row, "")
        pod.managed = True
        pod.counted = (pod.ready and not pod.deletion, pod.active)
        self._made[namespace, name] = pod
        return pod
