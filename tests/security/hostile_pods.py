"""Pods whose constraints take long to look at, from a seed: everything that a tenant can write in a pod, in great numbers."""

import random
from collections.abc import Callable

import msgspec

from reconciler.cluster.pods.pod import AffinityTerm, HostPort, SpreadConstraint, Toleration, VolumeUse
from reconciler.cluster.values.selector import LabelSelector, NodeSelectorTerm, Requirement
from reconciler.cluster.world import World
from tests.builders import ClusterBuilder

TERMS = 50
PORTS = 100
TENANT = "tenant"


def hostile_world(seed: int, kinds: tuple[str, ...], hostile: int, ordinary: int, *, running: bool = False) -> World:
    """`hostile` pods of one namespace, each with these kinds of constraints, next to `ordinary` ones of ten others."""
    rng = random.Random(seed)
    cluster = ClusterBuilder()
    nodes = cluster.group("general", nodes=100, cpu="16", labels={"zone": "a"})
    for number in range(ordinary // 10):
        cluster.pods(f"web-{number}", 10, cpu="100m", namespace=f"team-{number % 10}")
    for number in range(hostile):
        shape = {field: value for kind in kinds for field, value in KINDS[kind](rng).items()}
        labels = {f"label-{key}": f"value-{rng.randrange(1_000)}" for key in range(20)}
        place = nodes[number % len(nodes)] if running else None
        cluster.pods(f"hostile-{number}", 1, cpu="10m", namespace=TENANT, labels=labels, shape=shape, on=place)
    return cluster.world()


def _selector(rng: random.Random) -> LabelSelector:
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    values = tuple(sorted({f"value-{rng.randrange(1_000)}" for _ in range(10)})) if operator in ("In", "NotIn") else ()
    return LabelSelector((Requirement(f"label-{rng.randrange(20)}", operator, values),))


def _key(rng: random.Random) -> str:
    return rng.choice(("kubernetes.io/hostname", "zone", *(f"key-{number}" for number in range(5))))


def _terms(rng: random.Random) -> tuple[AffinityTerm, ...]:
    found = {AffinityTerm(topology_key=_key(rng), selector=_selector(rng), namespaces=(TENANT,)) for _ in range(TERMS)}
    return tuple(sorted(found, key=msgspec.json.encode))


def _spread(rng: random.Random) -> dict[str, object]:
    made = {SpreadConstraint(topology_key=_key(rng), max_skew=rng.randint(1, 9), selector=_selector(rng)) for _ in range(TERMS)}
    return {"spread": tuple(sorted(made, key=msgspec.json.encode))}


def _ports(rng: random.Random) -> dict[str, object]:
    return {
        "host_ports": tuple(
            sorted(
                HostPort(rng.randrange(1, 65_536), rng.choice(("TCP", "UDP")), f"10.0.{rng.randrange(256)}.{rng.randrange(256)}")
                for _ in range(PORTS)
            )
        )
    }


def _tolerations(rng: random.Random) -> dict[str, object]:
    made = {Toleration(f"key-{rng.randrange(9_999)}", "Equal", f"value-{rng.randrange(9)}", "NoSchedule") for _ in range(PORTS)}
    return {"tolerations": tuple(sorted(made))}


def _node_terms(rng: random.Random) -> dict[str, object]:
    values = [tuple(sorted(f"value-{rng.randrange(9_999)}" for _ in range(20))) for _ in range(TERMS)]
    return {"required_terms": tuple(NodeSelectorTerm((Requirement(_key(rng), "NotIn", some),)) for some in values)}


def _volumes(rng: random.Random) -> dict[str, object]:
    made = {VolumeUse(kind="PersistentVolumeClaim", claim=f"claim-{rng.randrange(9_999)}") for _ in range(TERMS)}
    return {"volumes": tuple(sorted(made))}


KINDS: dict[str, Callable[[random.Random], dict[str, object]]] = {
    "anti-affinity": lambda rng: {"anti_affinity": _terms(rng)},
    "affinity": lambda rng: {"affinity": _terms(rng)},
    "spread": _spread,
    "host ports": _ports,
    "tolerations": _tolerations,
    "node affinity": _node_terms,
    "volumes": _volumes,
}
