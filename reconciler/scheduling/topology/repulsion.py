"""Which pod shapes exclude which others by anti-affinity."""

from collections.abc import Callable, Container, Iterable

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.scheduling.index_sets.index_set import EMPTY, IndexSet
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.topology.relation import Relation
from reconciler.scheduling.topology.selection import ShapeSelection
from reconciler.scheduling.watchers import FEW_SHAPES

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
