"""The VM table of the Azure public data set of 2017: which machines were asked for, from when until when.

SOURCE: `AzurePublicDatasetV1.md` in Azure/AzurePublicDataset (CC-BY-4.0; Cortez et al., SOSP 2017) names what is in it. There is
no heading in `vmtable.csv.gz`, and a line has eleven columns. They are VM, subscription, deployment, created, deleted, three
about CPU use, category, cores and memory in GB. Times are seconds from 0 on, in steps of five minutes.

A machine is a pod that requests its cores and its memory. The data set does not say its dates.
"""

from collections.abc import Iterable, Iterator

from reconciler.cluster.pods.pod import Owner, PodShape, PodTraits
from reconciler.cluster.values.resources import Resources
from reconciler.importers.demand.lifetimes import MOST_PODS, DemandImportError, Imported, Lifetime, Line, trace_of
from reconciler.simulation.replays.trace import DemandSource
from reconciler.values.plural import count_text
from reconciler.values.whole_number import whole_number

NAMESPACE = "azure"
BEGIN_SECONDS = 1_483_315_200
"""2017-01-02T00:00:00Z, a Monday: second 0 of the table."""
_COLUMNS = 11
_CREATED, _DELETED, _CATEGORY, _CORES, _MEMORY = 3, 4, 8, 9, 10
_MOST_CORES, _MOST_MEMORY_GB = 1_000, 100_000
_LONGEST_SECONDS = 400 * 86_400


def read_azure_vms(name: str, lines: Iterable[Line]) -> Imported:
    """The demand of a VM table. Raises `DemandImportError`."""
    table = _Table()
    found = list(table.lifetimes(lines))
    if not found:
        raise DemandImportError(1, "no line with a machine", "give vmtable.csv.gz or a part of its lines")
    trace = trace_of(name, found, BEGIN_SECONDS + table.last)
    instants = count_text(
        table.instants, "machine that was deleted as it was created", "machines that were deleted as they were created"
    )
    return Imported(trace=trace, left_out=(instants,) if table.instants else ())


class _Table:
    def __init__(self) -> None:
        self._sources: dict[tuple[str, int, int], DemandSource] = {}
        self.last = 0
        self.instants = 0

    def lifetimes(self, lines: Iterable[Line]) -> Iterator[Lifetime]:
        for pods, (number, line) in enumerate(lines, 1):
            if pods > MOST_PODS:
                raise DemandImportError(number, f"more than {MOST_PODS} machines", "import a part of the lines")
            cells = line.rstrip(b"\r\n").split(b",")
            if len(cells) != _COLUMNS:
                raise DemandImportError(number, f"{len(cells)} columns, but a VM table has {_COLUMNS}", "give vmtable.csv.gz")
            created, deleted = (_whole(number, cells, at, _LONGEST_SECONDS) for at in (_CREATED, _DELETED))
            if deleted < created:
                raise DemandImportError(number, f"deleted at {deleted}, before it was created", "", _column(cells, _DELETED))
            self.last = max(self.last, deleted)
            self.instants += created == deleted
            kind = cells[_CATEGORY].decode("ascii", "replace")
            cores = 1000 * _whole(number, cells, _CORES, _MOST_CORES)
            source = self._source(kind, cores, _memory_bytes(number, cells))
            yield Lifetime(source, BEGIN_SECONDS + created, BEGIN_SECONDS + deleted)

    def _source(self, category: str, cpu_milli: int, memory_bytes: int) -> DemandSource:
        """Machines of one size and category; work that does not mind delays is that of Jobs."""
        batch = category == "Delay-insensitive"
        key = ("batch" if batch else "service", cpu_milli, memory_bytes)
        known = self._sources.get(key)
        if known is None:
            owner = f"{key[0]}-{cpu_milli // 1000}-{memory_bytes >> 20}"
            shape = PodShape(
                namespace=NAMESPACE,
                labels=(("app", owner),),
                requests=Resources(cpu_milli=cpu_milli, memory_bytes=memory_bytes, pods=1),
            )
            controller = Owner("batch", "Job", owner) if batch else Owner("apps", "ReplicaSet", owner)
            known = DemandSource(shape=shape, traits=PodTraits(namespace=NAMESPACE, controller=controller))
            self._sources[key] = known
        return known


def _whole(number: int, cells: list[bytes], at: int, most: int) -> int:
    text = cells[at].decode("ascii", "replace").strip()
    value = whole_number(text) if len(text) < 12 else None
    if value is None or not 0 <= value <= most:
        raise DemandImportError(number, f"{text[:40]!r} is not a number up to {most}", "", _column(cells, at))
    return value


def _memory_bytes(number: int, cells: list[bytes]) -> int:
    """1.75 GB are GiB, as in the sizes of the machines that the table is about."""
    text = cells[_MEMORY].decode("ascii", "replace").strip()
    whole, point, rest = text.partition(".")
    parts = [whole_number(part) if len(part) < 7 else None for part in (whole, rest if point else "0")]
    millionths = -1 if parts[0] is None or parts[1] is None else parts[0] * 1_000_000 + int(rest.ljust(6, "0"))
    if not 0 < millionths <= _MOST_MEMORY_GB * 1_000_000:
        raise DemandImportError(number, f"{text[:40]!r} is not an amount of memory in GB", "", _column(cells, _MEMORY))
    return (millionths << 30) // 1_000_000


def _column(cells: list[bytes], at: int) -> int:
    return 1 + sum(len(cell) + 1 for cell in cells[:at])
