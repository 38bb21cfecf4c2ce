"""Pods that spread over zones whose groups have different prices."""

import random

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.cluster.world import World
from reconciler.policy.documents import PolicySet
from reconciler.policy.pace import Pace
from tests.builders import ClusterBuilder, node_group, policy, selector
from tests.decisions.growth.cost.worlds import LEAST_COST

ZONE = "topology.kubernetes.io/zone"


def spread_demand(seed: int, *, pods: int = 117, shapes: int = 3, types: int = 3) -> tuple[World, PolicySet]:
    """Machines of several types in each of three zones, at prices of their own, with a full node each, so that the zones are
    known; a third of the pods of every shape belongs in each."""
    rng = random.Random(seed)
    cluster, documents = ClusterBuilder(), []
    for kind, cores in enumerate(rng.sample((4, 8, 8, 16, 16, 32, 48), types)):
        gib = cores * rng.choice((2, 4, 8))
        for zone in "abc":
            name, price = f"g{kind}{zone}", (cores * 31_611 + gib * 4_237) * rng.uniform(0.8, 1.25) / 1e6
            (node,) = cluster.group(name, nodes=1, cpu=str(cores), memory=f"{gib}Gi", labels={ZONE: zone})
            cluster.pods(f"full-{kind}{zone}", 1, cpu=str(cores), memory=f"{gib}Gi", on=node)
            documents.append(node_group(name, max=10_000, price_per_hour=f"{price:.4f}"))
    for number in range(shapes):
        milli = rng.choice((250, 500, 750, 1000, 1500, 2000, 3000))
        mebi = milli * rng.choice((1, 2, 4, 8))
        spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app=f"s{number}"))
        cluster.pods(f"s{number}", pods // shapes, cpu=f"{milli}m", memory=f"{mebi}Mi", shape={"spread": (spread,)})
    return cluster.world(), policy(*documents, expanders=LEAST_COST, pace=Pace(max_added_nodes=20_000))
