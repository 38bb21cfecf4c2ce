"""Random clusters with PodGroups: how many pods of each group does the whole kube-scheduler bind, and how many does a plan place?

Each group has nodes to itself, of one kind for each kind of its pods, so that the numbers hang on no choice among nodes.
Left out are terminating members, which kube-scheduler counts until they are gone and a plan does not. Left out are pods of a
scheduler that runs elsewhere, too: kube-scheduler does not see them, and a plan gives their group up.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.reasons.pods import GangPreempts
from reconciler.plan.plan import PodOutcome
from reconciler.values.instant import instant_text
from tests.builders import NOW, node_group, policy
from tests.cluster.objects import CREATED, world_of
from tests.decisions.deciding import plan_of
from tests.differential.oracle import Oracle, Release

Object = dict[str, Any]
NAMESPACE = "gangs"


class Kind(msgspec.Struct, frozen=True):
    """Pods of one kind with nodes of their own. Each takes a core."""

    nodes: int
    cores: int
    running: int
    finished: int
    waiting: int
    gated: int
    tolerates: bool


def cluster(seed: int, api: str) -> list[Object]:
    """The objects of one cluster."""
    random = Random(f"pod-groups:{seed}")
    found: list[Object] = []
    for number in range(random.randint(1, 4)):
        found += _group(f"gang-{number}", random, api)
    return found


def _group(name: str, random: Random, api: str) -> Iterator[Object]:
    least = random.choice((0, *range(1, 10)))
    priority = random.choice((0, 0, 0, 7))
    odd = random.choice(
        ("", "", "", "", "priority", "running priority", "preemption", "running preemption", "no group", "no policy of pods")
    )
    if odd != "no group":
        how: Object = {"gang": {"minCount": least}} if least else {"basic": {}}
        spec = {"schedulingPolicy": how, "priority": priority}
        yield {"apiVersion": api, "kind": "PodGroup", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
    kinds = random.choice((1, 1, 2))
    for number in range(kinds):
        nodes, cores = random.randint(1, 4), random.randint(1, 3)
        running = random.randint(0, min(3, nodes * cores))
        kind = Kind(
            nodes, cores, running, random.randint(0, 1), random.randint(0, 7), random.choice((0, 0, 0, 1)), random.random() < 0.5
        )
        yield from _of_kind(f"{name}-{number}", name, kind, priority, odd, random)


def _of_kind(pool: str, group: str, kind: Kind, priority: int, odd: str, random: Random) -> Iterator[Object]:
    for number in range(kind.nodes):
        yield _node(f"{pool}-{number}", pool, kind.cores, random)
    places = [f"{pool}-{number % kind.nodes}" for number in range(kind.running)]
    rows = [("running", place) for place in places]
    rows += [("finished", f"{pool}-0")] * kind.finished + [("gated", "")] * kind.gated + [("waiting", "")] * kind.waiting
    for number, (state, place) in enumerate(rows):
        spec: Object = {
            "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
            "nodeSelector": {"pool": pool},
            "schedulingGroup": {"podGroupName": group},
            "priority": priority,
            "preemptionPolicy": "Never",
        }
        spec |= {"nodeName": place} if place else {}
        spec |= {"schedulingGates": [{"name": "example.com/later"}]} if state == "gated" else {}
        spec |= {"tolerations": [{"operator": "Exists"}]} if kind.tolerates else {}
        if odd == "priority" or (odd == "running priority" and state == "running"):
            spec["priority"] = priority + 1
        if (odd == "preemption" and random.random() < 0.3) or (odd == "running preemption" and state == "running"):
            spec["preemptionPolicy"] = "PreemptLowerPriority"
        if odd == "no policy of pods":
            del spec["preemptionPolicy"]
        phase = {"running": "Running", "finished": "Succeeded"}.get(state, "Pending")
        name = f"{pool}-{state}-{number}"
        metadata = {"name": name, "namespace": NAMESPACE, "uid": name, "creationTimestamp": CREATED, "labels": {"pool": pool}}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def _node(name: str, pool: str, cores: int, random: Random) -> Object:
    amounts = {"cpu": str(cores), "memory": "16Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    spec: Object = random.choice(({}, {}, {}, {"taints": [{"key": "own", "effect": "NoSchedule"}]}))
    metadata = {"name": name, "labels": {"pool": pool, "kubernetes.io/hostname": name}}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def crowded(seed: int, api: str) -> list[Object]:
    """Gangs that fit nowhere, or only without pods of lower priority. Each has nodes to itself, and needs all its pods."""
    random = Random(f"preemption:{seed}")
    found: list[Object] = []
    for number in range(random.randint(1, 3)):
        found += _crowd(f"gang-{number}", random, api)
    return found


def _crowd(name: str, random: Random, api: str) -> Iterator[Object]:
    nodes, cores, least, cpu = random.randint(1, 4), random.randint(1, 4), random.randint(2, 6), random.choice(("1", "1", "2"))
    policy = random.choice(("PreemptLowerPriority", "PreemptLowerPriority", "PreemptLowerPriority", "Never"))
    yield _pod_group(name, api, least, 5)
    whole, low = f"{name}-whole", random.choice((0, 0, 5, 9))
    yield _pod_group(whole, api, 1, low, disruptionMode="PodGroup" if api.endswith("v1alpha2") else {"all": {}})
    for number in range(nodes):
        yield _node(f"{name}-0-{number}", name, cores, random)
    for number in range(nodes * cores):
        if random.random() < 0.8:
            spec = {"priority": random.choice((0, 4, 5, 9)), "nodeName": f"{name}-0-{number % nodes}"}
            if random.random() < 0.3:
                spec |= {"priority": low, "schedulingGroup": {"podGroupName": whole}}
            yield _pod(f"{name}-0-running-{number}", name, "1", spec)
    for number in range(least):
        spec = {"priority": 5, "preemptionPolicy": policy, "schedulingGroup": {"podGroupName": name}}
        yield _pod(f"{name}-0-waiting-{number}", name, cpu, spec)


def _pod_group(name: str, api: str, least: int, priority: int, **more: object) -> Object:
    spec = {"schedulingPolicy": {"gang": {"minCount": least}}, "priority": priority, **more}
    return {"apiVersion": api, "kind": "PodGroup", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def _pod(name: str, pool: str, cpu: str, more: Object) -> Object:
    """A pod that was created just now."""
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": name,
        "creationTimestamp": instant_text(NOW),
        "labels": {"pool": pool},
    }
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"containers": containers, "nodeSelector": {"pool": pool}, "tolerations": [{"operator": "Exists"}]}
    spec |= {"preemptionPolicy": "PreemptLowerPriority", **more}
    phase = "Running" if "nodeName" in more else "Pending"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def preempted_for(oracle: Oracle, objects: list[Object]) -> set[str]:
    """The kinds of pods for which kube-scheduler has removed others."""
    after = oracle.ask({"kind": "List", "items": objects})
    return {_kind(_key(item)) for item in objects if item["kind"] == "Pod" and _key(item) not in after}


def expected_to_preempt(objects: list[Object], release: Release) -> set[str]:
    """The kinds of pods that a plan expects to get room so."""
    plan = plan_of(_world(objects, release), policy(node_group("none")), now=NOW)
    return {_kind(line.pod) for line in plan.pods if any(reason.code == GangPreempts.code for reason in line.reasons)}


def bound(oracle: Oracle, objects: list[Object]) -> Counter[str]:
    """How many pods of each kind kube-scheduler has bound."""
    before = {_key(item): item["spec"].get("nodeName", "") for item in objects if item["kind"] == "Pod"}
    after = oracle.ask({"kind": "List", "items": objects})
    return Counter(_kind(key) for key, node in after.items() if node and not before[key])


def placed(objects: list[Object], release: Release) -> Counter[str]:
    """How many pods of each kind a plan sees on the nodes that are there."""
    plan = plan_of(_world(objects, release), policy(node_group("none")), now=NOW)
    return Counter(_kind(line.pod) for line in plan.pods if line.outcome is PodOutcome.FITS_EXISTING)


def _world(objects: list[Object], release: Release) -> World:
    return msgspec.structs.replace(world_of(*objects), scheduler_version=release.numbers)


def _key(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def _kind(pod: str) -> str:
    """`gang-0-1` of `gangs/gang-0-1-waiting-3`."""
    return "-".join(pod.rpartition("/")[2].split("-")[:3])
