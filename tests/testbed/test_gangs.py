"""PodGroups against the real kube-scheduler: how many pods of each does a plan place, and how many are bound?

Each group has nodes and pods of one kind to itself, so that the numbers hang on no choice of a node.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from reconciler.plan.plan import PodOutcome
from tests.builders import NOW, node_group, policy
from tests.cluster.objects import world_of
from tests.decisions.deciding import plan_of
from tests.testbed.api import Api, Object
from tests.testbed.control_plane import running_control_plane

NAMESPACE, API, POOL = "gangs", "scheduling.k8s.io/v1alpha2", "pool"
GROUPS, SEED = 60, 20_261
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
HOST = "kubernetes.io/hostname"


class Gang:
    """A PodGroup with its nodes, its running pods and its waiting ones."""

    def __init__(self, number: int, random: Random) -> None:
        self.name = f"gang-{number:02}"
        self.nodes, self.cpus = random.randint(1, 4), random.randint(1, 3)
        self.running = random.randint(0, min(2, self.nodes * self.cpus))
        self.waiting = random.randint(1, 8)
        self.least = random.choice((0, *range(1, 9)))

    def before(self) -> Iterator[Object]:
        """What is there before the pods come."""
        for number in range(self.nodes):
            name = f"{self.name}-{number}"
            amounts = {"cpu": str(self.cpus), "memory": "16Gi", "pods": "110"}
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
            status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
            metadata = {"name": name, "labels": {POOL: self.name, HOST: name}}
            yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}
        how: Object = {"gang": {"minCount": self.least}} if self.least else {"basic": {}}
        spec = {"schedulingPolicy": how}
        yield {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": self.name, "namespace": NAMESPACE}, "spec": spec}

    def pods(self) -> Iterator[Object]:
        """Those on a node first."""
        places = [f"{self.name}-{number % self.nodes}" for number in range(self.running)]
        for number, place in enumerate([*places, *[""] * self.waiting]):
            containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]
            spec: Object = {
                "containers": containers,
                "nodeSelector": {POOL: self.name},
                "schedulingGroup": {"podGroupName": self.name},
                "tolerations": [{"operator": "Exists"}],
            }
            spec |= {"nodeName": place} if place else {}
            metadata = {"name": f"{self.name}-pod-{number}", "namespace": NAMESPACE, "labels": {POOL: self.name}}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """A control plane with pod groups, and a namespace in it."""
    with running_control_plane(("GenericWorkload", "GangScheduling"), (API,)) as plane:
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        plane.api.wait(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", bool, "the account of pods")
        yield plane.api


def test_as_many_are_bound_as_a_plan_places(api: Api) -> None:
    """Of each group: all that fit, or none."""
    random = Random(SEED)
    gangs = [Gang(number, random) for number in range(GROUPS)]
    before = [one for gang in gangs for one in gang.before()]
    api.create(*before)
    api.wait("/api/v1/nodes", lambda nodes: not any(one["spec"].get("taints") for one in nodes), "nodes without taints")
    pods = [one for gang in gangs for one in gang.pods()]
    made = api.create(*pods)
    placed = _placed([*before, *(_as_made(one) for one in made)])
    last = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "last", "namespace": NAMESPACE}, "spec": _plain(gangs[0])}
    api.create(last)

    def agrees(items: list[Object]) -> bool:
        refused = [one for one in items if one["metadata"]["name"] == "last" and one.get("status", {}).get("conditions")]
        return bool(refused) and _bound(gangs, items) == placed

    items = api.wait(PODS, agrees, f"as many bound as placed: {placed}", 120)
    assert _bound(gangs, items) == placed
    assert len(set(placed.values())) > 3


def _plain(gang: Gang) -> Object:
    """A pod that fits nowhere: it is looked at after all others."""
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "64"}}}]
    return {"containers": containers, "nodeSelector": {POOL: gang.name}}


def _as_made(pod: Object) -> Object:
    """A pod before kube-scheduler looked at it."""
    phase = "Running" if pod["spec"].get("nodeName") else "Pending"
    return pod | {"apiVersion": "v1", "kind": "Pod", "status": {"phase": phase}}


def _placed(objects: list[Object]) -> dict[str, int]:
    plan = plan_of(world_of(*objects), policy(node_group("none")), now=NOW)
    counts = Counter(line.pod.partition("/")[2][:7] for line in plan.pods if line.outcome is PodOutcome.FITS_EXISTING)
    names = {one["metadata"]["name"] for one in objects if one["kind"] == "PodGroup"}
    return {name: counts[name] for name in sorted(names)}


def _bound(gangs: list[Gang], items: list[Object]) -> dict[str, int]:
    counts = Counter(one["metadata"]["name"][:7] for one in items if one["spec"].get("nodeName"))
    return {gang.name: counts[gang.name] - gang.running for gang in gangs}
