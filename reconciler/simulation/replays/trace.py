"""Demand over time: which pods are wanted from which instant on, whatever the source."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import msgspec

from reconciler.cluster.pods.pod import AffinityTerm, Owner, PodShape, PodTraits, Toleration
from reconciler.cluster.target import FieldOwner, OwnerEvidence, TargetFacts, TargetRef
from reconciler.cluster.values.quantity import QuantityError, milli, whole
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.discovered_groups import target_ref
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.field_owner import OUR_MANAGER
from reconciler.simulation.scenarios.scenario import Start
from reconciler.simulation.scenarios.start_world import start_world
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.label_selector import LabelSelector, Requirement
from reconciler.values.whole_number import whole_number


class DemandSource(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are alike: `shape`, `traits` (with their controller) and, for pods that are wanted by name, `pod_name`.

    A pod without a controller and one of a StatefulSet is wanted by name, all others by number. `zone_spread` says
    that the scheduler should rather put each into the zone that has the fewest of them.
    """

    shape: PodShape
    traits: PodTraits
    pod_name: str = ""
    zone_spread: bool = False


class DemandStep(msgspec.Struct, frozen=True):
    """From `at_seconds` (Unix time) on so many pods of each source are wanted: (index of the source, pods), where it differs
    from before."""

    at_seconds: int
    changes: tuple[tuple[int, int], ...]


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """Demand from `start_seconds` until `end_seconds` (Unix time); the last step lasts until the end.

    `present` is the number of pods of each source in the World from which the trace continues. It is 0 for a curve: its pods come
    in addition. `lead_times` are those that were learned meanwhile: (name of a target, seconds until a node joins).
    """

    name: str
    start_seconds: int
    end_seconds: int
    sources: tuple[DemandSource, ...]
    steps: tuple[DemandStep, ...]
    present: tuple[int, ...]
    lead_times: tuple[tuple[str, int], ...] = ()

    @property
    def peak_pods(self) -> int:
        """The most pods that are wanted at the same time."""
        wanted = list(self.present)
        most = sum(wanted)
        for step in self.steps:
            for index, pods in step.changes:
                wanted[index] = pods
            most = max(most, sum(wanted))
        return most

    def until(self, seconds: int) -> "Trace":
        """The first `seconds` of it; the whole when it is shorter."""
        end = min(self.end_seconds, self.start_seconds + seconds)
        return msgspec.structs.replace(self, end_seconds=end, steps=tuple(step for step in self.steps if step.at_seconds < end))

    def between(self, start_seconds: int, end_seconds: int) -> "Trace":
        """The part between two instants. What is wanted at its start is wanted from the start on."""
        wanted = dict(enumerate(self.present))
        for step in self.steps:
            if step.at_seconds <= start_seconds:
                wanted.update(step.changes)
        changes = tuple((index, pods) for index, pods in wanted.items() if pods != self.present[index])
        steps = [DemandStep(start_seconds, changes)] if changes else []
        steps += (step for step in self.steps if start_seconds < step.at_seconds < end_seconds)
        return msgspec.structs.replace(self, start_seconds=start_seconds, end_seconds=end_seconds, steps=tuple(steps))

    def starting_at(self, seconds: int) -> "Trace":
        """The same demand at other instants."""
        shift = seconds - self.start_seconds
        return msgspec.structs.replace(
            self,
            start_seconds=seconds,
            end_seconds=self.end_seconds + shift,
            steps=tuple(DemandStep(step.at_seconds + shift, step.changes) for step in self.steps),
        )

    def at_same_hour(self, world: World, lead_seconds: int) -> "Trace":
        """The same demand after `world` was taken, at least `lead_seconds` later. It moves by whole weeks, so windows and
        schedules meet the same weekdays and hours (UTC). Unchanged if it is after the capture anyway."""
        missing = world.captured_seconds + lead_seconds - self.start_seconds
        return self if missing <= 0 else self.starting_at(self.start_seconds + -(-missing // _WEEK_SECONDS) * _WEEK_SECONDS)


_WEEK_SECONDS = 7 * 86_400


# Capacity curves: lines of CSV with the demand at each instant, as pods of one size.
#
#     # Any comment. Lines that begin with `# pod` describe the pods, here first those of all curves, then those of one:
#     # pod: cpu=1 memory=2Gi
#     # pod web: cpu=500m memory=1Gi spread=zone toleration=tier selector=pool=general priority=0 kind=Job
#     time,cpu:web,pods:batch
#     2026-11-02T00:00:00Z,129.6,4
#     2026-11-02T00:05:00Z,244.8,4
#
# Times ascend. They are RFC 3339, `2026-11-02 00:05:00` (UTC), or whole seconds. A value holds until the next line, and the curve
# ends one step after its last line. `pods` is a number of pods. `cpu` is in cores and `memory` an amount; whole pods cover each.
# `nodes` is a number of pods that share no node with each other. The name after the colon distinguishes curves. Without a
# heading, the only value is `cpu`, which is the form of public capacity data sets.

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


# A cluster with nothing but the groups of a policy: a curve is replayed on it without a snapshot.


def policy_world(policies: Sequence[PolicySet], now_seconds: int) -> World:
    """The targets of all NodeGroup documents, ours and at the least size that the first policy gives them, without a node."""
    refs = sorted({target_ref(group.target) for policy in policies for group in policy.groups})
    targets = tuple(_target(ref, now_seconds) for ref in refs)
    bare = msgspec.structs.replace(start_world(Start()), name="", captured_seconds=now_seconds, targets=targets)
    least: dict[TargetRef, int] = {}
    for policy in reversed(policies):
        least |= {group.target: group.min_size for group in effective_groups(bare, policy, now_seconds)}
    return msgspec.structs.replace(
        bare, targets=tuple(msgspec.structs.replace(facts, replicas=least.get(facts.ref, 0)) for facts in bare.targets)
    )


def without_pods(world: World) -> World:
    """The same cluster with nothing on it but the pods of DaemonSets and mirror pods."""
    kept = [traits.daemonset or traits.mirror for traits in world.pod_traits]
    rows = [pod for pod in world.pods if kept[pod.traits]]
    return msgspec.structs.replace(world, pods=type(world.pods)(rows))


def _target(ref: TargetRef, now_seconds: int) -> TargetFacts:
    owner = FieldOwner(manager=OUR_MANAGER, operation="Apply", time_seconds=now_seconds)
    return TargetFacts(
        ref=ref,
        uid=f"uid-{ref.name}",
        resource_version="1",
        generation=1,
        replicas=0,
        owner=OwnerEvidence(owners=(owner,)),
    )


# Snapshots of one cluster, one after the other, as demand: the pods of each capture are wanted until the next one.

Value = TypeVar("Value")
_BY_NAME = ("StatefulSet",)


class BacktestError(ValueError):
    """Captures that do not form a history; the message names the fault."""


class Backtest(msgspec.Struct, frozen=True):
    """The demand, and the cluster as it was at first, with volumes, budgets and namespaces of all captures."""

    trace: Trace
    world: World


def backtest(name: str, captures: Sequence[tuple[str, World]]) -> Backtest:
    """The trace of captures by name, in the order of their instants. The last capture lasts as long as the previous one.

    Raises `BacktestError` for fewer than two captures, for an unknown instant, and for two with the same instant.
    """
    ordered = sorted(captures, key=lambda capture: (capture[1].captured_seconds, capture[0]))
    if len(ordered) < 2:
        raise BacktestError(f"{len(ordered)} snapshots, but a replay needs at least two, each in its own directory or file")
    for (label, world), (next_label, following) in pairwise(ordered):
        if not world.captured_seconds:
            raise BacktestError(f"nothing in {label} tells when it was taken: put capturedAt into its snapshot.yaml")
        if world.captured_seconds == following.captured_seconds:
            raise BacktestError(
                f"{label} and {next_label} were taken at the same instant: put capturedAt into their snapshot.yaml"
            )
    worlds = [world for _, world in ordered]
    counts = [wanted_pods(world) for world in worlds]
    sources = {source: index for index, source in enumerate(dict.fromkeys(source for counted in counts for source in counted))}
    steps = []
    for before, now, world in zip(counts, counts[1:], worlds[1:], strict=False):
        touched = (*now, *(source for source in before if source not in now))
        changes = sorted((sources[source], now[source]) for source in touched if now[source] != before[source])
        if changes:
            steps.append(DemandStep(world.captured_seconds, tuple(changes)))
    start, last = worlds[0].captured_seconds, worlds[-1].captured_seconds
    trace = Trace(
        name=name,
        start_seconds=start,
        end_seconds=2 * last - worlds[-2].captured_seconds,
        sources=tuple(sources),
        steps=tuple(steps),
        present=tuple(counts[0][source] for source in sources),
    )
    return Backtest(trace, _merged(worlds))


def wanted_pods(world: World) -> Counter[DemandSource]:
    """How many pods of each kind are wanted. Pods of DaemonSets and mirror pods follow their nodes, so they do not count. Neither
    do finished, terminating and gated ones."""
    pods = world.pods
    keys: Counter[tuple[int, int, str]] = Counter()
    for index in range(len(pods)):
        traits = world.pod_traits[pods.traits[index]]
        if traits.daemonset or traits.mirror or pods.finished(index) or pods.deletion_seconds[index] or pods.gated(index):
            continue
        named = traits.controller is None or traits.controller.kind in _BY_NAME
        keys[pods.shape[index], pods.traits[index], pods.name[index] if named else ""] += 1
    return Counter(
        {_backtest_source(world.pod_shapes[shape], world.pod_traits[kind], name): n for (shape, kind, name), n in keys.items()}
    )


def _backtest_source(shape: PodShape, traits: PodTraits, name: str) -> DemandSource:
    return DemandSource(shape=shape, traits=traits, pod_name=name)


def _merged(worlds: Sequence[World]) -> World:
    """The first capture with what pods of later ones refer to."""
    storage = [world.storage for world in worlds]
    return msgspec.structs.replace(
        worlds[0],
        budgets=_latest((world.budgets for world in worlds), lambda budget: (budget.namespace, budget.name)),
        controllers=_latest(
            (world.controllers for world in worlds), lambda item: (item.api_group, item.kind, item.namespace, item.name)
        ),
        services=_latest((world.services for world in worlds), lambda item: (item.namespace, item.name)),
        namespaces=_latest((world.namespaces for world in worlds), lambda item: item[0]),
        storage=msgspec.structs.replace(
            storage[0],
            volumes=_latest((part.volumes for part in storage), lambda item: item.name),
            claims=_latest((part.claims for part in storage), lambda item: (item.namespace, item.name)),
            classes=_latest((part.classes for part in storage), lambda item: item.name),
        ),
    )


def _latest(parts: Iterable[tuple[Value, ...]], key: Callable[[Value], object]) -> tuple[Value, ...]:
    """Of each key the value of the last part that has it, in the order of the keys."""
    newest = {key(value): value for part in parts for value in part}
    return tuple(newest[name] for name in sorted(newest, key=str))
