"""Clusters for LeastCost: groups from zero with prices, and pods that wait."""

import random

from reconciler.cluster.world import World
from reconciler.policy.documents import Expander, PolicySet
from reconciler.policy.pace import Pace
from tests.builders import ClusterBuilder, node_group, policy

LEAST_COST = (Expander.LEAST_COST, Expander.LEAST_WASTE)


def random_demand(seed: int, *, pods: int, shapes: int, groups: int = 8) -> tuple[World, PolicySet]:
    """`pods` pending pods in `shapes` shapes over `groups` groups without nodes, prices near what such nodes cost."""
    rng = random.Random(seed)
    cluster, documents = ClusterBuilder(), []
    for number in range(groups):
        cores = rng.choice((4, 8, 16, 16, 32, 48))
        gib = cores * rng.choice((2, 4, 8))
        price = (cores * 31_611 + gib * 4_237) * rng.uniform(0.8, 1.25) / 1e6
        cluster.group(f"group-{number}", nodes=0, cpu=str(cores), memory=f"{gib}Gi")
        documents.append(node_group(f"group-{number}", max=10_000, price_per_hour=f"{price:.4f}"))
    for number in range(shapes):
        milli = rng.choice((250, 500, 750, 1000, 1500, 2000, 3000))
        mebi = milli * rng.choice((1, 2, 4, 8))
        cluster.pods(f"app-{number}", pods // shapes, cpu=f"{milli}m", memory=f"{mebi}Mi")
    return cluster.world(), policy(*documents, expanders=LEAST_COST, pace=Pace(max_added_nodes=20_000))
