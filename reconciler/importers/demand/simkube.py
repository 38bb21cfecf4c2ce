"""Traces of SimKube: the workloads of a cluster, with every change of them.

SOURCE: `docs/ref/trace-files.md` in acrlabs/simkube, versions 2 and 3. A trace is a map in msgpack. Its `events` have `ts` (Unix
time), `applied_objs` and `deleted_objs`. Deployments, ReplicaSets and StatefulSets are as many pods of their template as they
have replicas. Other kinds are left out: nothing in an event says when their pods ended.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from reconciler.importers.demand.lifetimes import MOST_PODS, DemandImportError, Imported, Lifetime, trace_of
from reconciler.importers.demand.pod_sources import PodManifest, sources_of
from reconciler.simulation.replays.trace import DemandSource

_OF_REPLICAS: Mapping[str, str] = {"Deployment": "ReplicaSet", "ReplicaSet": "ReplicaSet", "StatefulSet": "StatefulSet"}
"""The kinds, and the kind of controller that their pods have."""
_HINT = "give the file that sk-tracer exported"
_MOST_REPLICAS = 100_000


class SimKubeEvent(msgspec.Struct, frozen=True):
    """What changed at an instant."""

    ts: int
    applied_objs: tuple[dict[str, Any], ...] = ()
    deleted_objs: tuple[dict[str, Any], ...] = ()


class SimKubeTrace(msgspec.Struct, frozen=True):
    """A file, as far as it is read."""

    version: int
    events: tuple[SimKubeEvent, ...]


WorkloadKey = tuple[str, str, str]
"""Kind, namespace and name."""


class _Standing(msgspec.Struct):
    """A workload as it is from an instant on."""

    since: int
    replicas: int
    manifest: int


def read_simkube(name: str, body: bytes) -> Imported:
    """The demand of a trace. Raises `DemandImportError`."""
    try:
        trace = msgspec.msgpack.decode(body, type=SimKubeTrace)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DemandImportError(1, f"not a trace of SimKube: {error}", _HINT) from None
    if trace.version not in (2, 3):
        raise DemandImportError(1, f"version {trace.version} of the form, and versions 2 and 3 are read", _HINT)
    events = sorted(trace.events, key=lambda event: event.ts)
    if not events:
        raise DemandImportError(1, "no event", _HINT)
    workloads = _Workloads()
    spans = list(workloads.spans(events))
    sources = sources_of(workloads.manifests)
    lifetimes = [
        Lifetime(_named(sources[manifest], number), start, end)
        for manifest, replicas, start, end in spans
        for number in range(replicas)
        if manifest in sources
    ]
    left_out = tuple(f"{count} of kind {kind[:60]}" for kind, count in sorted(workloads.others.items()))
    return Imported(trace=trace_of(name, lifetimes, events[-1].ts + 1), left_out=left_out)


class _Workloads:
    def __init__(self) -> None:
        self.manifests: list[PodManifest] = []
        self.others: Counter[str] = Counter()
        self._numbers: dict[bytes, int] = {}
        self._standing: dict[WorkloadKey, _Standing] = {}
        self._pods = 0

    def spans(self, events: list[SimKubeEvent]) -> Iterator[tuple[int, int, int, int | None]]:
        """Manifest, replicas, beginning and end."""
        for number, event in enumerate(events, 1):
            if event.ts <= 0:
                raise DemandImportError(1, f"event {number}: {event.ts} is not an instant", _HINT)
            for item in event.deleted_objs:
                yield from self._ended(_key(number, item), event.ts)
            for item in event.applied_objs:
                key = _key(number, item)
                if key[0] not in _OF_REPLICAS:
                    self.others[key[0]] += 1
                    continue
                yield from self._ended(key, event.ts)
                self._standing[key] = self._begun(number, key, item, event.ts)
        for one in self._standing.values():
            yield one.manifest, one.replicas, one.since, None

    def _ended(self, key: WorkloadKey, at: int) -> Iterator[tuple[int, int, int, int | None]]:
        one = self._standing.pop(key, None)
        if one is not None:
            yield one.manifest, one.replicas, one.since, at

    def _begun(self, number: int, key: WorkloadKey, item: dict[str, Any], at: int) -> _Standing:
        spec = item.get("spec")
        template = spec.get("template") if isinstance(spec, dict) else None
        replicas = spec.get("replicas", 1) if isinstance(spec, dict) else None
        if not isinstance(template, dict) or not isinstance(template.get("spec"), dict) or type(replicas) is not int:
            raise DemandImportError(1, f"event {number}: {'/'.join(key)[:200]} has no template or no number of replicas", _HINT)
        self._pods += replicas
        if not 0 <= replicas <= _MOST_REPLICAS or self._pods > MOST_PODS:
            raise DemandImportError(1, f"event {number}: {replicas} replicas are too many", "export a shorter time")
        metadata = template.get("metadata")
        owner = {"apiVersion": "apps/v1", "kind": _OF_REPLICAS[key[0]], "name": key[2], "uid": "", "controller": True}
        kept = {**(metadata if isinstance(metadata, dict) else {}), "ownerReferences": [owner]}
        text = msgspec.json.encode((key, kept, template["spec"]), order="sorted")
        known = self._numbers.setdefault(text, len(self._numbers))
        if known == len(self.manifests):
            self.manifests.append(PodManifest(1, key[1], key[2], kept, template["spec"]))
        return _Standing(at, replicas, known)


def _key(number: int, item: dict[str, Any]) -> WorkloadKey:
    kind, metadata = item.get("kind"), item.get("metadata")
    namespace, name = (metadata.get("namespace", ""), metadata.get("name")) if isinstance(metadata, dict) else ("", None)
    if not isinstance(kind, str) or not isinstance(namespace, str) or not isinstance(name, str):
        raise DemandImportError(1, f"event {number}: an object without kind or name", _HINT)
    return kind, namespace, name


def _named(source: DemandSource, number: int) -> DemandSource:
    """Pods of a StatefulSet are wanted by name."""
    return msgspec.structs.replace(source, pod_name=f"{source.pod_name}-{number}") if source.pod_name else source
