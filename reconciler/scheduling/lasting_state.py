"""A scheduling state that is updated as nodes change, instead of being built again."""

from reconciler.cluster.nodes.node import NodeShape
from reconciler.scheduling.state import SchedulingState


class LastingState(SchedulingState):
    """Answers as a new state of the changed cluster would, for pods without volumes.

    A node that is gone keeps its index, takes no pods and counts in no domain. Changes here are not undone by `undo`, and come
    outside of `mark` and `undo` only.
    """

    def alter(self, node: int, shape: NodeShape) -> bool:
        """The node has another shape now: taints, cordon, room. False, and nothing done, when its labels would change."""
        before = self.shape_of(node)
        if shape == before:
            return True
        if (shape.labels, shape.without_hostname) != (before.labels, before.without_hostname):
            return False
        width = self._nodes.columns.width
        self._nodes.alter(node, shape)
        if self._nodes.columns.width > width:
            self._widen(width)
        topology = self._filters.topology
        if topology.counts_otherwise(node):
            here = self._take_off(node)
            topology.recount(node)
            for pod, count in here:
                self.bind(pod, node, count)
        return True

    def remove(self, node: int) -> None:
        """The node is gone, with what was bound to it."""
        self._take_off(node)
        self._nodes.closed[node] = 1
        self._nodes.gone.add(node)
        self._filters.topology.forget(node)

    def open_or_close(self, node: int, *, closed: bool) -> None:
        """Whether the node takes pods from now on."""
        self._nodes.closed[node] = closed

    def _take_off(self, node: int) -> tuple[tuple[int, int], ...]:
        """(shape, count) of what was bound to the node and is not any more."""
        here = self.bound(node)
        for pod, count in here:
            self.unbind(pod, node, count)
        return here
