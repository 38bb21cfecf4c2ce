"""Which pod shapes a term selects: by namespace and labels, found through an index instead of by trying all."""

from collections.abc import Mapping

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.scheduling.index_sets.index_set import EMPTY, IndexSet
from reconciler.scheduling.label_match import selects
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.topology.label_index import LabelIndex
from reconciler.values.label_selector import LabelSelector

NamespaceLabels = Mapping[str, tuple[tuple[str, str], ...]]
_KEPT_SETS = 1024


class ShapeSelection:
    """Selections over a shape table, which may grow."""

    def __init__(self, shapes: ShapeTable, namespaces: NamespaceLabels, *, negation_selects_all: bool) -> None:
        """`namespaces` are the Namespace objects with their labels. `negation_selects_all`: see `Release`."""
        self._negation_selects_all = negation_selects_all
        self._shapes = shapes
        self._objects = namespaces
        self._seen = 0
        self._labels = LabelIndex()
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._inside: list[list[int]] = []
        self._labels_of_names = LabelIndex()
        self._known_names = EMPTY
        self._known: dict[object, IndexSet] = {}

    def in_namespace(self, namespace: str, selector: LabelSelector | None) -> IndexSet:
        """Shapes of one namespace."""
        self._refresh()
        return self._select(selector) & self._in_named((namespace,))

    def by_own_term(self, term: AffinityTerm) -> IndexSet:
        """Shapes that a term of the pod to be placed selects.

        Source: plugin InterPodAffinity, PreFilter. A namespace selector stands for the Namespace objects that match it. An empty
        selector stands for every namespace; without a selector, no namespace is added. Some releases lose that result (see
        `Release`). They then match the selector against empty labels, whatever the namespace.
        """
        self._refresh()
        selected, chosen = self._select(term.selector), term.namespace_selector
        if self._negation_selects_all and selects(chosen, ()):
            return selected
        return selected & IndexSet.union_of((self._in_named(term.namespaces), self._in_chosen(chosen, known_only=True)))

    def by_term_of_others(self, term: AffinityTerm) -> IndexSet:
        """Shapes that a term of an existing pod selects.

        Source: as above, but the labels of the namespace of the pod to be placed count. A namespace without a known Namespace
        object has none.
        """
        self._refresh()
        inside = (self._in_named(term.namespaces), self._in_chosen(term.namespace_selector, known_only=False))
        return self._select(term.selector) & IndexSet.union_of(inside)

    def _select(self, selector: LabelSelector | None) -> IndexSet:
        before = self._labels.looked
        selected = self._labels.select(selector)
        self._shapes.effort.add(self._labels.looked - before)
        return selected

    def _in_named(self, names: tuple[str, ...]) -> IndexSet:
        shapes = self._known.get(names)
        if shapes is None:
            self._shapes.effort.add(len(names))
            here = [self._numbers[name] for name in names if name in self._numbers]
            shapes = self._kept(names, self._in_numbered(IndexSet.of(here)))
        return shapes

    def _in_chosen(self, chosen: LabelSelector | None, *, known_only: bool) -> IndexSet:
        if chosen is None:
            return EMPTY
        shapes = self._known.get((chosen, known_only))
        if shapes is None:
            names = self._labels_of_names.select(chosen)
            if known_only and chosen.requirements:
                names = names & self._known_names
            shapes = self._kept((chosen, known_only), self._in_numbered(names))
        return shapes

    def _in_numbered(self, names: IndexSet) -> IndexSet:
        shapes = self._known.get(names)
        if shapes is None:
            shapes = self._kept(names, IndexSet.of([shape for number in names for shape in self._inside[number]]))
            self._shapes.effort.add(len(shapes))
        return shapes

    def _kept(self, name: object, shapes: IndexSet) -> IndexSet:
        if len(self._known) >= _KEPT_SETS:
            self._known.clear()
        self._known[name] = shapes
        return shapes

    def _refresh(self) -> None:
        if self._seen == len(self._shapes):
            return
        self._known.clear()
        for index in range(self._seen, len(self._shapes)):
            shape = self._shapes.shapes[index]
            self._labels.add(shape.labels)
            number = self._numbers.setdefault(shape.namespace, len(self._names))
            if number == len(self._names):
                self._names.append(shape.namespace)
                self._inside.append([])
                self._labels_of_names.add(self._objects.get(shape.namespace, ()))
            self._inside[number].append(index)
        self._known_names = IndexSet.of([number for number, name in enumerate(self._names) if name in self._objects])
        self._seen = len(self._shapes)
