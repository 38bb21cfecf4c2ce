"""Who is told about changes of which pod shapes."""

from typing import Protocol

from reconciler.scheduling.index_sets.index_set import IndexSet

FEW_SHAPES = 32
"""A watcher of so many shapes stands in the list of each; one of more is looked for once its shapes change."""


class Watcher(Protocol):
    """Something that keeps count of the pods of some shapes."""

    def change(self, shape: int, node: int, count: int) -> None:
        """`count` more pods (fewer when negative) of a shape are on a node."""


class Watchers:
    """Watchers by shape: those that stay, and those that are forgotten all at once.

    To write thousands of watchers of thousands of shapes into the list of each shape would take as much room as both multiplied.
    """

    __slots__ = ("_lasting", "_narrow", "_of", "_wide", "watching")

    def __init__(self) -> None:
        self._lasting: dict[int, list[Watcher]] = {}
        self._narrow: dict[int, list[Watcher]] = {}
        self._wide: list[tuple[IndexSet, Watcher]] = []
        self._of: dict[int, tuple[Watcher, ...]] = {}
        self.watching = 0
        """Rises with every watcher."""

    def __bool__(self) -> bool:
        return self.watching > 0

    @property
    def wide(self) -> int:
        """Watchers of more than `FEW_SHAPES` shapes."""
        return len(self._wide)

    def of(self, shape: int) -> tuple[Watcher, ...]:
        """Those of one shape."""
        watchers = self._of.get(shape)
        if watchers is None:
            wide = [watcher for shapes, watcher in self._wide if shape in shapes]
            watchers = self._of[shape] = (*self._lasting.get(shape, ()), *self._narrow.get(shape, ()), *wide)
        return watchers

    def watch(self, shape: int, watcher: Watcher) -> None:
        """Tell the watcher of every change of a shape from now on."""
        self._lasting.setdefault(shape, []).append(watcher)
        self._of.pop(shape, None)
        self.watching += 1

    def watch_for_now(self, shapes: IndexSet, watcher: Watcher) -> None:
        """Tell the watcher of every change of these shapes until `forget`."""
        if len(shapes) > FEW_SHAPES:
            self._wide.append((shapes, watcher))
            self._of.clear()
        else:
            for shape in shapes:
                self._narrow.setdefault(shape, []).append(watcher)
                self._of.pop(shape, None)
        self.watching += 1

    def forget(self) -> None:
        """Tell those no more that watch for now."""
        self._narrow.clear()
        self._wide.clear()
        self._of.clear()
