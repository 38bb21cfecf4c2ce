"""The label keys that nodes have. A topology key that no node has makes no domain."""

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.scheduling.nodes import NodeTable


class NodeKeys:
    """Label keys of the node shapes of a table, which only grow."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._seen = 0
        self._have = {HOSTNAME_LABEL}
        self._missed: set[str] = set()

    def __contains__(self, key: object) -> bool:
        if key in self._have:
            return True
        self._missed.add(str(key))
        return False

    def refresh(self) -> bool:
        """Take in shapes that were added; True when a node now has a key that none had when it was asked for."""
        shapes = self._nodes.shapes
        if self._seen == len(shapes):
            return False
        new = {key for shape in shapes[self._seen :] for key, _ in shape.labels} - self._have
        self._seen = len(shapes)
        self._have |= new
        return not new.isdisjoint(self._missed)
