"""Which pod shapes a term selects: by namespace and labels, found through an index instead of by trying all."""

from collections.abc import Iterable, Mapping

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.cluster.values.selector import LabelSelector
from reconciler.scheduling.label_match import satisfies, selects
from reconciler.scheduling.shapes import ShapeTable

NamespaceLabels = Mapping[str, tuple[tuple[str, str], ...]]


class ShapeSelection:
    """Selections over a shape table, remembered until shapes are added."""

    def __init__(self, shapes: ShapeTable, namespaces: NamespaceLabels, *, negation_selects_all: bool) -> None:
        """`namespaces` are the Namespace objects with their labels. `negation_selects_all`: see `Release`."""
        self._negation_selects_all = negation_selects_all
        self._shapes = shapes
        self._namespaces = namespaces
        self._seen = 0
        self._by_namespace: dict[str, list[int]] = {}
        self._by_label: dict[tuple[str, str, str], list[int]] = {}
        self._labels: list[dict[str, str]] = []
        self._known: dict[tuple[LabelSelector, frozenset[str]], frozenset[int]] = {}

    def in_namespace(self, namespace: str, selector: LabelSelector | None) -> frozenset[int]:
        """Shapes of one namespace."""
        return self._select(selector, frozenset((namespace,)))

    def by_own_term(self, term: AffinityTerm) -> frozenset[int]:
        """Shapes that a term of the pod to be placed selects.

        Source: plugin InterPodAffinity, PreFilter: a namespace selector stands for the Namespace objects that match it,
        an empty one for every namespace, none for no further one. Releases that lose the result of that (see `Release`)
        then hold the selector against no labels at all, whatever the namespace.
        """
        chosen = term.namespace_selector
        if self._negation_selects_all and selects(chosen, ()):
            self._refresh()
            return self._select(term.selector, frozenset(self._by_namespace))
        return self._select(term.selector, self._namespaces_of(term, known_only=True))

    def by_term_of_others(self, term: AffinityTerm) -> frozenset[int]:
        """Shapes that a term of a pod which is there already selects.

        Source: as above, but the namespace of the pod to be placed is judged by its labels; one whose Namespace object
        is not known has none.
        """
        return self._select(term.selector, self._namespaces_of(term, known_only=False))

    def _namespaces_of(self, term: AffinityTerm, *, known_only: bool) -> frozenset[str]:
        self._refresh()
        names = set(term.namespaces)
        chosen = term.namespace_selector
        if chosen is not None:
            for namespace in self._by_namespace:
                if known_only and chosen.requirements and namespace not in self._namespaces:
                    continue
                if selects(chosen, self._namespaces.get(namespace, ())):
                    names.add(namespace)
        return frozenset(names)

    def _select(self, selector: LabelSelector | None, namespaces: frozenset[str]) -> frozenset[int]:
        self._refresh()
        if selector is None:
            return frozenset()
        found = self._known.get((selector, namespaces))
        if found is None:
            found = self._known[selector, namespaces] = frozenset(
                shape
                for namespace in namespaces
                for shape in self._candidates(selector, namespace)
                if all(satisfies(item, self._labels[shape].get(item.key)) for item in selector.requirements)
            )
        return found

    def _candidates(self, selector: LabelSelector, namespace: str) -> Iterable[int]:
        for item in selector.requirements:
            if item.operator == "In":
                return [shape for value in item.values for shape in self._by_label.get((namespace, item.key, value), ())]
        return self._by_namespace.get(namespace, ())

    def _refresh(self) -> None:
        if self._seen == len(self._shapes):
            return
        self._known.clear()
        for index in range(self._seen, len(self._shapes)):
            shape = self._shapes.shapes[index]
            self._by_namespace.setdefault(shape.namespace, []).append(index)
            self._labels.append(dict(shape.labels))
            for key, value in shape.labels:
                self._by_label.setdefault((shape.namespace, key, value), []).append(index)
        self._seen = len(self._shapes)
