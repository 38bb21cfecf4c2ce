"""Which resource stands in which column of the rows of numbers that the kernels work on."""

from array import array
from collections.abc import Callable, Iterable, Sequence

from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources

# Sums of amounts stay far below 64 bits when no single one is larger than this (4 PiB), however many there are.
SAFE_AMOUNT = 1 << 52
# With sums that are known to stay below it, single amounts may be as large as this (1 EiB).
SAFE_SUM = 1 << 60
ENDLESS = 2 * SAFE_SUM
"""More than all pods can request together."""


NOWHERE = "resources that no node has"
CPU_COLUMN, MEMORY_COLUMN, NOWHERE_COLUMN = 1, 2, 4


class ResourceColumns:
    """Resource names in the order of their columns. The first five are fixed; extended ones follow as nodes have them. `width` is
    their number: the numbers in a row. Amounts above `largest` count as `largest`.

    Resources that pods request but no node has share one column: the number of such resources. A column for each name in any pod
    would take room in the row of every node and every other pod.
    """

    __slots__ = ("_index", "_largest", "_zeros", "names", "width")

    def __init__(self, largest: int = SAFE_AMOUNT) -> None:
        self._largest = largest
        self.names: list[str] = [PODS, CPU, MEMORY, EPHEMERAL_STORAGE, NOWHERE]
        self._index: dict[str, int] = {name: index for index, name in enumerate(self.names)}
        self._zeros: tuple[int, ...] = (0,)
        self.width = len(self.names)

    def learn(self, resources: Resources) -> bool:
        """Give every extended resource of a node a column; True when one is new (rows must be widened then)."""
        return self.learn_names(name for name, _ in resources.extended)

    def learn_names(self, names: Iterable[str]) -> bool:
        """Give each of these extended resources a column; True when one is new."""
        before = self.width
        for name in names:
            if name not in self._index:
                self._index[name] = len(self.names)
                self.names.append(name)
        self._zeros = (0,) * (len(self.names) - 4)
        self.width = len(self.names)
        return self.width > before

    def row(self, resources: Resources) -> "array[int]":
        """The amounts of known resources as a row."""
        fixed = (resources.pods, resources.cpu_milli, resources.memory_bytes, resources.ephemeral_bytes)
        largest = self._largest
        if max(fixed) > largest:
            fixed = (min(fixed[0], largest), min(fixed[1], largest), min(fixed[2], largest), min(fixed[3], largest))
        row = array("q", (*fixed, *self._zeros))
        for name, amount in resources.extended:
            column = self._index.get(name)
            if column is not None:
                row[column] = min(amount, largest)
            elif amount:
                row[NOWHERE_COLUMN] += 1
        return row

    def index(self, name: str) -> int:
        """The column of a known resource."""
        return self._index[name]

    def unknown(self, resources: Resources) -> tuple[tuple[str, int], ...]:
        """Those that no node has, with their amounts."""
        return tuple((name, amount) for name, amount in resources.extended if amount and name not in self._index)

    def resources(self, row: "array[int]") -> Resources:
        """A row as a vector."""
        extended = tuple(sorted((name, row[index]) for index, name in enumerate(self.names) if index >= 4 and row[index]))
        return Resources(pods=row[0], cpu_milli=row[1], memory_bytes=row[2], ephemeral_bytes=row[3], extended=extended)


def largest_amount(shapes: Sequence[Resources], counts: Callable[[], Iterable[tuple[int, int]]]) -> int:
    """Up to which amount rows can be exact: `shapes` are what is requested, `counts` says how often each is (index, pods).

    Pods of more than 4 PiB are so rare that they are counted only when there are some.
    """
    if all(_top(resources) <= SAFE_AMOUNT for resources in shapes):
        return SAFE_SUM
    total = sum(_top(shapes[index]) * pods for index, pods in counts())
    return SAFE_SUM if total <= SAFE_SUM else SAFE_AMOUNT


def _top(resources: Resources) -> int:
    fixed = max(resources.cpu_milli, resources.memory_bytes, resources.ephemeral_bytes)
    return max(fixed, max((amount for _, amount in resources.extended), default=0))


def widened(rows: "array[int]", old: int, new: int) -> "array[int]":
    """Rows of `old` numbers as rows of `new` ones, zeros at the end of each."""
    wide = array("q", bytes(8 * (len(rows) // old) * new))
    for column in range(old):
        wide[column::new] = rows[column::old]
    return wide
