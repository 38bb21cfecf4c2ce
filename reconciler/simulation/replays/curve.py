"""Capacity curves: CSV lines with the demand at each instant, as pods of one size.

Comments that begin with `# pod` describe the pods: first those of all curves, then those of one.

    # Any comment.
    # pod: cpu=1 memory=2Gi
    # pod web: cpu=500m memory=1Gi spread=zone toleration=tier selector=pool=general priority=0 kind=Job
    time,cpu:web,pods:batch
    2026-11-02T00:00:00Z,129.6,4
    2026-11-02T00:05:00Z,244.8,4

Times ascend. They are RFC 3339, `2026-11-02 00:05:00` (UTC), or whole seconds. A value holds until the next line, and the curve
ends one step after its last line. `pods` is a number of pods. `cpu` is in cores and `memory` an amount; whole pods cover each.
`nodes` is a number of pods that share no node with each other. The name after the colon distinguishes curves. Without a heading,
the only value is `cpu`, which is the form of public capacity data sets.
"""

import re
from collections.abc import Iterator

import msgspec

from reconciler.cluster.pods.pod import AffinityTerm, Owner, PodShape, PodTraits, Toleration
from reconciler.cluster.values.quantity import QuantityError, milli, whole
from reconciler.cluster.values.resources import Resources
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.label_selector import LabelSelector, Requirement
from reconciler.values.whole_number import whole_number

NAMESPACE = "replay"
MOST_LINES = 2_000_000
MOST_PODS = 200_000
_UNITS = ("pods", "cpu", "memory", "nodes")
_POD_LINE = re.compile(r"#\s*pod(?:\s+([a-z0-9][a-z0-9-]*))?\s*:(.*)")
_COLUMN = re.compile(r"(pods|cpu|memory|nodes)(?::([a-z0-9](?:[a-z0-9-]{0,40}[a-z0-9])?))?")
_PLAIN_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
_DEFAULT_STEP_SECONDS = 300
_API_GROUPS = {"Job": "batch", "ReplicaSet": "apps"}


