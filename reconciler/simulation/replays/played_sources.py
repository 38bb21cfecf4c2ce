"""The sources of a trace in a simulated cluster: the order in which they are played, and their numbers while they are wanted."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.workloads import WorkloadKey
from reconciler.simulation.replays.source_lines import plain
from reconciler.simulation.replays.trace import DemandSource, Trace


class PlayedSources:
    """The order of sources in a trace decides nothing, and neither do sources that are never wanted. A recording of the same
    demand has another order, and only what was seen.

    An owner whose pods are all gone leaves the cluster. Of thousands of Jobs a day, only those that run cost time.
    """

    def __init__(self, trace: Trace, cluster: SimulatedCluster) -> None:
        self._sources = trace.sources
        self._cluster = cluster
        self._numbers: dict[int, tuple[int, int]] = {}
        self._of_owner: dict[WorkloadKey, list[int]] = {}
        self._users: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._wanted: dict[int, int] = {}
        self._ended: dict[WorkloadKey, None] = {}
        # Who spreads over zones is known by number for as long as the replay lasts.
        self._forgets = not any(source.zone_spread for source in trace.sources)
        ever = {index for step in trace.steps for index, pods in step.changes if pods}
        ever.update(index for index, pods in enumerate(trace.present) if pods)
        texts = {index: _text(trace.sources[index]) for index in ever}
        self._places = {index: place for place, index in enumerate(sorted(texts, key=texts.__getitem__))}
        for index, pods in self.in_order([(index, pods) for index, pods in enumerate(trace.present) if pods]):
            self.want(index, pods)

    def in_order(self, changes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Changes of a step in the order in which they are played, without those of sources that are never wanted."""
        return sorted((one for one in changes if one[0] in self._places), key=lambda one: self._places[one[0]])

    def numbers(self, index: int) -> tuple[int, int]:
        """The numbers of shape and traits of a source that was wanted."""
        return self._numbers[index]

    def want(self, index: int, pods: int) -> None:
        """So many pods are wanted from now on."""
        source, objects = self._sources[index], self._cluster.objects
        owner = _owner_key(source)
        self._wanted[index] = pods
        if index not in self._numbers:
            numbers = objects.new_pod_shape(source.shape, source.traits), objects.traits(source.traits)
            self._numbers[index] = numbers
            self._of_owner.setdefault(owner, []).append(index)
            for users, number in zip(self._users, numbers, strict=True):
                users[number] += 1
        if not pods:
            self._ended[owner] = None

    def forget_ended(self) -> None:
        """Let go of owners that ended before this instant and have no pods any more."""
        for owner in [*self._ended] if self._forgets else ():
            indices = self._of_owner[owner]
            if any(self._wanted[index] for index in indices):
                del self._ended[owner]
            elif not self._has_pods(owner):
                del self._ended[owner], self._of_owner[owner]
                self._cluster.workloads.forget(owner)
                for index in indices:
                    self._forget_numbers(index)

    def _has_pods(self, owner: WorkloadKey) -> bool:
        workload = self._cluster.workloads.by_key.get(owner)
        return owner[1:] in self._cluster.objects.pods if workload is None else bool(workload.pods)

    def _forget_numbers(self, index: int) -> None:
        shape, traits = self._numbers.pop(index)
        of_shape, of_traits = self._users
        of_shape[shape] -= 1
        of_traits[traits] -= 1
        if not of_shape[shape]:
            self._cluster.disruption.forget_shape(shape)
            self._cluster.objects.forget_shape(shape)
        if not of_traits[traits]:
            self._cluster.objects.forget_traits(traits)


def _owner_key(source: DemandSource) -> WorkloadKey:
    """A pod that no controller makes is its own owner."""
    owner = source.traits.controller
    return ("", source.shape.namespace, source.pod_name) if owner is None else (owner.kind, source.shape.namespace, owner.name)


def _text(source: DemandSource) -> tuple[bytes, bytes, str]:
    """By what sources are in order."""
    known = plain(source)
    return msgspec.msgpack.encode(known.shape), msgspec.msgpack.encode(known.traits), known.pod_name
