"""The figures of many loops in one exposition: each series says its cluster, and the fleet has figures of its own."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from reconciler.control.pages.metrics import Collected
from reconciler.control.turn.figures import Figures

CLUSTER = "cluster"


def fleet_exposition(
    loops: Mapping[str, Figures],
    *,
    clusters: Iterable[str],
    instances: int,
    cluster_autoscaler_names: bool = False,
) -> bytes:
    """All metrics of the loops that run here, by the name of their cluster. `clusters` has the state of every cluster that is
    known, `instances` how many processes share them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fleet(loops, Counter(clusters), instances, upstream=cluster_autoscaler_names))
    return generate_latest(registry)


class _Fleet(Collector):
    def __init__(self, loops: Mapping[str, Figures], states: Counter[str], instances: int, *, upstream: bool) -> None:
        self._loops = loops
        self._states = states
        self._instances = instances
        self._upstream = upstream

    def collect(self) -> Iterator[Metric]:
        states = GaugeMetricFamily("reconciler_fleet_clusters", "Clusters that are known, by state.", labels=["state"])
        for state, count in sorted(self._states.items()):
            states.add_metric([state], count)
        yield states
        yield GaugeMetricFamily(
            "reconciler_fleet_loops", "Loops of clusters that this instance holds: to scale instances by.", value=len(self._loops)
        )
        yield GaugeMetricFamily("reconciler_fleet_instances", "Instances that share the clusters.", value=self._instances)
        merged: dict[str, Metric] = {}
        for cluster, figures in sorted(self._loops.items()):
            for family in Collected(figures.seen(), cluster_autoscaler_names=self._upstream).collect():
                known = merged.get(family.name)
                if known is None:
                    known = merged[family.name] = Metric(family.name, family.documentation, family.type, family.unit)
                known.samples.extend(_of(cluster, sample) for sample in family.samples)
        yield from merged.values()


def _of(cluster: str, sample: Sample) -> Sample:
    return sample._replace(labels={CLUSTER: cluster, **sample.labels})
