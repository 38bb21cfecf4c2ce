"""An index from label keys and values to the things that have them. A selector looks up only the values that it names."""

from collections.abc import Iterable

from reconciler.scheduling.index_sets.index_set import EMPTY, IndexSet
from reconciler.values.label_selector import LabelSelector, Requirement, satisfies

_KEPT_BYTES = 16 << 20
_OF_AN_ENTRY = 200


class LabelIndex:
    """Things by index in the order in which they were added, and which of them a selector selects, as `satisfies` has it.

    Answers are remembered, up to 16 MiB of them.
    """

    def __init__(self) -> None:
        self._size = 0
        self._values: dict[str, dict[str, list[int]]] = {}
        self._known: dict[object, IndexSet] = {}
        self._kept_bytes = 0
        self.looked = 0
        """How many entries were looked at so far."""
        self.all = EMPTY
        """Everything that was added, once `select` was asked."""

    def add(self, labels: Iterable[tuple[str, str]]) -> None:
        """One thing more, with these labels."""
        for key, value in dict(labels).items():
            self._values.setdefault(key, {}).setdefault(value, []).append(self._size)
        self._size += 1
        self._forget()

    def select(self, selector: LabelSelector | None) -> IndexSet:
        """What the selector selects: nothing when there is none, everything when it is empty."""
        if selector is None:
            return EMPTY
        selected = self._known.get(selector)
        return self._kept(selector, self._selected(selector.requirements)) if selected is None else selected

    def _selected(self, requirements: tuple[Requirement, ...]) -> IndexSet:
        self.all = self.all or IndexSet(0, (1 << self._size) - 1)
        selected = self.all
        for requirement in requirements:
            selected = selected & self._holding(requirement)
        return selected

    def _holding(self, requirement: Requirement) -> IndexSet:
        key, values = requirement.key, requirement.values
        match requirement.operator:
            case "In":
                return self._with_values(key, values)
            case "NotIn":
                return self.all - self._with_values(key, values)
            case "Exists":
                return self._with_key(key)
            case "DoesNotExist":
                return self.all - self._with_key(key)
        return self._with_values(key, [value for value in self._values.get(key, ()) if satisfies(requirement, value)])

    def _with_key(self, key: str) -> IndexSet:
        selected = self._known.get(key)
        return self._kept(key, self._with_values(key, self._values.get(key, ()))) if selected is None else selected

    def _with_values(self, key: str, values: Iterable[str]) -> IndexSet:
        having = self._values.get(key)
        if having is None:
            return EMPTY
        indices = [index for value in values for index in having.get(value, ())]
        self.looked += len(indices)
        return IndexSet.of(indices)

    def _kept(self, name: object, selected: IndexSet) -> IndexSet:
        self._kept_bytes += _OF_AN_ENTRY + selected.bits.bit_length() // 8
        if self._kept_bytes > _KEPT_BYTES:
            self._forget()
        self._known[name] = selected
        return selected

    def _forget(self) -> None:
        self._known.clear()
        self._kept_bytes = 0
        self.all = EMPTY
