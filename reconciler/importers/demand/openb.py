"""The table of pods of the openb trace: Alibaba's GPU cluster of 2023, with the instants at which pods came and went.

SOURCE: `openb_pod_list_default.csv` of the cluster trace gpu-v2023 in alibaba/clusterdata. The heading is `COLUMNS`. Times are
seconds from 0 on. A card is 1,000 of the resource `example.com/gpu-milli`, as in `examples/make_openb.py`. Shares of one card are
amounts. Which models of cards a pod accepts is left out.
"""

from collections.abc import Iterable, Iterator

from reconciler.cluster.pods.pod import Owner, PodShape, PodTraits
from reconciler.cluster.values.resources import Resources
from reconciler.importers.demand.lifetimes import MOST_PODS, DemandImportError, Imported, Lifetime, Line, trace_of
from reconciler.simulation.replays.trace import DemandSource
from reconciler.values.plural import count_text
from reconciler.values.whole_number import whole_number

COLUMNS = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
NAMESPACE, GPU = "openb", "example.com/gpu-milli"
BEGIN_SECONDS = 1_767_225_600
"""2026-01-01T00:00:00Z: second 0 of the table, which says no dates."""
_CPU, _MEMORY, _GPUS, _GPU_MILLI, _SPEC, _CREATED, _DELETED = 1, 2, 3, 4, 5, 8, 9
_MOST = 10**9


def read_openb(name: str, lines: Iterable[Line]) -> Imported:
    """The demand of a table of pods. Raises `DemandImportError`."""
    table = _Table()
    found = list(table.lifetimes(lines))
    picky = count_text(
        table.picky,
        "pod that accepts some models of cards: here it takes any",
        "pods that accept some models of cards: here each takes any",
    )
    return Imported(trace=trace_of(name, found, BEGIN_SECONDS + table.last), left_out=(picky,) if table.picky else ())


class _Table:
    def __init__(self) -> None:
        self._sources: dict[tuple[int, ...], DemandSource] = {}
        self.last = 0
        self.picky = 0

    def lifetimes(self, lines: Iterable[Line]) -> Iterator[Lifetime]:
        for pods, (number, line) in enumerate(lines):
            text = line.rstrip(b"\r\n")
            if text == COLUMNS:
                continue
            if pods > MOST_PODS:
                raise DemandImportError(number, f"more than {MOST_PODS} pods", "import a part of the lines")
            cells = text.decode("ascii", "replace").split(",")
            if len(cells) != COLUMNS.count(b",") + 1:
                raise DemandImportError(number, f"{len(cells)} columns, but a table of pods has 11", "give the file as it is")
            wanted = (_CPU, _MEMORY, _GPUS, _GPU_MILLI, _CREATED)
            cpu, memory, gpus, gpu_milli, created = (_whole(number, cells, at) for at in wanted)
            deleted = _whole(number, cells, _DELETED) if cells[_DELETED] else None
            self.last = max(self.last, created, deleted or 0)
            self.picky += bool(cells[_SPEC])
            end = None if deleted is None else BEGIN_SECONDS + deleted
            yield Lifetime(self._source(cpu, memory, gpus * gpu_milli), BEGIN_SECONDS + created, end)

    def _source(self, cpu_milli: int, memory_mib: int, gpu_milli: int) -> DemandSource:
        key = (cpu_milli, memory_mib, gpu_milli)
        known = self._sources.get(key)
        if known is None:
            owner = "-".join(map(str, key))
            extended = ((GPU, gpu_milli),) if gpu_milli else ()
            requests = Resources(cpu_milli=cpu_milli, memory_bytes=memory_mib << 20, pods=1, extended=extended)
            shape = PodShape(namespace=NAMESPACE, labels=(("app", owner),), requests=requests)
            traits = PodTraits(namespace=NAMESPACE, controller=Owner("apps", "ReplicaSet", owner))
            known = self._sources[key] = DemandSource(shape=shape, traits=traits)
        return known


def _whole(number: int, cells: list[str], at: int) -> int:
    value = whole_number(cells[at]) if len(cells[at]) < 12 else None
    if value is None or value > _MOST:
        column = 1 + sum(len(cell) + 1 for cell in cells[:at])
        raise DemandImportError(number, f"{cells[at][:40]!r} is not a number up to {_MOST}", "", column)
    return value
