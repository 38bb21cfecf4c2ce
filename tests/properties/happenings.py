"""What happens to a random loop from outside: demand changes, or a node dies."""

from random import Random

import msgspec

from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.journal import Happened


def kill_some_node(cluster: SimulatedCluster, rng: Random) -> bool:
    """One of the nodes that are there. False: there is none."""
    nodes = sorted(cluster.objects.nodes)
    if not nodes:
        return False
    cluster.kill_node(rng.choice(nodes))
    cluster.journal.add(cluster.now_seconds, Happened.SCENARIO, "run", detail="die")
    return True


def scale_some_workload(cluster: SimulatedCluster, rng: Random, most: int = 5) -> None:
    """Another number of replicas, up to `most`, for one of the workloads and for its controller."""
    workloads = [one for _, one in sorted(cluster.workloads.by_key.items())]
    if not workloads:
        return
    workload = rng.choice(workloads)
    before, wanted = workload.desired, rng.randint(0, most)
    cluster.journal.add(cluster.now_seconds, Happened.DEMAND_CHANGED, workload.key[2], before=before, after=wanted)
    cluster.workloads.scale(workload, wanted)
    controller = cluster.objects.controllers[workload.key]
    cluster.objects.controllers[workload.key] = msgspec.structs.replace(controller, replicas=wanted)
    cluster.objects.touch()