class TraceError(ValueError):
    """A trace that cannot be read: `line` and `column` from 1, `hint` what to write instead."""

    def __init__(self, line: int, column: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.hint = hint


class _PodSize(msgspec.Struct, frozen=True, kw_only=True):
    """What the pods of a curve are like."""

    cpu_milli: int = 1000
    memory_bytes: int = 2 << 30
    tolerations: tuple[str, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()
    priority: int = 0
    kind: str = "ReplicaSet"
    zone_spread: bool = False


class _Curve(msgspec.Struct, frozen=True):
    """One column: unit, name of the workload, place in the line."""

    unit: str
    name: str
    at: int


def read_curve(name: str, text: str, every_seconds: int = 0) -> Trace:
    """The trace of a capacity curve. `every_seconds` above 0 takes the largest value of each span of that length, so that
    peaks stay. Raises `TraceError`."""
    sizes: dict[str, list[tuple[int, int, str]]] = {}
    curves: list[_Curve] = []
    times: list[int] = []
    values: list[list[int]] = []
    described: dict[str, _PodSize] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip().removeprefix("\ufeff")
        if number > MOST_LINES:
            raise TraceError(number, 1, f"more than {MOST_LINES} lines", "make the steps of the trace longer")
        if stripped.startswith("#"):
            match = _POD_LINE.fullmatch(stripped)
            if match is not None:
                if times:
                    raise TraceError(number, 1, "pods must be described above the first value", "move the line up")
                sizes.setdefault(match[1] or "", []).append((number, line.index(":") + 2, match[2]))
            continue
        if not stripped:
            continue
        cells = line.split(",")
        if not curves:
            curves, heading = _columns(number, cells)
            described = _sizes(sizes, curves)
            values = [[] for _ in curves]
            if heading:
                continue
        if len(cells) != len(curves) + 1:
            raise TraceError(
                number, 1, f"{len(cells)} values, but the heading has {len(curves) + 1}", "write one value per column"
            )
        times.append(_time(number, cells[0], times[-1] if times else None))
        for curve, column in zip(curves, values, strict=True):
            column.append(_pods(number, cells, curve, described[curve.name]))
    if not times:
        raise TraceError(1, 1, "no line with a time and a value", "write `time,cpu` and below it lines such as 0,12.5")
    return _trace(name, curves, described, times, values, every_seconds)


def _columns(number: int, cells: list[str]) -> tuple[list[_Curve], bool]:
    """The curves, and whether this line is the heading."""
    if cells[0].strip().lower() not in ("time", "timestamp"):
        if len(cells) != 2:
            raise TraceError(number, 1, "no heading, and not two columns", "write a heading such as time,cpu:web,pods:batch")
        return [_Curve("cpu", "demand", 1)], False
    curves: list[_Curve] = []
    for at, cell in enumerate(cells[1:], 1):
        match = _COLUMN.fullmatch(cell.strip())
        if match is None:
            hint = f"write one of the units {', '.join(_UNITS)}. To tell several apart, add a name after a colon: cpu:web"
            raise TraceError(number, _column_of(cells, at), f"unknown column {cell.strip()[:40]!r}", hint)
        name = match[2] or "demand"
        if any(curve.name == name for curve in curves):
            hint = "give each a name: cpu:web,cpu:api"
            raise TraceError(number, _column_of(cells, at), f"two curves have the name {name!r}", hint)
        curves.append(_Curve(match[1], name, at))
    if not curves:
        raise TraceError(number, 1, "the heading has no value column", "write for example time,cpu")
    return curves, True


def _sizes(lines: dict[str, list[tuple[int, int, str]]], curves: list[_Curve]) -> dict[str, _PodSize]:
    known = {curve.name for curve in curves}
    for name, entries in lines.items():
        if name and name not in known:
            number, column, _ = entries[0]
            raise TraceError(number, column, f"unknown curve {name!r}", f"write one of {', '.join(sorted(known))}")
    general = _size(_PodSize(), lines.get("", []))
    return {name: _size(general, lines.get(name, [])) for name in known}


def _size(size: _PodSize, lines: list[tuple[int, int, str]]) -> _PodSize:
    for number, column, text in lines:
        for word in text.split():
            key, _, value = word.partition("=")
            try:
                size = _with(size, key, value)
            except (QuantityError, ValueError) as error:
                hint = "cpu=500m memory=1Gi toleration=KEY selector=LABEL=VALUE priority=0 kind=ReplicaSet|Job spread=zone"
                raise TraceError(number, column + text.index(word), f"{word[:60]!r}: {error}", hint) from None
    return size


def _with(size: _PodSize, key: str, value: str) -> _PodSize:
    match key:
        case "cpu":
            return msgspec.structs.replace(size, cpu_milli=_above_zero(milli(value)))
        case "memory":
            return msgspec.structs.replace(size, memory_bytes=_above_zero(whole(value)))
        case "toleration":
            return msgspec.structs.replace(size, tolerations=tuple(sorted({*size.tolerations, value})))
        case "selector":
            label, separator, wanted = value.partition("=")
            if not separator:
                raise ValueError("write a selector as LABEL=VALUE")
            return msgspec.structs.replace(size, selector=tuple(sorted({**dict(size.selector), label: wanted}.items())))
        case "priority":
            return msgspec.structs.replace(size, priority=int(value))
        case "kind" if value in _API_GROUPS:
            return msgspec.structs.replace(size, kind=value)
        case "spread" if value == "zone":
            return msgspec.structs.replace(size, zone_spread=True)
        case _:
            raise ValueError("not known")


def _above_zero(amount: int) -> int:
    if amount <= 0:
        raise ValueError("must be above zero")
    return amount


def _time(number: int, cell: str, before: int | None) -> int:
    text = cell.strip()
    try:
        if _PLAIN_TIME.fullmatch(text):
            seconds = _utc(text)
        else:
            plain = whole_number(text) if len(text) <= 11 else None
            seconds = parse_instant(text) if plain is None else plain
    except ValueError as error:
        hint = "write 2026-11-02T00:05:00Z, 2026-11-02 00:05:00 (UTC) or whole seconds"
        raise TraceError(number, 1, str(error), hint) from None
    if before is not None and seconds <= before:
        raise TraceError(number, 1, f"{text} is not after the previous line", "times must ascend")
    return seconds


def _utc(text: str) -> int:
    """A date and a time of day, which say no zone."""
    try:
        return parse_instant(f"{text.replace(' ', 'T')}Z")
    except InstantError as error:
        raise ValueError(error.reason) from None


def _pods(number: int, cells: list[str], curve: _Curve, size: _PodSize) -> int:
    """As many whole pods as the value takes."""
    text = cells[curve.at].strip()
    try:
        amount, unit = (whole(text), size.memory_bytes) if curve.unit == "memory" else (milli(text), 1000)
    except QuantityError as error:
        raise TraceError(number, _column_of(cells, curve.at), str(error), "write a number such as 12.5") from None
    unit = size.cpu_milli if curve.unit == "cpu" else unit
    pods = -(-amount // unit)
    if pods < 0:
        raise TraceError(number, _column_of(cells, curve.at), f"{text} is below zero", "demand is zero or more")
    if pods > MOST_PODS:
        hint = "describe larger pods: # pod: cpu=8 memory=16Gi"
        raise TraceError(number, _column_of(cells, curve.at), f"{text} is {pods} pods, more than {MOST_PODS}", hint)
    return pods


def _column_of(cells: list[str], at: int) -> int:
    return 1 + sum(len(cell) + 1 for cell in cells[:at])


def _trace(
    name: str,
    curves: list[_Curve],
    sizes: dict[str, _PodSize],
    times: list[int],
    values: list[list[int]],
    every_seconds: int,
) -> Trace:
    last = times[-1] - times[-2] if len(times) > 1 else _DEFAULT_STEP_SECONDS
    end = times[-1] + last
    rows = list(zip(times, zip(*values, strict=True), strict=True))
    steps = []
    before = (0,) * len(curves)
    for seconds, row in _largest(rows, every_seconds) if every_seconds else rows:
        changes = tuple((index, pods) for index, pods in enumerate(row) if pods != before[index])
        if changes:
            steps.append(DemandStep(seconds, changes))
        before = row
    return Trace(
        name=name,
        start_seconds=times[0],
        end_seconds=end,
        sources=tuple(_source(curve, sizes[curve.name]) for curve in curves),
        steps=tuple(steps),
        present=(0,) * len(curves),
    )


def _largest(rows: list[tuple[int, tuple[int, ...]]], every_seconds: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The largest value of each curve in each span, what still holds from the span before included."""
    start = rows[0][0]
    span, most, held = 0, rows[0][1], rows[0][1]
    for seconds, row in rows:
        while (seconds - start) // every_seconds > span:
            yield start + span * every_seconds, most
            span, most = span + 1, held
        if (seconds - start) % every_seconds == 0:
            most = row
        most = tuple(map(max, most, row))
        held = row
    yield start + span * every_seconds, most


def _source(curve: _Curve, size: _PodSize) -> DemandSource:
    labels = (("app", curve.name),)
    alone: tuple[AffinityTerm, ...] = ()
    if curve.unit == "nodes":
        same = LabelSelector((Requirement("app", "In", (curve.name,)),))
        alone = (AffinityTerm(topology_key="kubernetes.io/hostname", selector=same, namespaces=(NAMESPACE,)),)
    shape = PodShape(
        namespace=NAMESPACE,
        labels=labels,
        requests=Resources(cpu_milli=size.cpu_milli, memory_bytes=size.memory_bytes, pods=1),
        node_selector=size.selector,
        tolerations=tuple(Toleration(key, "Exists", "", "") for key in size.tolerations),
        anti_affinity=alone,
        priority=size.priority,
    )
    owner = Owner(_API_GROUPS[size.kind], size.kind, curve.name)
    return DemandSource(shape=shape, traits=PodTraits(namespace=NAMESPACE, controller=owner), zone_spread=size.zone_spread)
