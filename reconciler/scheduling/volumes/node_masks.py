"""Remembers which nodes match a topology. Most volumes share a few topologies."""

from collections.abc import Callable, Hashable

from reconciler.scheduling.nodes import NodeTable


class NodeMasks:
    """Bytes by node, 1 where a judgement says no; each judgement is made once a node."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._masks: dict[Hashable, bytearray] = {}

    def get(self, key: Hashable, suits: Callable[[int], bool]) -> bytearray:
        """The mask of a judgement; `key` must name it completely."""
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = bytearray()
        for node in range(len(mask), len(self._nodes)):
            mask.append(not suits(node))
        return mask

    def clear(self) -> None:
        """Forget everything: what judgements go by has changed."""
        self._masks.clear()

    def drop_to(self, count: int) -> None:
        """Forget nodes from index `count` on."""
        for mask in self._masks.values():
            del mask[count:]
