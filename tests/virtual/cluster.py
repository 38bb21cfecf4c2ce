"""The Kubernetes side of a world: controllers that keep pods, a scheduler that binds them, Nodes that come and go with machines.

The scheduler is one of its own, so that it shares no error with the product: requests, node selectors, taints, readiness and
topology spreads by zone.
"""

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from reconciler.values.instant import instant_text
from tests.cluster.objects import container, node, obj, pod
from tests.virtual.api import VirtualApi

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
TAINT = "reconciler.dev/deleting"
PODS, NODES = "/api/v1/namespaces/shop/pods/", "/api/v1/nodes/"
_SETS = "/apis/apps/v1/namespaces/shop/replicasets/"
_BUDGETS = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/"
_VOLUMES, _CLAIMS = "/api/v1/persistentvolumes/", "/api/v1/namespaces/shop/persistentvolumeclaims/"
_MILLI = 1000


class Machine(msgspec.Struct, frozen=True):
    """A machine whose kubelet runs: `node` is the name of its Node."""

    node: str
    group: str
    provider_id: str
    zone: str
    cpu: int
    ready: bool
    labels: tuple[tuple[str, str], ...] = ()


class App(msgspec.Struct, frozen=True):
    """What all pods of one controller ask for. `zone` pins them, by a volume there if they have a `volume`; `spread` keeps zones
    even. A budget lets `most_down` of them be evicted at once (None: any number)."""

    name: str
    cpu_milli: int
    zone: str = ""
    spread: bool = False
    volume: bool = False
    most_down: int | None = None

    def fits(self, cpu: int, zone: str) -> bool:
        """Whether an empty node of that size in that zone would do, as far as it alone can tell."""
        return self.cpu_milli <= cpu * _MILLI and self.zone in ("", zone)


