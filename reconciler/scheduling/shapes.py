"""The pod shapes of a scheduling state: what each requests as numbers, and what it demands of a node's labels and taints."""

from array import array
from collections.abc import Callable, Sequence

import msgspec

from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.scheduling.columns import ResourceColumns, widened
from reconciler.scheduling.node_affinity import NodeSelector, Terms

# The steps that it takes to find out where pods can run, by the shape whose pods ask, whatever is written in them.

BYTES_A_STEP = 16
"""So much of a pod is read in one step, which is about a hundred nanoseconds."""

_FREE_BYTES = 1024
"""So much is in the step that a question costs in any case: most pods have less written in them."""

_READ_TO_JUDGE = 4


class Effort:
    """Steps by shape until they are taken. Before an answer, `ask` names the shape. The cost of the answer counts for that shape,
    wherever it is spent.

    The measure of a shape is all of its content, as bytes. So no field of a pod is free by oversight.
    """

    __slots__ = ("_encode", "_looks", "_shapes", "_steps", "_written", "asking")

    def __init__(self, shapes: Callable[[int], PodShape]) -> None:
        """`shapes` gives a shape by index."""
        self._shapes = shapes
        self._encode = msgspec.msgpack.Encoder().encode
        self._written: dict[int, int] = {}
        self._looks: dict[int, int] = {}
        self._steps: dict[int, int] = {}
        self.asking = -1
        """The shape that asks; below zero: none does, and what is spent is for nobody."""

    def ask(self, shape: int) -> None:
        """The next steps are for this shape, and one of them is to read all of it."""
        self.asking = shape
        self._looks[shape] = self._looks.get(shape, 0) + 1

    def judge(self, times: int = 1) -> None:
        """What the shape that asks demands of a node was judged so many times. That stops at the first value that decides, so
        that a part of what is written is counted."""
        if times and self.asking >= 0:
            self.add(times * (self.written(self.asking) // _READ_TO_JUDGE))

    def add(self, steps: int) -> None:
        """So many steps more for the shape that asks."""
        if steps:
            self._steps[self.asking] = self._steps.get(self.asking, 0) + steps

    def spend(self, shape: int, steps: int) -> None:
        """So many steps for a shape, whoever asks."""
        if steps:
            self._steps[shape] = self._steps.get(shape, 0) + steps

    def read(self, shape: int, value: object) -> None:
        """All that is written in pods of a shape, and something else besides, is read once."""
        self.ask(shape)
        self.spend(shape, max(0, len(self._encode(value)) - _FREE_BYTES) // BYTES_A_STEP)

    def written(self, shape: int) -> int:
        """The steps that it takes to read all that is written in a shape, beyond what every question costs."""
        steps = self._written.get(shape)
        if steps is None:
            size = len(self._encode(self._shapes(shape)))
            steps = self._written[shape] = max(0, size - _FREE_BYTES) // BYTES_A_STEP
        return steps

    def take(self) -> Sequence[tuple[int, int]]:
        """(shape, steps) since the last time."""
        if not self._looks and not self._steps:
            return ()
        looks, self._looks = self._looks, {}
        steps, self._steps = self._steps, {}
        taken = [(shape, times * written) for shape, times in looks.items() if shape >= 0 and (written := self.written(shape))]
        taken += [pair for pair in steps.items() if pair[0] >= 0]
        return taken


class Demand(msgspec.Struct, frozen=True):
    """What NodeUnschedulable, TaintToleration, NodeAffinity and NodeDeclaredFeatures look at; many shapes share one."""

    tolerations: tuple[Toleration, ...] = ()
    selector: NodeSelector = ()
    terms: Terms = None
    features: tuple[str, ...] = ()


class DemandTable:
    """Demands by index, each once."""

    __slots__ = ("_index", "values")

    def __init__(self) -> None:
        self.values: list[Demand] = []
        self._index: dict[Demand, int] = {}

    def index(self, demand: Demand) -> int:
        """The index of a demand."""
        index = self._index.setdefault(demand, len(self.values))
        if index == len(self.values):
            self.values.append(demand)
        return index


# The requested columns and their amounts, none of them zero.
Need = tuple["array[int]", "array[int]"]


class ShapeTable:
    """Pod shapes by index, those of the World first. `requests` holds `columns.width` numbers a shape, `demand` an index of
    `demands`; `effort` counts what is spent on each."""

    __slots__ = ("_by_value", "_features", "_needs", "_unknown", "columns", "demand", "demands", "effort", "requests", "shapes")

    def __init__(self, shapes: Sequence[PodShape], columns: ResourceColumns, *, declared_features: bool = True) -> None:
        """`declared_features`: nodes must declare what pods need."""
        self.columns = columns
        self._features = declared_features
        self.shapes: list[PodShape] = list(shapes)
        self.effort = Effort(self.shapes.__getitem__)
        # By name of a resource that no node has, the shapes that request it.
        self._unknown: dict[str, list[int]] = {}
        for index, shape in enumerate(self.shapes):
            self._note_unknown(index, shape)
        self.requests = array("q", b"".join([self._row(shape).tobytes() for shape in self.shapes]))
        self._needs: list[Need | None] = [None] * len(self.shapes)
        self._by_value: dict[PodShape, int] = {}
        self.demands = DemandTable()
        self.demand = array("i", [self._demand_index(shape) for shape in self.shapes])

    def __len__(self) -> int:
        return len(self.shapes)

    def index(self, shape: PodShape) -> int | None:
        """The index of an equal shape, if there is one."""
        if not self._by_value:
            self._by_value = {known: index for index, known in reversed(list(enumerate(self.shapes)))}
        return self._by_value.get(shape)

    def append(self, shape: PodShape) -> int:
        """A shape that is not there yet; its index."""
        index = len(self.shapes)
        self._note_unknown(index, shape)
        self.shapes.append(shape)
        self.requests.extend(self._row(shape))
        self._needs.append(None)
        self.demand.append(self._demand_index(shape))
        if self._by_value:
            self._by_value[shape] = index
        return index

    def widen(self, old: int) -> dict[int, "array[int]"]:
        """Bring rows of `old` numbers to the width that `columns` has now. By shape how much larger its row has become, where it
        requests what no node had so far."""
        width = self.columns.width
        self.requests = widened(self.requests, old, width)
        changed = {index for name in self.columns.names[old:] for index in self._unknown.pop(name, ())}
        growth: dict[int, array[int]] = {}
        for index in sorted(changed):
            row = self._row(self.shapes[index])
            growth[index] = array("q", [now - before for now, before in zip(row, self.row(index), strict=True)])
            self.requests[index * width : (index + 1) * width] = row
            self._needs[index] = None
        return growth

    def row(self, shape: int) -> "array[int]":
        """What one pod requests, by column."""
        width = self.columns.width
        return self.requests[shape * width : (shape + 1) * width]

    def need(self, shape: int) -> Need:
        """The requests above zero."""
        need = self._needs[shape]
        if need is None:
            row = self.row(shape)
            columns = [column for column, amount in enumerate(row) if amount > 0]
            need = self._needs[shape] = (array("i", columns), array("q", [row[column] for column in columns]))
        return need

    def _note_unknown(self, index: int, shape: PodShape) -> None:
        if shape.requests.extended:
            for name, _ in self.columns.unknown(shape.requests):
                self._unknown.setdefault(name, []).append(index)

    def _row(self, shape: PodShape) -> "array[int]":
        row = self.columns.row(shape.requests)
        row[0] = 1
        return row

    def _demand_index(self, shape: PodShape) -> int:
        features = shape.required_features if self._features else ()
        return self.demands.index(Demand(shape.tolerations, shape.node_selector, shape.required_terms, features))
