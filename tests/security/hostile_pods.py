"""Pods whose constraints take long to look at, from a seed: everything that a tenant can write in a pod, in great numbers."""

import random
from collections.abc import Callable

import msgspec

from reconciler.cluster.pods.pod import AffinityTerm, ClaimUse, HostPort, Owner, SpreadConstraint, Toleration, VolumeUse
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.world import World
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import ClusterBuilder

TERMS = 50
PORTS = 100
LISTED = 1_000
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
        traits = shape.pop("traits", {})
        cluster.pods(f"hostile-{number}", 1, cpu="10m", namespace=TENANT, labels=labels, shape=shape, traits=traits, on=place)
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


def _labels(rng: random.Random) -> dict[str, object]:
    return {
        "labels": tuple(sorted({f"label-{rng.randrange(9_999)}": f"value-{rng.randrange(1_000)}" for _ in range(LISTED)}.items()))
    }


def _resources(rng: random.Random) -> dict[str, object]:
    """Extended resources that no node has, never the same."""
    named = {f"example.com/r-{rng.randrange(1 << 40)}": rng.randrange(1, 1 << 53) for _ in range(PORTS)}
    return {"requests": Resources(pods=1, cpu_milli=10, extended=tuple(sorted(named.items())))}


def _quantities(rng: random.Random) -> dict[str, object]:
    """Any amounts and priorities that the API server takes."""
    return {
        "requests": Resources(
            pods=1,
            cpu_milli=rng.choice((0, 1, rng.randrange(1 << 62))),
            memory_bytes=rng.choice((0, 1, rng.randrange(1 << 62))),
            ephemeral_bytes=rng.choice((0, 1, rng.randrange(1 << 62))),
        ),
        "priority": rng.randrange(-(1 << 31), 1_000_000_000),
    }


def _node_selector(rng: random.Random) -> dict[str, object]:
    return {
        "node_selector": tuple(
            sorted({f"key-{rng.randrange(9_999)}": f"value-{rng.randrange(9)}" for _ in range(LISTED)}.items())
        )
    }


def _hosts(rng: random.Random) -> dict[str, object]:
    """Node affinity by the names of hosts, so that each node is judged by itself."""
    values = tuple(sorted({f"general-{rng.randrange(1_000_000)}" for _ in range(LISTED)}))
    key = rng.choice(("kubernetes.io/hostname", "zone"))
    terms = [NodeSelectorTerm((Requirement(key, "NotIn", values), Requirement("zone", "Exists", ()))) for _ in range(5)]
    fields = NodeSelectorTerm((), (Requirement("metadata.name", "NotIn", (values[0],)),))
    return {"required_terms": (*terms, fields), "host_name_bound": True}


def _disks(rng: random.Random) -> dict[str, object]:
    kinds = ("AWSElasticBlockStore", "GCEPersistentDisk", "AzureDisk", "ISCSI", "RBD", "Cinder")
    made = {VolumeUse(kind=rng.choice(kinds), identity=f"disk-{rng.randrange(99_999)}") for _ in range(TERMS)}
    return {"volumes": tuple(sorted(made))}


def _own_claims(rng: random.Random) -> dict[str, object]:
    made = {VolumeUse(kind="PersistentVolumeClaim", claim=f"pod-{rng.randrange(1 << 40)}", ephemeral=True) for _ in range(TERMS)}
    return {"volumes": tuple(sorted(made))}


def _claims(rng: random.Random) -> dict[str, object]:
    return {"claims": tuple(ClaimUse(name="c", claim=f"claim-{rng.randrange(1 << 40)}") for _ in range(LISTED))}


def _named_namespaces(rng: random.Random) -> dict[str, object]:
    """Terms that name thousands of namespaces, the tenant's among them."""
    made = []
    for _ in range(5):
        names = (TENANT, *(f"namespace-{rng.randrange(99_999)}" for _ in range(LISTED)))
        made.append(AffinityTerm(topology_key=_key(rng), selector=_selector(rng), namespaces=tuple(sorted(set(names)))))
    return {"anti_affinity": tuple(made), "affinity": tuple(made[:1])}


def _long_selectors(rng: random.Random) -> dict[str, object]:
    """Selectors of a thousand values, and of a hundred requirements."""
    values = tuple(sorted({f"value-{rng.randrange(9_999)}" for _ in range(LISTED)}))
    long = LabelSelector((Requirement("label-0", rng.choice(("In", "NotIn")), values),))
    deep = LabelSelector(tuple(Requirement(f"label-{key}", "NotIn", (f"value-{rng.randrange(9_999)}",)) for key in range(PORTS)))
    terms = tuple(AffinityTerm(topology_key=_key(rng), selector=one, namespaces=(TENANT,)) for one in (long, deep))
    spread = tuple(SpreadConstraint(topology_key=_key(rng), max_skew=9, selector=one) for one in (long, deep))
    return {"anti_affinity": terms, "spread": spread}


def _owners(rng: random.Random) -> dict[str, object]:
    """Owners that nobody else has, with names and annotations as long as they may be."""
    owner = Owner(
        f"{rng.randrange(1 << 40)}.example.com", "K" * 60, f"{rng.randrange(1 << 40)}".rjust(253, "a"), f"uid-{rng.random()}"
    )
    volumes = tuple(f"volume-{rng.randrange(1 << 40)}" for _ in range(LISTED))
    return {
        "traits": {
            "controller": owner,
            "safe_to_evict": "x" * rng.randrange(100_000),
            "safe_local_volumes": volumes,
            "local_volumes": volumes,
        }
    }


def _everything(rng: random.Random) -> dict[str, object]:
    """Any of it at once, what keeps pods of other namespaces away aside."""
    kinds = rng.sample(sorted(set(KINDS) - {"everything", "other namespaces"}), 5)
    return {field: value for kind in kinds for field, value in KINDS[kind](rng).items()}


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
    "labels": _labels,
    "extended resources": _resources,
    "quantities": _quantities,
    "node selector": _node_selector,
    "host names": _hosts,
    "disks": _disks,
    "claims of pods": _own_claims,
    "resource claims": _claims,
    "named namespaces": _named_namespaces,
    "long selectors": _long_selectors,
    "owners": _owners,
    "everything": _everything,
}
