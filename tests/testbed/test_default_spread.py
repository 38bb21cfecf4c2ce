"""Our placement against a real kube-scheduler that was started with default constraints: as many pods in each zone.

Every app has nodes to itself, and zone b has room for a few of its pods only. How many run hangs on nothing but the constraint:
where it applies, zone a takes as many as b and the skew allow.
"""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.importers.document import imported_policy
from reconciler.importers.settings import settings_in
from reconciler.importers.sources import Sources
from reconciler.policy.tree import read_tree
from reconciler.scheduling.default_spread import with_default_spread
from reconciler.scheduling.state import SchedulingState
from tests.testbed.capture import captured
from tests.testbed.control_plane import FAKE_NODE, ControlPlane
from tests.testbed.overlooked import until_seen_to

Object = dict[str, Any]

NAMESPACE, SCHEDULER = "default-spread", "spreading"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
ZONE, HOST, POOL = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "pool"
KINDS = ("ReplicaSet", "Service", "ReplicaSet and Service", "nothing", "own")
APPS = 10


class App:
    """Pods of one app with nodes of their own: room for `many` in zone a, for `few` in zone b."""

    def __init__(self, number: int, random: Random) -> None:
        self.name = f"app-{number}"
        self.kind = KINDS[number % len(KINDS)]
        self.count = random.randint(4, 9)
        self.many, self.few = self.count, random.randint(0, 3)

    def nodes(self) -> Iterator[Object]:
        for zone, slots in (("a", self.many), ("b", self.few)):
            name = f"spread-{self.name}-{zone}"
            amounts = {"cpu": str(max(1, slots)), "memory": "16Gi", "pods": "110"} if slots else {"cpu": "100m", "pods": "110"}
            labels = {POOL: self.name, HOST: name, ZONE: zone}
            metadata = {"name": name, "labels": labels, "annotations": FAKE_NODE}
            status = {"capacity": amounts, "allocatable": amounts}
            yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}

    def objects(self) -> Iterator[Object]:
        if "Service" in self.kind:
            spec = {"selector": {"app": self.name}, "ports": [{"port": 80}]}
            yield {"apiVersion": "v1", "kind": "Service", "metadata": self._named(self.name), "spec": spec}
        labels = {"app": self.name, "extra": "x"}
        spec = {
            "schedulerName": SCHEDULER,
            "nodeSelector": {POOL: self.name},
            "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}],
        }
        if self.kind == "own":
            own = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
            spec["topologySpreadConstraints"] = [own | {"labelSelector": {"matchLabels": {"app": self.name}}}]
        if self.kind in ("ReplicaSet", "ReplicaSet and Service", "own"):
            template = {"metadata": {"labels": labels}, "spec": spec}
            set_spec = {"replicas": self.count, "selector": {"matchLabels": {"app": self.name}}, "template": template}
            yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": self._named(self.name), "spec": set_spec}
            return
        for index in range(self.count):
            metadata = self._named(f"{self.name}-{index}") | {"labels": labels}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _named(self, name: str) -> Object:
        return {"name": name, "namespace": NAMESPACE}

    def running(self, max_skew: int) -> tuple[int, int]:
        """How many of its pods can run in a and b, by hand."""
        there = min(self.count, self.few)
        spread = self.kind in ("ReplicaSet", "Service", "ReplicaSet and Service")
        here = min(self.count, self.few + max_skew) if spread else self.count
        return min(here, self.count), there


def _configuration(max_skew: int) -> Object:
    constraint = {"maxSkew": max_skew, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [constraint]}
    profile = {"schedulerName": SCHEDULER, "pluginConfig": [{"name": "PodTopologySpread", "args": args}]}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return head | {"profiles": [profile]}


def test_as_many_pods_run_in_each_zone_as_on_a_scheduler_with_default_constraints(control_plane: ControlPlane) -> None:
    """The configuration file of the process is what `import` reads. Pending pods count as many as we cannot place."""
    random = Random("default-spread")
    max_skew = random.choice((1, 2))
    configuration = _configuration(max_skew)
    apps = [App(number, random) for number in range(APPS)]
    api = control_plane.api
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    api.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", bool, "the default service account")
    api.create(*(node for app in apps for node in app.nodes()))
    until_seen_to(api, "/api/v1/nodes", lambda nodes: all(map(_ready, _ours(nodes))), "all nodes being ready")
    total = sum(app.count for app in apps)
    api.create(*(item for app in apps for item in app.objects()))
    api.wait(PODS, lambda pods: len(pods) == total, "all pods being there")
    ours = _on_paper(captured(api), configuration, apps)
    scheduler = control_plane.run_scheduler("spreading-scheduler", configuration)
    try:
        pods = api.wait(PODS, lambda found: all(map(_decided, found)), "a decision about every pod")
    finally:
        scheduler.stop(patience_seconds=2)
    theirs = Counter(pod["metadata"]["labels"]["app"] for pod in pods if "nodeName" in pod["spec"])
    assert theirs == ours
    # Where the constraint applies, zone a has at most the skew more than b; where nothing applies, all pods run.
    for app in apps:
        here, there = app.running(max_skew)
        assert theirs[app.name] == min(app.count, here + there), (app.name, app.kind, app.count, app.few)
    assert any(theirs[app.name] < app.count for app in apps)
    for item in [item for app in apps for item in app.objects()]:
        api.delete(item)
    until_seen_to(api, PODS, lambda found: not found, "deletion of the pods")
    for item in [item for app in apps for item in app.nodes()]:
        api.delete(item)
    api.wait("/api/v1/nodes", lambda nodes: not _ours(nodes), "deletion of the nodes")


def _on_paper(files: dict[str, bytes], configuration: Object, apps: list[App]) -> Counter[str]:
    """How many pods of each app we place on the cluster as it stands."""
    given = {"scheduler.json": json.dumps(configuration, indent=1).encode()}
    made, _ = imported_policy(settings_in("scheduler.json", given["scheduler.json"], Sources(given)), "imported")
    (policy,) = read_tree({name: text.encode() for name, text in made.items()}, now_seconds=0).sets
    world = with_default_spread(read_snapshot(files), policy.policy)
    state, pods = SchedulingState(world), world.pods
    waiting = Counter(pods.shape[row] for row in range(len(pods)) if pods.namespace[row] == NAMESPACE and pods.node[row] < 0)
    placed: Counter[str] = Counter()
    for shape, count in sorted(waiting.items()):
        placed[dict(world.pod_shapes[shape].labels)["app"]] += sum(bound for _, bound in state.place(shape, count))
    assert set(placed) == {app.name for app in apps}
    return placed


def _ours(nodes: list[Object]) -> list[Object]:
    return [node for node in nodes if node["metadata"]["name"].startswith("spread-app-")]


def _ready(node: Object) -> bool:
    conditions = {item["type"]: item["status"] for item in node["status"].get("conditions") or ()}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


def _decided(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    refused = any(item["type"] == "PodScheduled" and item.get("reason") == "Unschedulable" for item in conditions)
    return "nodeName" in pod["spec"] or refused
