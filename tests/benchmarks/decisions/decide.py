"""Whole decisions: `decide` alone, on Worlds that are there already. In brackets what the Cluster Autoscaler 1.36.1 needs for
one loop on a machine with 2 cores; each case checks what it decided, since a figure for a wrong answer is worth nothing."""

import random
from collections.abc import Callable, Iterator

from reconciler.cluster.pods.pod import AffinityTerm, Owner, SpreadConstraint
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Budget, PolicySet, Template, TemplateDevices
from reconciler.policy.pace import Pace
from tests.benchmarks.measure import Case
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.device_cluster import DRIVER, SERVING, DeviceCluster

ZONE = "topology.kubernetes.io/zone"
OPEN = (Budget(nodes=1_000_000),)
PLENTY = 10**12


def cases() -> Iterator[Case]:
    """The workloads of the Cluster Autoscaler's own benchmarks and of its known weaknesses."""
    yield Case("50,000 ownerless pods, 1 group [7.2 s]", _run(*_ownerless(), change=1000), bound_seconds=0.12)
    yield Case("50 ReplicaSets x 1,000, 20 groups [11.2 s]", _run(*_replica_sets(), change=1000), bound_seconds=0.1)
    yield Case("host anti-affinity, 1,000 x 20 groups [13.6 s]", _run(*_apart(), change=1000), bound_seconds=0.13)
    yield Case("zone spread, 1,000 pods, 3 groups [252 loops]", _run(*_spread(), change=252), bound_seconds=0.1)
    yield Case("zone spread, 20 x 100 pods, 300 groups", _run(*_many_groups()))
    yield Case("2,000 nodes x 40 pods at 40% [7.8 s]", _run(*_half_empty(), change=-1200), bound_seconds=0.35)
    yield Case("5,000 nodes, 150,000 pods, 5,000 pending [13.8 s]", _run(*_large(5_000, 20, 5_000, 0)), bound_seconds=0.4)
    yield Case("15,000 nodes, 450,000 pods, 1,000 candidates", _run(*_large(15_000, 100, 5_000, 1_000)), bound_seconds=1.2)
    yield Case("2,000 nodes x 8 devices, 10,000 pods with claims", _run(*_with_claims(), change=0), bound_seconds=1.0)
    yield Case("2,000 nodes x 8 devices from zero, 10,000 pods", _run(*_devices_from_zero(), change=1250), bound_seconds=1.0)
    yield Case("2,000 nodes x 8 devices, 10,000 pods with extended resources", _run(*_with_cards(), change=0), bound_seconds=1.0)


def _run(world: World, rules: PolicySet, memory: Memory, change: int | None = None) -> Callable[[], object]:
    def run() -> str:
        plan, _ = decide(world, rules, memory, NOW, PLENTY)
        made = sum(group.desired - group.current for group in plan.groups)
        if change is not None and made != change:
            raise RuntimeError(f"{made} nodes instead of {change}: {plan.summary}")
        return plan.summary

    return run


def _with_claims() -> tuple[World, PolicySet, Memory]:
    """9,000 pods that run with one device each, and 1,000 that wait and fit."""
    cluster = DeviceCluster()
    return _devices_in_use(cluster, cluster.train).world(), policy(node_group("gpu", max=10_000)), Memory()


def _with_cards() -> tuple[World, PolicySet, Memory]:
    """The same, where pods ask for the devices as an extended resource of their class."""
    cluster = DeviceCluster()
    world = _devices_in_use(cluster, cluster.cards).world(device_classes=(SERVING,))
    return world, policy(node_group("gpu", max=10_000)), Memory()


def _devices_in_use(cluster: DeviceCluster, pods: Callable[..., None]) -> DeviceCluster:
    nodes = cluster.group("gpu", nodes=2_000, cpu="64", memory="256Gi")
    cluster.gpus(nodes, 8)
    has = {node: [f"gpu-{device}" for device in range(4 + number % 2)] for number, node in enumerate(nodes)}
    traits = {"controller": Owner("apps", "ReplicaSet", "train", "uid-train")}
    pods("train", on=has, labels={"app": "train"}, traits=traits)
    pods("wait", 1_000, labels={"app": "train"}, traits=traits)
    return cluster


