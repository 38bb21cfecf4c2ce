"""The pods of a live view: rows as a snapshot reads them, which are added, changed and removed."""

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from reconciler.cluster.pods.pod_shaping import ShapeDraft
from reconciler.cluster.snapshots.pod_rows import PodRows
from reconciler.cluster.values.kept_objects import Key
from reconciler.cluster.wire import pod as wire

# Unused forms are dropped once there are this many more than used ones.
_UNUSED_FORMS = 2000


class LivePods(PodRows):
    """Rows with unique names. `add` replaces the row of a known pod."""

    def __init__(self) -> None:
        super().__init__()
        self._row_of: dict[Key, int] = {}

    def add(self, pod: wire.Pod, source: int) -> None:
        """Add or update a pod. Raises `UnreadableError`, and keeps the old row then."""
        super().add(pod, source)
        key = (pod.metadata.namespace, pod.metadata.name)
        last = len(self._name) - 1
        row = self._row_of.setdefault(key, last)
        if row != last:
            self._move_last(row)
        if len(self._drafts) + len(self._traits) > 2 * (len(self._name) + _UNUSED_FORMS):
            self._forget_unused()

    def discard(self, key: Key) -> None:
        """Forget a pod; an unknown one changes nothing."""
        row = self._row_of.pop(key, None)
        if row is None:
            return
        last = len(self._name) - 1
        if row != last:
            self._row_of[self._namespace[last], self._name[last]] = row
        self._move_last(row)

    def row(self, key: Key) -> tuple[object, ...] | None:
        """Everything that is known of one pod, for a later comparison."""
        row = self._row_of.get(key)
        if row is None:
            return None
        return (self._uid[row], self._draft[row], self._trait[row], *(column[row] for column in self._numbers()))

    def drafts(self, numbers: Iterable[int]) -> list[ShapeDraft]:
        """The drafts behind numbers of `add_template`."""
        return [self._drafts[number] for number in numbers]

    @contextmanager
    def with_templates(self, drafts: Iterable[ShapeDraft]) -> Iterator[list[int]]:
        """Numbers of drafts that belong to no pod. They hold inside the `with`, during which no pod may be added."""
        count = len(self._drafts)
        try:
            yield [self.add_template(draft) for draft in drafts]
        finally:
            del self._drafts[count:]

    def _numbers(self) -> "tuple[array[int], ...]":
        return (self._node, self._nominated, self._phase, self._flags, self._created, self._deleted, self._unschedulable)

    def _move_last(self, row: int) -> None:
        """Put the last row where `row` is, and have one row less."""
        for texts in (self._namespace, self._name, self._uid):
            text = texts.pop()
            if row < len(texts):
                texts[row] = text
        for numbers in (self._draft, self._trait, self._source, *self._numbers()):
            number = numbers.pop()
            if row < len(numbers):
                numbers[row] = number

    def _forget_unused(self) -> None:
        """A Job's pods have labels of their own. Without this, a long-running loop would keep the form of every pod ever seen."""
        used = {number: index for index, number in enumerate(dict.fromkeys(self._draft))}
        self._drafts = [self._drafts[number] for number in used]
        self._draft_numbers = {key: used[number] for key, number in self._draft_numbers.items() if number in used}
        self._draft = array("i", [used[number] for number in self._draft])
        used = {number: index for index, number in enumerate(dict.fromkeys(self._trait))}
        self._traits = [self._traits[number] for number in used]
        self._trait_numbers = {key: used[number] for key, number in self._trait_numbers.items() if number in used}
        self._trait = array("i", [used[number] for number in self._trait])
        used = {number: index for index, number in enumerate(dict.fromkeys([*self._node, *self._nominated])) if number >= 0}
        # Numbers of names continue from 0, wherever -1 was among them.
        used = {number: index for index, number in enumerate(used)}
        self._node_names = [self._node_names[number] for number in used]
        self._node_numbers = {name: index for index, name in enumerate(self._node_names)}
        for column in (self._node, self._nominated):
            column[:] = array("i", [used.get(number, -1) for number in column])
        self._texts = {text: text for text in self._namespace}
