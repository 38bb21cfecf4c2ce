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
TOPOLOGY_KEYS = ("kubernetes.io/hostname", "zone", "pool", "kubernetes.io/arch", "kubernetes.io/os", "key-0", "key-1", "key-2")


def hostile_world(seed: int, kinds: tuple[str, ...], hostile: int, ordinary: int, *, running: bool = False) -> World:
    """`hostile` pods of one namespace, each with these kinds of constraints, next to `ordinary` ones of ten others."""
    rng = random.Random(seed)
    cluster = ClusterBuilder()
    nodes = cluster.group("general", nodes=100, cpu="16", labels={"zone": "a", **{f"key-{number}": "a" for number in range(3)}})
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


def _own_sets(rng: random.Random) -> dict[str, object]:
    """A third of the pods of the namespace for each topology key, never the same third."""
    values = [tuple(sorted(f"value-{rng.randrange(1_000)}" for _ in range(400))) for _ in TOPOLOGY_KEYS]
    selectors = [LabelSelector((Requirement("label-0", "In", tuple(sorted(set(some)))),)) for some in values]
    terms = [
        AffinityTerm(topology_key=key, selector=one, namespaces=(TENANT,))
        for key, one in zip(TOPOLOGY_KEYS, selectors, strict=True)
    ]
    return {
        "anti_affinity": tuple(terms),
        "spread": tuple(SpreadConstraint(topology_key=term.topology_key, max_skew=9, selector=term.selector) for term in terms),
    }


def _own_domains(rng: random.Random) -> dict[str, object]:
    """Spread over nodes that each pod alone counts, since its node affinity is like no other."""
    values = tuple(sorted(f"value-{rng.randrange(9_999)}" for _ in range(20)))
    return {
        "required_terms": (NodeSelectorTerm((Requirement("zone", "NotIn", values),)),),
        "spread": tuple(SpreadConstraint(topology_key=key, max_skew=9, selector=_selector(rng)) for key in TOPOLOGY_KEYS),
    }


def _own_keys(rng: random.Random) -> dict[str, object]:
    """Topology keys that no node has, never the same."""
    keys = [f"nowhere-{rng.randrange(1 << 40)}" for _ in range(TERMS)]
    return {
        "affinity": tuple(AffinityTerm(topology_key=key, selector=_selector(rng), namespaces=(TENANT,)) for key in keys),
        "anti_affinity": tuple(AffinityTerm(topology_key=key, selector=_selector(rng), namespaces=(TENANT,)) for key in keys),
        "spread": tuple(SpreadConstraint(topology_key=key, max_skew=9, selector=_selector(rng)) for key in keys),
    }


def _other_namespaces(rng: random.Random) -> dict[str, object]:
    """Anti-affinity to pods of all namespaces, picked by their labels."""
    return {
        "anti_affinity": tuple(
            AffinityTerm(
                topology_key=_key(rng),
                selector=_selector(rng),
                namespace_selector=LabelSelector((Requirement("team", "NotIn", (f"value-{rng.randrange(9_999)}",)),)),
            )
            for _ in range(TERMS)
        )
    }


KINDS: dict[str, Callable[[random.Random], dict[str, object]]] = {
    "anti-affinity": lambda rng: {"anti_affinity": _terms(rng)},
    "affinity": lambda rng: {"affinity": _terms(rng)},
    "spread": _spread,
    "host ports": _ports,
    "tolerations": _tolerations,
    "node affinity": _node_terms,
    "volumes": _volumes,
    "own sets": _own_sets,
    "own domains": _own_domains,
    "own keys": _own_keys,
    "other namespaces": _other_namespaces,
}