def _devices_from_zero() -> tuple[World, PolicySet, Memory]:
    """10,000 pods that wait for one of eight devices each, which only the policy declares."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    traits = {"controller": Owner("apps", "ReplicaSet", "train", "uid-train")}
    cluster.train("wait", 10_000, labels={"app": "train"}, traits=traits)
    devices = Template(devices=(TemplateDevices(name="gpu", driver=DRIVER, count=8),))
    rules = policy(node_group("gpu", max=10_000, template=devices), pace=Pace(max_added_nodes=10_000))
    return cluster.world(), rules, Memory()


def _ownerless() -> tuple[World, PolicySet, Memory]:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="10", memory="10Ki", max_pods=1000)
    cluster.pods("web", 50_000, cpu="200m", memory="200", owner=None)
    return cluster.world(), policy(node_group("general", max=10_000)), Memory()


def _twenty_groups() -> tuple[ClusterBuilder, PolicySet]:
    cluster = ClusterBuilder()
    names = [f"group-{number:02d}" for number in range(20)]
    for name in names:
        cluster.group(name, nodes=0, cpu="10", memory="10Ki", max_pods=1000)
    return cluster, policy(*(node_group(name, max=10_000) for name in names))


def _replica_sets() -> tuple[World, PolicySet, Memory]:
    cluster, rules = _twenty_groups()
    for number in range(50):
        cluster.pods(f"web-{number:02d}", 1_000, cpu="200m", memory="200")
    return cluster.world(), rules, Memory()


def _apart() -> tuple[World, PolicySet, Memory]:
    cluster, rules = _twenty_groups()
    term = AffinityTerm(topology_key="kubernetes.io/hostname", selector=selector(app="web"), namespaces=("shop",))
    cluster.pods("web", 1_000, cpu="200m", memory="200", shape={"anti_affinity": (term,)})
    return cluster.world(), rules, Memory()


def _spread() -> tuple[World, PolicySet, Memory]:
    """334, 333 and 333 pods of 2.5 cores in three zones, four to a node of 10 cores: 84 nodes in each."""
    cluster = ClusterBuilder()
    for zone in "abc":
        cluster.group(zone, nodes=1, cpu="10", memory="10Gi", labels={ZONE: zone})
        cluster.pods(f"full-{zone}", 1, cpu="10", on=f"{zone}-1")
    spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 1_000, cpu="2500m", memory="200", shape={"spread": (spread,)})
    return cluster.world(), policy(*(node_group(zone, max=10_000) for zone in "abc")), Memory()


def _many_groups() -> tuple[World, PolicySet, Memory]:
    """A hundred machine types in each of three zones, from zero: under spread every choice serves few pods."""
    cluster = ClusterBuilder()
    names = [f"group-{number:03d}" for number in range(300)]
    for number, name in enumerate(names):
        kind = number // 3
        cpu = (2, 4, 8, 16, 32)[kind % 5]
        memory_gib = (2, 4, 8)[kind // 5 % 3] * cpu + kind // 15
        cluster.group(name, nodes=0, cpu=str(cpu), memory=f"{memory_gib}Gi", labels={ZONE: "abc"[number % 3]})
    for number in range(20):
        spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app=f"web-{number}"))
        cpu_milli, memory_mib = 200 + 50 * (number % 7), 300 + 100 * (number % 5)
        cluster.pods(f"web-{number}", 100, cpu=f"{cpu_milli}m", memory=f"{memory_mib}Mi", shape={"spread": (spread,)})
    return cluster.world(), policy(*(node_group(name, max=1000) for name in names)), Memory()


def _half_empty() -> tuple[World, PolicySet, Memory]:
    """Load of 800 full nodes on 2,000: 1,200 may go."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=2_000, cpu="10", memory="10Ki", max_pods=1000)
    cluster.pods("web", 80_000, cpu="100m", memory="100", on=[name for name in names for _ in range(40)])
    memory = Memory(unneeded_since=dict.fromkeys(names, NOW - 9999))
    return cluster.world(), policy(node_group("general", max=10_000), budgets=OPEN), memory


def _large(nodes: int, groups: int, pending: int, candidates: int) -> tuple[World, PolicySet, Memory]:
    """30 pods a node in 200 shapes; `candidates` nodes carry a third of that."""
    rng = random.Random(1)
    cluster = ClusterBuilder()
    names = [
        name
        for number in range(groups)
        for name in cluster.group(f"group-{number:03d}", nodes=nodes // groups, cpu="16", memory="64Gi")
    ]
    low = frozenset(rng.sample(names, candidates))
    places: dict[int, list[str]] = {}
    for name in names:
        for _ in range(10 if name in low else 30):
            places.setdefault(rng.randrange(200), []).append(name)
    for number, on in sorted(places.items()):
        memory_mib = 700 + number % 7 * 100
        cluster.pods(f"run-{number:03d}", len(on), cpu=f"{300 + number % 10 * 40}m", memory=f"{memory_mib}Mi", on=on)
    for number in range(50):
        cpu, memory_mib = 500 + number % 10 * 300, 1000 + number % 5 * 1000
        cluster.pods(f"wait-{number:02d}", pending // 50, cpu=f"{cpu}m", memory=f"{memory_mib}Mi")
    rules = policy(
        *(node_group(f"group-{number:03d}", max=10_000) for number in range(groups)),
        budgets=OPEN,
        pace=Pace(delay_after_add_seconds=0),
    )
    return cluster.world(), rules, Memory(unneeded_since=dict.fromkeys(names, NOW - 9999))
