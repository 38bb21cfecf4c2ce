"""Clusters in which ProvisioningRequests ask for room that is not there and that no growth which is allowed would give."""

import random
from functools import partial

from msgspec.structs import replace

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import RequestPods
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Limit, RequestReading, RequestsFrom
from tests.benchmarks.mixed.apps import PLAIN, Rules
from tests.benchmarks.mixed.clusters import MixedCluster
from tests.benchmarks.mixed.machines import MACHINES
from tests.benchmarks.mixed.situations import Situation
from tests.builders import NOW, policy

CHECK, GROW = (f"{name}.autoscaling.x-k8s.io" for name in ("check-capacity", "best-effort-atomic-scale-up"))
READ = RequestsFrom(provisioning_requests=RequestReading.READ)
_WEEK = 7 * 86_400
Sets = tuple[tuple[PodShape, int], ...]


def asked(
    seed: int, *, nodes: int = 2_000, requests: int = 50, over: int = 0, alike: bool = False, rules: Rules = PLAIN
) -> Situation:
    """Thirty pods a node and none that waits. Of ten `requests`, three ask for more than all groups may add, two for a machine
    that no group has, and the others for a small set as well as for one of these. Every other one only checks. A quarter repeats
    the pods of another one; with `alike` all have the same. `over` more are done."""
    cluster = MixedCluster(seed, rules)
    rng, groups = cluster.rng, len(MACHINES)
    cluster.add_groups(MACHINES, [nodes // groups + (number < nodes % groups) for number in range(groups)])
    numbers = cluster.add_apps(250, most_milli=2000)
    for machine in cluster.machines:
        cluster.fill(machine, numbers, rng.uniform(0.6, 0.97), most=32)
    few = [replace(group, size=replace(group.size, max=nodes // groups + rng.randrange(6))) for group in cluster.groups]
    made: list[Sets] = []
    for number in range(requests + over):
        if made and (alike or rng.random() < 0.25):
            sets = rng.choice(made)
        else:
            sets = _sets(rng, number, nodes)
            made.append(sets)
        request = RequestPods(
            namespace=sets[0][0].namespace, name=f"job-{number:03d}", uid=f"uid-{number}", valid_seconds=_WEEK,
            class_name=rng.choice((CHECK, GROW)), created_seconds=NOW - rng.randrange(60, 5 * 86_400), over=number >= requests,
        )  # fmt: skip
        cluster.ask(request, *sets)
    bounds = (Limit(name="all", max=(("nodes", nodes + 30),)),)
    return cluster.world(), policy(*few, limits=bounds, requests_from=READ), Memory()


def _sets(rng: random.Random, number: int, nodes: int) -> Sets:
    shape = partial(_shape, f"job-{number:03d}", f"team-{rng.randrange(12):02d}")
    huge = shape(rng.choice((4, 6, 7)), 4), rng.randrange(3 * nodes, 5 * nodes)
    strange = rng.choice((shape(200, 4), shape(1, 4, {"nvidia.com/gpu": 1}), _elsewhere(shape(1, 4)))), rng.randrange(1, 50)
    small = shape(1, rng.randrange(2, 5)), rng.randrange(1, 10)
    return rng.choice(((huge,),) * 3 + ((strange,),) * 2 + ((small, huge),) * 3 + ((small, strange),) * 2)


def _shape(name: str, namespace: str, cores: int, gib_each: int, extended: dict[str, int] | None = None) -> PodShape:
    amounts = Resources(
        cpu_milli=1000 * cores, memory_bytes=cores * gib_each << 30, pods=1, extended=tuple((extended or {}).items())
    )
    return PodShape(namespace=namespace, labels=(("job-name", name),), requests=amounts)


def _elsewhere(shape: PodShape) -> PodShape:
    return replace(shape, node_selector=(("pool-kind", "vector"),))
