"""Who selects whom, asked from the other side: from the selections of each of many to those that select one."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.scheduling.bindings import FEW_SHAPES
from reconciler.scheduling.index_set import EMPTY, IndexSet
from reconciler.scheduling.kernels import domains as kernels
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.topology.selection import ShapeSelection

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


# Which pod shapes keep which others away by their anti-affinity.

A_TERM = 30
"""Steps to find what a term selects."""


def united(
    terms: Iterable[AffinityTerm], keys: Container[str], select: Callable[[AffinityTerm], IndexSet]
) -> dict[str, IndexSet]:
    """What the anti-affinity terms of one shape select together, by topology key: one pod of it in a domain is as bad as another.
    Keys that are not among `keys` are left out."""
    selected: dict[str, IndexSet] = {}
    for term in terms:
        if term.topology_key in keys:
            selected[term.topology_key] = IndexSet.union_of((selected.get(term.topology_key, EMPTY), select(term)))
    return selected


class Repulsion:
    """What the anti-affinity of each shape selects, by topology key. A shape that selects few others is in the list of each of
    them. Other selections are sets, so neither room nor steps grow with all pairs of shapes."""

    def __init__(self) -> None:
        self._narrow: dict[int, dict[str, list[int]]] = {}
        self._wide: dict[str, Relation] = {}

    def learn(self, shapes: ShapeTable, selection: ShapeSelection, keys: Container[str]) -> None:
        """Read the terms of all shapes whose topology key is one of `keys`."""
        self._narrow.clear()
        wide: dict[str, dict[IndexSet, list[int]]] = {}
        for holder, shape in enumerate(shapes.shapes):
            if not shape.anti_affinity:
                continue
            # Who wrote the terms pays for them, not who asks first.
            shapes.effort.ask(holder)
            shapes.effort.add(A_TERM * len(shape.anti_affinity))
            for key, selected in united(shape.anti_affinity, keys, selection.by_term_of_others).items():
                if len(selected) > FEW_SHAPES:
                    wide.setdefault(key, {}).setdefault(selected, []).append(holder)
                    continue
                for other in selected:
                    self._narrow.setdefault(other, {}).setdefault(key, []).append(holder)
        self._wide = {key: Relation(holders) for key, holders in wide.items()}

    def of(self, shape: int) -> dict[str, IndexSet]:
        """The shapes that keep this one away, by topology key in its order."""
        narrow = self._narrow.get(shape, {})
        return {
            key: IndexSet.union_of((IndexSet.of(narrow.get(key, ())), self._wide[key].of(shape) if key in self._wide else EMPTY))
            for key in sorted(self.keys(shape))
        }

    def keys(self, shape: int) -> frozenset[str]:
        """The topology keys of `of`."""
        wide = [key for key, relation in self._wide.items() if shape in relation.reach]
        return frozenset((*self._narrow.get(shape, ()), *wide))
