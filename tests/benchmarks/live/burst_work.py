"""The cluster of the comparison: three groups from zero, a policy over them, pods that come and go, and what is seen of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from tests.testbed.api import Api, Object
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.stand_in.watching import Watch
from tests.testbed.work_cluster import WorkCluster

GROUPS = {"small": 4, "medium": 8, "large": 16}
"""Cores of a machine by group; 4 GiB a core."""
PRICES = {"small": "0.192", "medium": "0.384", "large": "0.768"}
"""What such a machine costs an hour: m5.xlarge, m5.2xlarge and m5.4xlarge of AWS, on demand in us-east-1, 2026-07-20."""
LABEL = "compared"
_LABELS = "capacity.cluster-autoscaler.kubernetes.io/labels"
_POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: compared}}
spec:
  mode: Enforce
  adoptFrom: [testbed]
  humanHoldTime: 0s
  pace: {{delayAfterAdd: 0s}}
  budgets: [{{nodes: "100%"}}]
  defaults: {{scaleDown: {{unneededTime: {unneeded}s, utilizationThresholdPercent: 50}}}}
"""
_GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  policyRef: {{name: compared}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: {namespace}, name: {name}}}}}
  size: {{min: 0, max: 200}}
"""
_PRICE = '  pricePerHour: "{price}"\n'
Seen = TypeVar("Seen")


class Bought(msgspec.Struct, frozen=True, kw_only=True):
    """Machines that are there: how many, their cores, what they cost an hour, and those without a pod."""

    machines: int
    cores: int
    per_hour: Decimal
    empty: int


class _Collection(NamedTuple):
    plural: str
    path: str


class BurstWork:
    """The work in one namespace; times are of the monotonic clock. Pods, Machines and Nodes are watched: lists of all of them
    five times a second took a tenth of what the API server had."""

    def __init__(self, cluster: WorkCluster, node_seconds: float = 5) -> None:
        self.cluster = cluster
        self._seen: dict[str, Watch[_Collection]] = {}
        labels = {LABEL: cluster.namespace}
        for name, cores in GROUPS.items():
            capacity = {"cpu": str(cores), "memory": f"{4 * cores}Gi", "pods": "110"}
            told = {"sim.reconciler.dev/node-seconds": str(node_seconds)}
            made = Group(name, replicas=0, annotations={_LABELS: f"{LABEL}={cluster.namespace}"})
            cluster.machine_deployment(made, Shape(capacity=capacity, labels=labels, annotations=told))

    def policy(self, file: Path, unneeded_seconds: int, *, priced: bool = False) -> Path:
        """Write the policy; where. `priced`: groups say what a machine costs, so that the cheapest mix is bought."""
        groups = (
            _GROUP.format(name=name, namespace=self.cluster.namespace) + (_PRICE.format(price=PRICES[name]) if priced else "")
            for name in GROUPS
        )
        file.write_text(_POLICY.format(unneeded=unneeded_seconds) + "".join(groups))
        return file

    def deployment(self, name: str, replicas: int, cpu: str, *, apart: bool = False) -> None:
        """A Deployment of pods for these nodes; `apart`: at most one on a node."""
        labels = {"app": name}
        spec: Object = {
            "nodeSelector": {LABEL: self.cluster.namespace},
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
            "terminationGracePeriodSeconds": 0,
        }
        if apart:
            # Preferred alone, so that fewer nodes will do later.
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": labels},
                }
            ]
        template = {"metadata": {"labels": labels}, "spec": spec}
        body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": name, "namespace": self.cluster.namespace}
        self.cluster.api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body})

    def remove(self, *names: str) -> None:
        """Delete Deployments with their pods."""
        for name in names:
            path = f"/apis/apps/v1/namespaces/{self.cluster.namespace}/deployments/{name}"
            self.cluster.api.call("DELETE", path, {"propagationPolicy": "Background"})

    @contextmanager
    def watched(self) -> Iterator[None]:
        """What is asked below is known from watches meanwhile."""
        collections = (
            _Collection("pods", f"/api/v1/namespaces/{self.cluster.namespace}/pods"),
            _Collection("machines", self.cluster.path("machines")),
            _Collection("nodes", "/api/v1/nodes"),
        )
        with ExitStack() as stack:
            for one in collections:
                self._seen[one.plural] = stack.enter_context(_watching(self.cluster.api, one))
            yield

    def _items(self, plural: str) -> list[Object]:
        return list(self._seen[plural].objects.values())

    def pods(self) -> list[Object]:
        """Pods that are not being deleted."""
        return [item for item in self._items("pods") if "deletionTimestamp" not in item["metadata"]]

    def sizes(self) -> dict[str, int]:
        """What each group asks for."""
        found = self.cluster.api.items(self.cluster.path("machinedeployments"))
        return {item["metadata"]["name"]: int(item["spec"]["replicas"]) for item in found}

    def replicas(self) -> int:
        """What all groups ask for."""
        return sum(self.sizes().values())

    def until_pods(self, count: int, seconds: float = 300) -> float:
        """When so many pods were there."""
        return until(self.pods, lambda found: len(found) == count, f"{count} pods", seconds)

    def until_bound(self, count: int, seconds: float = 500) -> float:
        """When so many pods were there and bound."""

        def bound(found: list[Object]) -> bool:
            return len(found) == count and all(one["spec"].get("nodeName") for one in found)

        return until(self.pods, bound, f"{count} pods bound", seconds)

    def bound_after_nodes_seconds(self) -> float:
        """From the last node's becoming ready to the last pod's being bound, by the marks that the cluster sets, which are whole
        seconds; negative when the last node was not needed."""
        ready = max(_became(node, "Ready") for node in self.cluster.nodes())
        return (max(_became(pod, "PodScheduled") for pod in self.pods()) - ready).total_seconds()

    def until_replicas(self, holds: Callable[[int], object], what: str, seconds: float = 500) -> float:
        """When the groups asked for a number that `holds`."""
        return until(self.replicas, holds, what, seconds)

    def until_machines(self, most: int, seconds: float = 500) -> float:
        """When no more machines were there that are not being deleted."""
        return until(
            lambda: self._items("machines"),
            lambda found: sum("deletionTimestamp" not in one["metadata"] for one in found) <= most,
            f"{most} machines", seconds,
        )  # fmt: skip

    def until_gone(self, seconds: float = 500) -> float:
        """When no Machine and no Node was there any more."""
        return until(
            lambda: [*self._items("machines"), *filter(self.cluster.is_own, self._items("nodes"))],
            lambda found: not found,
            "no Machine and no Node", seconds,
        )  # fmt: skip

    def bought(self) -> Bought:
        """What is there now."""
        nodes = self.cluster.nodes()
        used = {one["spec"].get("nodeName") for one in self.pods()}
        cores = [int(one["status"]["capacity"]["cpu"]) for one in nodes]
        empty = sum(one["metadata"]["name"] not in used for one in nodes)
        price = {GROUPS[name]: Decimal(text) for name, text in PRICES.items()}
        return Bought(machines=len(nodes), cores=sum(cores), per_hour=sum(map(price.__getitem__, cores), Decimal()), empty=empty)


@contextmanager
def _watching(api: Api, collection: _Collection) -> Iterator[Watch[_Collection]]:
    watch = Watch(api, collection, lambda _collection, _name: None)
    watch.start()
    try:
        if not watch.listed.wait(60):
            raise TimeoutError(f"{collection.path} was not listed")
        yield watch
    finally:
        watch.stop()


def _became(item: Object, condition: str) -> datetime:
    return next(
        datetime.fromisoformat(one["lastTransitionTime"]) for one in item["status"]["conditions"] if one["type"] == condition
    )


def until(look: Callable[[], Seen], holds: Callable[[Seen], object], what: str, seconds: float) -> float:
    """The instant at which `holds` was seen to be true of what `look` gives. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while True:
        found, now = look(), time.monotonic()
        if holds(found):
            return now
        if now > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.2)
