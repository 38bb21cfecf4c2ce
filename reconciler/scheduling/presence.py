"""The nodes with pods of one shape, kept current."""

from reconciler.scheduling.bindings import Bindings


class Presence:
    """Pods of one shape by node, counts above zero."""

    __slots__ = ("counts",)

    def __init__(self, bindings: Bindings, shape: int) -> None:
        self.counts: dict[int, int] = {}
        for _, node, count in bindings.of((shape,)):
            self._add(node, count)
        bindings.watchers.watch(shape, self)

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        self._add(node, count)

    def _add(self, node: int, count: int) -> None:
        total = self.counts.get(node, 0) + count
        if total:
            self.counts[node] = total
        else:
            del self.counts[node]
