"""The pods of a simulated cluster by key: an object for each one that something happens to, a row of the World for the others."""

from array import array
from collections.abc import Iterator, MutableMapping
from functools import partial

from reconciler.cluster.pods.pod_table import PodTable, is_gated, is_ready, phase_of
from reconciler.scheduling.kernels import loops
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject

PodKey = tuple[str, str]
"""Namespace and name."""


class PodStore(MutableMapping[PodKey, PodObject]):
    """In the order of the table, what came later behind. Objects are made for all pods of a node at once, so that these are in
    their order there; pods without a node have theirs from the start."""

    def __init__(self, table: PodTable, nodes: list[NodeObject]) -> None:
        """`nodes` by the indices of the table."""
        self._table = table
        self._nodes = nodes
        self._pods: dict[PodKey, PodObject | int] = dict(
            zip(zip(table.namespace, table.name, strict=True), range(len(table)), strict=True)
        )
        self._starts = array("i", bytes(4 * (len(nodes) + 2)))
        self._order = array("i", bytes(4 * len(table)))
        loops.by_node(table.node, self._starts, self._order)
        for index, node in enumerate(nodes):
            if self._starts[index] < self._starts[index + 1]:
                node.seat = partial(self._seat, index)
        self.waiting = {self._make(row): None for row, node in enumerate(table.node) if node < 0}

    def __getitem__(self, key: PodKey) -> PodObject:
        found = self._pods[key]
        if isinstance(found, int):
            _ = self._nodes[self._table.node[found]].pods
            return self[key]
        return found

    def get(self, key: PodKey, default: PodObject | None = None) -> PodObject | None:  # type: ignore[override]
        """The pod, or `default`."""
        found = self._pods.get(key, default)
        return self[key] if isinstance(found, int) else found

    def __setitem__(self, key: PodKey, pod: PodObject) -> None:
        self._pods[key] = pod

    def __delitem__(self, key: PodKey) -> None:
        del self._pods[key]

    def __contains__(self, key: object) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[PodKey]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def made(self) -> list[PodObject]:
        """The pods that have an object."""
        return [pod for pod in self._pods.values() if not isinstance(pod, int)]

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
        self._pods[namespace, name] = pod
        return pod
