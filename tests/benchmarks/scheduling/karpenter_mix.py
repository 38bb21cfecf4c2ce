"""Karpenter's scheduling benchmark, rebuilt from its description: a fifth each of generic pods, zone spread, host spread, zone
self-affinity and host anti-affinity; sizes at random from five amounts of cpu and six of memory, seven label values, seed 42;
400 templates of i+1 cores, 2(i+1) GiB and 10(i+1) pods, in three zones. Every pod must be placed.

Karpenter itself needs 17.4 s for 10,000 pods on a machine with 2 cores (2000 nodes).
"""

import random
from collections import Counter
from collections.abc import Iterator

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, ZONE_LABEL, NodeShape
from reconciler.cluster.pods.pod import AffinityTerm, PodShape, SpreadConstraint
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling.packing import Packing, PackTemplate, pack
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.benchmarks.measure import Case

CPU_MILLI = (100, 250, 500, 1000, 1500)
MEMORY_MIB = (100, 256, 512, 1024, 2048, 4096)
KINDS = ("generic", "zone-spread", "host-spread", "zone-affinity", "host-anti-affinity")


def cases() -> Iterator[Case]:
    """The mix at the size that Karpenter publishes."""
    world, demands = mix(10_000)

    def run() -> int:
        packing = packed(world, demands)[1]
        placed = sum(count for _, _, count in packing.bindings)
        if placed != 10_000:
            raise RuntimeError(f"{placed} of 10,000 pods were placed")
        return len(packing.nodes)

    yield Case("Karpenter mix, 10,000 pods, 400 templates", run, bound_seconds=0.85)


def templates() -> list[PackTemplate]:
    """The 400 templates, a zone each in turn; the smaller is the cheaper."""
    found = []
    for number in range(400):
        size = Resources(cpu_milli=1000 * (number + 1), memory_bytes=(2 * (number + 1)) << 30, pods=10 * (number + 1))
        labels = ((ZONE_LABEL, f"zone-{'abc'[number % 3]}"),)
        found.append(PackTemplate(shape=NodeShape(labels=labels, capacity=size, allocatable=size), cost=size.cpu_milli))
    return found


def mix(count: int) -> tuple[World, list[tuple[int, int]]]:
    """A World that knows the pod shapes, and the demands, large ones first."""
    rng = random.Random(42)
    found: Counter[PodShape] = Counter()
    for number in range(count):
        kind = KINDS[number * len(KINDS) // count]
        label = rng.choice("abcdefg")
        found[_shape(kind, label, rng.choice(CPU_MILLI), rng.choice(MEMORY_MIB))] += 1
    order = sorted(found, key=lambda shape: (-shape.requests.cpu_milli, -shape.requests.memory_bytes, shape.labels))
    world = World(captured_seconds=0, pod_shapes=tuple(order))
    return world, [(index, found[shape]) for index, shape in enumerate(order)]


def packed(world: World, demands: list[tuple[int, int]]) -> tuple[SchedulingState, Packing]:
    """The state with the result in it."""
    state = SchedulingState(world)
    return state, pack(state, demands, templates())


def _shape(kind: str, label: str, cpu_milli: int, memory_mib: int) -> PodShape:
    key, value = ("app", "nginx") if kind == "host-anti-affinity" else (f"{kind}-label", label)
    own = LabelSelector((Requirement(key, "In", (value,)),))
    topology = HOSTNAME_LABEL if kind.startswith("host") else ZONE_LABEL
    term = (AffinityTerm(topology_key=topology, selector=own, namespaces=("bench",)),)
    return PodShape(
        namespace="bench",
        labels=((key, value),),
        requests=Resources(cpu_milli=cpu_milli, memory_bytes=memory_mib << 20, pods=1),
        spread=(SpreadConstraint(topology_key=topology, max_skew=1, selector=own),) if kind.endswith("spread") else (),
        affinity=term if kind == "zone-affinity" else (),
        anti_affinity=term if kind == "host-anti-affinity" else (),
    )