class Cluster:
    """`machines` are those of the clouds. `gone` is called with the Node of a machine that ended, and the pods that ran on it."""

    def __init__(
        self, api: VirtualApi, machines: Callable[[], Iterable[Machine]], gone: Callable[[Object, list[Object]], None]
    ) -> None:
        self.api, self._machines, self._gone = api, machines, gone
        self.apps: dict[str, App] = {}
        self.wanted: Counter[str] = Counter()
        self.waiting: dict[str, float] = {}
        """Since when a pod waits, by name."""
        self._numbers = Counter[str]()
        self.group_of: dict[str, str] = {}
        """By Node."""

    def scale(self, app: App, count: int) -> None:
        """The controller of these pods wants so many."""
        self.apps[app.name], self.wanted[app.name] = app, count
        if app.most_down is not None:
            self._keep_budget(app)
        if app.volume:
            self._keep_volume(app)
        spec = {"replicas": count, "selector": {"matchLabels": {"app": app.name}}, "template": {}}
        self.api.put(
            f"{_SETS}{app.name}", obj("ReplicaSet", "apps/v1", app.name, "shop", spec=spec, meta={"uid": f"rs-{app.name}"})
        )

    def _keep_budget(self, app: App) -> None:
        """What its controller allows hangs on how many pods run."""
        healthy = sum("nodeName" in one["spec"] for one in self.pods() if one["metadata"]["labels"]["app"] == app.name)
        wanted = self.wanted[app.name]
        least = max(0, wanted - (app.most_down or 0))
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": app.name}}}
        status = {
            "disruptionsAllowed": max(0, healthy - least), "currentHealthy": healthy, "desiredHealthy": least,
            "expectedPods": wanted, "observedGeneration": 1,
        }  # fmt: skip
        path = f"{_BUDGETS}{app.name}"
        item = obj("PodDisruptionBudget", "policy/v1", app.name, "shop", spec=spec, status=status, meta={"generation": 1})
        if path not in self.api.objects or self.api.objects[path]["status"] != status:
            self.api.put(path, item)

    def _keep_volume(self, app: App) -> None:
        """One that its pods share, in the zone of the app."""
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [app.zone]}]}]
        claim = {"namespace": "shop", "name": app.name}
        spec = {
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, "claimRef": claim, "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "1Gi"},
        }  # fmt: skip
        bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        self.api.put(f"{_VOLUMES}pv", obj("PersistentVolume", "v1", "pv", spec=spec, status={"phase": "Bound"}))
        asked = {"volumeName": "pv", "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        self.api.put(
            f"{_CLAIMS}{app.name}",
            obj("PersistentVolumeClaim", "v1", app.name, "shop", meta=bound, spec=asked, status={"phase": "Bound"}),
        )

    def settle(self) -> None:
        """Everything that controllers do now."""
        self._keep_nodes()
        self._keep_pods()
        self._schedule()
        for app in self.apps.values():
            if app.most_down is not None:
                self._keep_budget(app)

    def pods(self) -> list[Object]:
        return self.api.listed(PODS)

    def nodes(self) -> list[Object]:
        return self.api.listed(NODES)

    def app_of(self, name: str) -> App:
        return self.apps[name.rpartition("-")[0]]

    def _keep_nodes(self) -> None:
        there = {one.node: one for one in self._machines()}
        for item in self.nodes():
            name = item["metadata"]["name"]
            if name not in there:
                self._gone(item, [one for one in self.pods() if one["spec"].get("nodeName") == name])
                self.api.remove(f"{NODES}{name}")
            elif (condition := item["status"]["conditions"][0])["status"] != str(there[name].ready):
                changed = copy.deepcopy(item)
                stamp = instant_text(int(self.api.seconds()))
                changed["status"]["conditions"][0] = condition | {"status": str(there[name].ready), "lastTransitionTime": stamp}
                self.api.put(f"{NODES}{name}", changed)
        for name, one in there.items():
            if f"{NODES}{name}" not in self.api.objects:
                self.group_of[name] = one.group
                self.api.put(f"{NODES}{name}", self._node(one))

    def _node(self, one: Machine) -> Object:
        stamp = instant_text(int(self.api.seconds()))
        item = node(
            one.node, cpu=str(one.cpu), memory=f"{4 * one.cpu - 1}Gi", spec={"providerID": one.provider_id},
            labels={ZONE: one.zone, "topology.kubernetes.io/region": "r", **dict(one.labels)}, meta={"creationTimestamp": stamp},
        )  # fmt: skip
        item["status"]["conditions"][0] |= {"lastTransitionTime": stamp, "status": str(one.ready)}
        if not one.group:
            item["spec"]["taints"] = [{"key": "others", "effect": "NoSchedule"}]
        return item

    def _keep_pods(self) -> None:
        nodes = {item["metadata"]["name"] for item in self.nodes()}
        kept = Counter[str]()
        for item in self.pods():
            name, app = item["metadata"]["name"], item["metadata"]["labels"]["app"]
            if item["spec"].get("nodeName", "") not in ("", *nodes) or kept[app] >= self.wanted[app]:
                self.api.remove(f"{PODS}{name}")
            else:
                kept[app] += 1
        for app, wanted in self.wanted.items():
            for _ in range(wanted - kept[app]):
                self._numbers[app] += 1
                self.api.put(f"{PODS}{app}-{self._numbers[app]}", self._pod(self.apps[app], self._numbers[app]))

    def _pod(self, app: App, number: int) -> Object:
        spec: Object = {"containers": [container(f"{app.cpu_milli}m", "256Mi")], "terminationGracePeriodSeconds": 0}
        if app.volume:
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": app.name}}]
        elif app.zone:
            spec["nodeSelector"] = {ZONE: app.zone}
        if app.spread:
            selector = {"matchLabels": {"app": app.name}}
            rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            spec["topologySpreadConstraints"] = [rule]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app.name, "uid": f"rs-{app.name}", "controller": True}
        meta = {"labels": {"app": app.name}, "ownerReferences": [owner], "uid": f"{app.name}-{number}"}
        meta["creationTimestamp"] = instant_text(int(self.api.seconds()))
        return pod(f"{app.name}-{number}", meta=meta, **spec)

    def _schedule(self) -> None:
        pods = self.pods()
        waiting = [item for item in pods if "nodeName" not in item["spec"]]
        names = {item["metadata"]["name"] for item in waiting}
        self.waiting = {name: since for name, since in self.waiting.items() if name in names}
        if not waiting:
            return
        nodes = self.nodes()
        zone_of = {item["metadata"]["name"]: item["metadata"]["labels"][ZONE] for item in nodes}
        free = {item["metadata"]["name"]: int(item["status"]["allocatable"]["cpu"]) * _MILLI for item in nodes if _open(item)}
        counts = Counter[tuple[str, str]]()
        for item in pods:
            place = item["spec"].get("nodeName")
            if place in zone_of:
                counts[item["metadata"]["labels"]["app"], zone_of[place]] += 1
                if place in free:
                    free[place] -= self.app_of(item["metadata"]["name"]).cpu_milli
        for item in waiting:
            name, app = item["metadata"]["name"], self.apps[item["metadata"]["labels"]["app"]]
            least = min((counts[app.name, zone] for zone in set(zone_of.values())), default=0)
            fitting = [
                place
                for place, left in free.items()
                if left >= app.cpu_milli
                and app.zone in ("", zone_of[place])
                and not (app.spread and counts[app.name, zone_of[place]] + 1 - least > 1)
            ]
            changed = json.loads(json.dumps(item))
            if fitting:
                place = min(fitting, key=lambda one: (free[one], one))
                free[place] -= app.cpu_milli
                counts[app.name, zone_of[place]] += 1
                changed["spec"]["nodeName"], changed["status"] = place, {"phase": "Running"}
                self.waiting.pop(name, None)
            else:
                self.waiting.setdefault(name, self.api.seconds())
                refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                changed["status"] = {"phase": "Pending", "conditions": [refused]}
            if changed != item:
                self.api.put(f"{PODS}{name}", changed)


def _open(item: Object) -> bool:
    ready = item["status"]["conditions"][0]["status"] == "True"
    return ready and not any(one["effect"] in ("NoSchedule", "NoExecute") for one in item["spec"].get("taints", ()))


def drained(item: Object) -> bool:
    """Whether the Node has our mark."""
    return any(one["key"] == TAINT for one in item["spec"].get("taints", ()))
