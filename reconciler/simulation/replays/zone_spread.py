"""Pods that prefer to spread over zones: their placement in a replay, and how even it is.

SOURCE: a preferred pod anti-affinity over topology.kubernetes.io/zone, as in kube-scheduler's InterPodAffinity score. A node in
a zone with fewer pods of the same kind scores higher, and one without room scores nothing. So the preference holds only while a
zone has room.
"""

from collections import Counter

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import NodeObject


class ZoneSpread:
    """Follows the pods of some shapes in a simulated cluster."""

    def __init__(self, objects: ClusterObjects, shapes: frozenset[int], zones: frozenset[str]) -> None:
        """`shapes` are indices. `zones` are those that nodes can be in at all."""
        self._objects = objects
        self._shapes = set(shapes)
        self._zones = zones
        self._weighted = 0
        self._seconds = 0

    def place(self, state: SchedulingState, shape: int, count: int, nodes: list[NodeObject]) -> tuple[tuple[int, int], ...]:
        """Bind up to `count` pods, each in the zone that has the fewest and still has room; (node, pods bound)."""
        if shape not in self._shapes:
            return state.place(shape, count)
        by_zone: dict[str, list[int]] = {}
        for index, node in enumerate(nodes):
            if state.closed(index):
                continue
            by_zone.setdefault(self._zone(node), []).append(index)
        there = self._counts(shape)
        placed: Counter[int] = Counter()
        for _ in range(count):
            for zone in sorted(by_zone, key=lambda zone: (there[zone], zone)):
                places = state.place(shape, 1, by_zone[zone])
                if places:
                    placed[places[0][0]] += 1
                    there[zone] += 1
                    break
                del by_zone[zone]  # no room for one of them now, so none for the next either
            else:
                break
        return tuple(sorted(placed.items()))

    def pass_time(self, seconds: int) -> None:
        """The pods stayed where they are for this many seconds."""
        for shape in sorted(self._shapes):
            counts = self._counts(shape)
            pods = sum(counts.values())
            zones = len(self._zones)
            if pods < 2 or zones < 2:
                continue
            possible = pods - -(-pods // zones)
            self._weighted += seconds * (1000 * (pods - max(counts.values())) // possible)
            self._seconds += seconds

    def forget(self) -> None:
        """Start the mean over."""
        self._weighted = self._seconds = 0

    @property
    def permille(self) -> int | None:
        """The mean so far; None without two pods of one shape and two zones."""
        return self._weighted // self._seconds if self._seconds else None

    def _counts(self, shape: int) -> Counter[str]:
        return Counter(
            self._zone(pod.node)
            for pod in self._objects.pods.values()
            if pod.shape == shape and pod.node is not None and pod.active
        )

    def _zone(self, node: NodeObject) -> str:
        return next((value for key, value in self._objects.shape_of(node).labels if key == ZONE_LABEL), "")
