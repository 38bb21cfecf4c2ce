"""Who selects whom, asked from the other side: from the selections of each of many to those that select one."""

from collections.abc import Mapping, Sequence

from reconciler.scheduling.index_sets.index_set import EMPTY, IndexSet
from reconciler.scheduling.kernels import domains as kernels

_SMALL_TABLE_BITS = 1 << 24


class Relation:
    """Selections with who makes them; `of` says who selects an index. `reach` is all that is selected.

    The table of bits has one row per holder. The first call of `of` transposes it, so that each later call reads one column. If
    that table would be large and many holders select the same indices, it has one row per selection instead.
    """

    __slots__ = ("_columns", "_first", "_height", "_holders", "_rows", "reach")

    def __init__(self, holders: Mapping[IndexSet, Sequence[int]]) -> None:
        """`holders` by what they select."""
        self.reach = IndexSet.union_of(holders)
        self._first = min(map(min, holders.values()))
        span = max(map(max, holders.values())) + 1 - self._first
        self._rows: list[IndexSet] = list(holders)
        self._holders: list[Sequence[int]] = [*holders.values()]
        if span < 2 * len(holders) or span * (self.reach.last - self.reach.first) < _SMALL_TABLE_BITS:
            self._rows = [EMPTY] * span
            for selected, shapes in holders.items():
                for holder in shapes:
                    self._rows[holder - self._first] = selected
            self._holders = []
        self._columns = bytearray()
        self._height = (len(self._rows) + 7) // 8

    def of(self, index: int) -> IndexSet:
        """Who selects the index."""
        if index not in self.reach:
            return EMPTY
        if not self._columns:
            self._turn()
        place = (index - self.reach.first) * self._height
        column = self._columns[place : place + self._height]
        if not self._holders:
            return IndexSet.unpacked(self._first, column)
        return IndexSet.of([holder for row in IndexSet.unpacked(0, column) for holder in self._holders[row]])

    def _turn(self) -> None:
        first = self.reach.first
        width = (self.reach.last - first) // 8 + 1
        rows = bytearray().join(selected.packed(first, width) for selected in self._rows)
        self._columns = bytearray(8 * width * self._height)
        kernels.turned(rows, len(self._rows), width, self._columns, self._height)
        self._rows = []
