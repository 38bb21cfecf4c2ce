"""The pods of a World as columns: 8 bytes a number instead of an object a pod, and ready for kernels."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice
from operator import and_, lt

from reconciler.cluster.pods.pod import Pod, PodPhase

_PHASES = tuple(PodPhase)
_PHASE_CODES = {phase: code for code, phase in enumerate(_PHASES)}
FINISHED_PHASES = (_PHASE_CODES[PodPhase.SUCCEEDED], _PHASE_CODES[PodPhase.FAILED])
_UNFINISHED = bytes(code not in FINISHED_PHASES for code in range(256))
_READY, _GATED = 1, 2


def phase_code(phase: PodPhase) -> int:
    """How the column `phase` writes a phase."""
    return _PHASE_CODES[phase]


def pod_flags(*, ready: bool, gated: bool) -> int:
    """How the column `flags` writes both."""
    return (_READY if ready else 0) | (_GATED if gated else 0)


def phase_of(code: int) -> PodPhase:
    """The phase behind an entry of the column `phase`."""
    return _PHASES[code]


def is_ready(flags: int) -> bool:
    """What an entry of the column `flags` says."""
    return bool(flags & _READY)


def is_gated(flags: int) -> bool:
    """What an entry of the column `flags` says."""
    return bool(flags & _GATED)


class PodTable:
    """Immutable by agreement: nobody writes to a column after construction.

    Columns of numbers are `array`s of equal length: `shape`, `traits`, `node`, `nominated` (C int), `phase`, `flags`
    (unsigned char), `created_seconds`, `deletion_seconds`, `unschedulable_seconds` (64 bit). A row view is a `Pod`.
    """

    __slots__ = (
        "created_seconds",
        "deletion_seconds",
        "flags",
        "name",
        "namespace",
        "node",
        "nominated",
        "phase",
        "shape",
        "traits",
        "uid",
        "unknown_node",
        "unschedulable_seconds",
    )

    def __init__(self, rows: Iterable[Pod] = ()) -> None:
        self.namespace: list[str] = []
        self.name: list[str] = []
        self.uid: list[str] = []
        self.shape = array("i")
        self.traits = array("i")
        self.node = array("i")
        self.nominated = array("i")
        self.phase = array("B")
        self.flags = array("B")
        self.created_seconds = array("q")
        self.deletion_seconds = array("q")
        self.unschedulable_seconds = array("q")
        self.unknown_node: dict[int, str] = {}
        for row in rows:
            if row.unknown_node:
                self.unknown_node[len(self.name)] = row.unknown_node
            self.namespace.append(row.namespace)
            self.name.append(row.name)
            self.uid.append(row.uid)
            self.shape.append(row.shape)
            self.traits.append(row.traits)
            self.node.append(row.node)
            self.nominated.append(row.nominated)
            self.phase.append(_PHASE_CODES[row.phase])
            self.flags.append(pod_flags(ready=row.ready, gated=row.gated))
            self.created_seconds.append(row.created_seconds)
            self.deletion_seconds.append(row.deletion_seconds)
            self.unschedulable_seconds.append(row.unschedulable_seconds)

    @staticmethod
    def of_columns(
        *,
        namespace: list[str],
        name: list[str],
        uid: list[str],
        shape: "array[int]",
        traits: "array[int]",
        node: "array[int]",
        nominated: "array[int]",
        phase: "array[int]",
        flags: "array[int]",
        created_seconds: "array[int]",
        deletion_seconds: "array[int]",
        unschedulable_seconds: "array[int]",
        unknown_node: dict[int, str],
    ) -> "PodTable":
        """A table that takes over columns as they are, without an object a row."""
        table = PodTable()
        table.namespace, table.name, table.uid = namespace, name, uid
        table.shape, table.traits, table.node, table.nominated = shape, traits, node, nominated
        table.phase, table.flags = phase, flags
        table.created_seconds, table.deletion_seconds = created_seconds, deletion_seconds
        table.unschedulable_seconds, table.unknown_node = unschedulable_seconds, unknown_node
        return table

    def with_columns(self, **changed: "array[int]") -> "PodTable":
        """The same pods with other columns; the remaining ones are shared."""
        return PodTable.of_columns(**{name: getattr(self, name) for name in self.__slots__} | changed)

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, index: int) -> Pod:
        flags = self.flags[index]
        return Pod(
            namespace=self.namespace[index],
            name=self.name[index],
            uid=self.uid[index],
            shape=self.shape[index],
            traits=self.traits[index],
            node=self.node[index],
            phase=_PHASES[self.phase[index]],
            ready=bool(flags & _READY),
            created_seconds=self.created_seconds[index],
            deletion_seconds=self.deletion_seconds[index],
            unschedulable_seconds=self.unschedulable_seconds[index],
            gated=bool(flags & _GATED),
            nominated=self.nominated[index],
            unknown_node=self.unknown_node.get(index, ""),
        )

    def __iter__(self) -> Iterator[Pod]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PodTable):
            return NotImplemented
        return all(getattr(self, column) == getattr(other, column) for column in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # compared by value, like the lists that it holds

    def in_order(self) -> bool:
        """Whether rows are in order of namespace and name, none of them twice."""
        following = zip(islice(self.namespace, 1, None), islice(self.name, 1, None), strict=True)
        return all(map(lt, zip(self.namespace, self.name, strict=True), following))

    def place(self, key: tuple[str, str]) -> int:
        """Of a table in order: the first row that does not come before a namespace and name."""
        namespace, name = key
        first = bisect_left(self.namespace, namespace)
        return bisect_left(self.name, name, first, bisect_right(self.namespace, namespace, first))

    def row(self, key: tuple[str, str]) -> int | None:
        """Of a table in order: the row of a pod by namespace and name; None if there is none."""
        row = self.place(key)
        return row if row < len(self) and (self.namespace[row], self.name[row]) == key else None

    def key(self, index: int) -> str:
        """`namespace/name` of one row."""
        return f"{self.namespace[index]}/{self.name[index]}"

    def keys(self, rows: Sequence[int]) -> list[str]:
        """`key` of many rows."""
        columns: Iterable[Iterable[str]] = (map(column.__getitem__, rows) for column in (self.namespace, self.name))
        if isinstance(rows, range) and rows.step == 1:
            columns = (column[rows.start : rows.stop] for column in (self.namespace, self.name))
        return list(map("/".join, zip(*columns, strict=True)))

    def finished(self, index: int) -> bool:
        """Succeeded or Failed: holds no resources any more."""
        return self.phase[index] in FINISHED_PHASES

    def running(self) -> list[int]:
        """Rows with a node of the World that are not finished, in order."""
        columns = zip(self.node, self.phase, strict=True)
        return [index for index, (node, phase) in enumerate(columns) if node >= 0 and phase not in FINISHED_PHASES]

    def nodes_running(self, shapes: bytes) -> frozenset[int]:
        """Nodes with a pod of `running` whose shape is flagged."""
        # By columns: there are a hundred times as many pods as nodes.
        unfinished = bytes(self.phase).translate(_UNFINISHED)
        nodes = frozenset(compress(self.node, map(and_, unfinished, map(shapes.__getitem__, self.shape))))
        return frozenset(node for node in nodes if node >= 0)

    def gated(self, index: int) -> bool:
        """Held back by scheduling gates."""
        return bool(self.flags[index] & _GATED)

    def pending(self) -> list[int]:
        """Rows without a node that are neither finished, terminating nor gated, in order."""
        columns = zip(self.node, self.deletion_seconds, self.phase, self.flags, strict=True)
        rows = [
            index
            for index, (node, deleted, phase, flags) in enumerate(columns)
            if node < 0 and not deleted and phase not in FINISHED_PHASES and not flags & _GATED
        ]
        return [index for index in rows if index not in self.unknown_node] if self.unknown_node else rows
