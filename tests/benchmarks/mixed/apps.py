"""Applications: how large, how many, and what rules their authors wrote."""

import random

import msgspec

from reconciler.cluster.pods.pod import AffinityTerm, HostPort, Owner, PodShape, PodTraits, SpreadConstraint, Toleration
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget
from tests.builders import selector

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
# What people write into manifests, with its weight; a third of the apps carry what a recommender measured instead.
_WRITTEN_MILLI = {25: 4, 50: 8, 100: 20, 200: 12, 250: 14, 500: 14, 1000: 10, 1500: 3, 2000: 5, 4000: 2}


class Rules(msgspec.Struct, frozen=True):
    """Of a hundred apps, how many have each rule."""

    spread_zones: int = 0
    apart: int = 0
    disruption_budget: int = 0
    pinned_pool: int = 0
    host_ports: int = 0
    spread_hosts: int = 0
    near: int = 0


PLAIN = Rules()
USUAL = Rules(spread_zones=12, apart=6, disruption_budget=40, pinned_pool=8)
"""Roughly what charts of public applications come with."""


class App(msgspec.Struct, frozen=True):
    """One application: the shape and traits of its pods, its controller and its budget, if it has one."""

    name: str
    shape: PodShape
    traits: PodTraits
    kind: str
    budget: DisruptionBudget | None = None

    def controller(self, replicas: int) -> Controller:
        """Its controller, with so many pods asked for."""
        owner = self.traits.controller
        uid = owner.uid if owner is not None else ""
        return Controller(
            api_group="apps", kind=self.kind, namespace=self.shape.namespace, name=self.name, uid=uid, replicas=replicas
        )


def draw_app(rng: random.Random, number: int, rules: Rules, *, most_milli: int = 4000, scale: float = 1.0) -> App:
    """One app. Requests are at most `most_milli`; `scale` makes all of them larger or smaller."""
    name, namespace = f"app-{number:04d}", f"team-{rng.randrange(12):02d}"
    shape = PodShape(namespace=namespace, labels=(("app", name),), requests=_requests(rng, most_milli, scale))
    if rng.randrange(100) < rules.spread_zones:
        spread = (SpreadConstraint(topology_key=ZONE, max_skew=rng.choice((1, 1, 2)), selector=selector(app=name)),)
        shape = msgspec.structs.replace(shape, spread=spread)
    if rng.randrange(100) < rules.apart:
        shape = msgspec.structs.replace(shape, anti_affinity=(apart(name, namespace),))
    if rng.randrange(100) < rules.pinned_pool:
        tolerations = (Toleration("dedicated", "Equal", "batch", "NoSchedule"),)
        shape = msgspec.structs.replace(shape, tolerations=tolerations, node_selector=(("pool-kind", "batch"),))
    if rng.randrange(100) < rules.spread_hosts:
        spread = (*shape.spread, SpreadConstraint(topology_key=HOST, max_skew=rng.choice((1, 2)), selector=selector(app=name)))
        shape = msgspec.structs.replace(shape, spread=spread)
    if rng.randrange(100) < rules.host_ports:
        shape = msgspec.structs.replace(shape, host_ports=(HostPort(rng.choice((8080, 9090))),))
    if rng.randrange(100) < rules.near:
        other = f"app-{rng.randrange(number + 1):04d}"
        near = AffinityTerm(
            topology_key=rng.choice((ZONE, HOST)), selector=selector(app=rng.choice((name, other))), namespaces=(namespace,)
        )
        shape = msgspec.structs.replace(shape, affinity=(near,))
    kind = rng.choices(("ReplicaSet", "StatefulSet"), (85, 15))[0]
    traits = PodTraits(namespace=namespace, controller=Owner("apps", kind, name, f"uid-{name}"))
    return App(name, shape, traits, kind, _budget(rng, shape, name) if rng.randrange(100) < rules.disruption_budget else None)


def apart(name: str, namespace: str) -> AffinityTerm:
    """One pod of the app a node."""
    return AffinityTerm(topology_key=HOST, selector=selector(app=name), namespaces=(namespace,))


def replica_counts(rng: random.Random, apps: int, pods: int) -> list[int]:
    """How many pods each app has: a few are very large, most are small; they sum up to `pods`."""
    weights = [rng.paretovariate(1.1) for _ in range(apps)]
    whole = sum(weights)
    counts = [max(1, int(pods * weight / whole)) for weight in weights]
    counts[0] = max(1, counts[0] + pods - sum(counts))
    return counts


def _requests(rng: random.Random, most_milli: int, scale: float) -> Resources:
    if rng.random() < 1 / 3:
        milli = round(rng.lognormvariate(5.2, 0.9))
    else:
        milli = rng.choices(tuple(_WRITTEN_MILLI), tuple(_WRITTEN_MILLI.values()))[0]
    milli = max(5, min(most_milli, round(milli * scale)))
    # MiB a core: around 4 GiB, from compute-bound to caches.
    mebi = milli * min(12_000, max(800, rng.lognormvariate(8.0, 0.7))) / 1000
    step = 1 if rng.random() < 1 / 3 else 64 if mebi > 256 else 16
    return Resources(cpu_milli=milli, memory_bytes=max(16, round(mebi / step) * step) << 20, pods=1)


def _budget(rng: random.Random, shape: PodShape, name: str) -> DisruptionBudget:
    most = rng.choice(("1", "25%", "25%", "10%"))
    return DisruptionBudget(
        namespace=shape.namespace, name=name, selector=selector(app=name), max_unavailable=most, disruptions_allowed=0
    )
