"""The pod shapes of a scheduling state: what each requests as numbers, and what it demands of a node's labels and taints."""

from array import array
from collections.abc import Sequence

import msgspec

from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.scheduling.columns import ResourceColumns, widened
from reconciler.scheduling.effort import Effort
from reconciler.scheduling.node_affinity import NodeSelector, Terms

COMPARING = ("Gt", "Lt")
"""Operators of tolerations that compare the value of a taint as a number."""


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

    __slots__ = (
        "_by_value",
        "_compares",
        "_features",
        "_needs",
        "_unknown",
        "columns",
        "demand",
        "demands",
        "effort",
        "requests",
        "shapes",
    )

    def __init__(
        self,
        shapes: Sequence[PodShape],
        columns: ResourceColumns,
        *,
        declared_features: bool = True,
        compares_taints: bool = False,
    ) -> None:
        """For `declared_features` and `compares_taints` see `Release`."""
        self.columns = columns
        self._features = declared_features
        self._compares = compares_taints
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

    def tolerations(self, shape: int) -> tuple[Toleration, ...]:
        """Those that may match a taint."""
        return self.demands.values[self.demand[shape]].tolerations

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
        tolerations = shape.tolerations
        if not self._compares and any(one.operator in COMPARING for one in tolerations):
            tolerations = tuple(one for one in tolerations if one.operator not in COMPARING)
        return self.demands.index(Demand(tolerations, shape.node_selector, shape.required_terms, features))
