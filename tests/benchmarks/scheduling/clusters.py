"""Seeded clusters for the figures: nearly full nodes, and shapes of pending pods."""

from array import array
from random import Random

from reconciler.cluster.nodes.node import Node, NodeShape, Taint
from reconciler.cluster.pods.pod import PodShape, Toleration
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World

_GIB = 1 << 30
_RUNNING = 1
_ZONES = ("a", "b", "c")
_DEDICATED = Taint("dedicated", "batch", "NoSchedule")


def node_shape(cpu_milli: int, memory_bytes: int, pods: int, **labels: str) -> NodeShape:
    """A node whose allocatable is its capacity; label `zone` stands for the zone label."""
    size = Resources(cpu_milli=cpu_milli, memory_bytes=memory_bytes, pods=pods)
    pairs = {("topology.kubernetes.io/zone" if key == "zone" else key): value for key, value in labels.items()}
    return NodeShape(labels=tuple(sorted(pairs.items())), capacity=size, allocatable=size)


def pod_shape(cpu_milli: int, memory_bytes: int, app: str = "web", **fields: object) -> PodShape:
    """A pod shape in one namespace."""
    requests = Resources(cpu_milli=cpu_milli, memory_bytes=memory_bytes, pods=1)
    return PodShape(namespace="shop", labels=(("app", app),), requests=requests, **fields)


def nearly_full(nodes: int, shapes: int, bound_each: int = 28, seed: int = 1) -> World:
    """Nodes of 12 kinds (three zones, two pools, two sizes) with `bound_each` pods; every node has room for about two of the
    `shapes` pending shapes, which come after the 20 bound ones in the World."""
    random = Random(seed)
    kinds = [
        NodeShape(
            labels=(("pool", pool), ("topology.kubernetes.io/zone", zone)),
            taints=(_DEDICATED,) if pool == "batch" else (),
            capacity=Resources(cpu_milli=cpu, memory_bytes=cpu * _GIB // 250, pods=110),
            allocatable=Resources(cpu_milli=cpu, memory_bytes=cpu * _GIB // 250, pods=110),
        )
        for zone in _ZONES
        for pool in ("general", "batch")
        for cpu in (16_000, 16_500)
    ]
    bound = [pod_shape(500 + 5 * number, 2 * _GIB + number * _GIB // 100, f"bound-{number}") for number in range(20)]
    tolerates = (Toleration("dedicated", "Exists", "", ""),)
    pending = [
        pod_shape(
            100 + random.randrange(60) * 10,
            random.randrange(1, 40) * _GIB // 10,
            f"pending-{number}",
            tolerations=tolerates if number % 3 == 0 else (),
            node_selector=(("topology.kubernetes.io/zone", _ZONES[number % 5]),) if number % 5 < 3 else (),
        )
        for number in range(shapes)
    ]
    return World(
        name="bench",
        captured_seconds=0,
        node_shapes=tuple(kinds),
        nodes=tuple(Node(name=f"node-{index:05d}", shape=index % len(kinds)) for index in range(nodes)),
        pod_shapes=(*bound, *pending),
        pods=_running(nodes, bound_each, len(bound), random),
    )


def empty_world(*shapes: PodShape) -> World:
    """No nodes, no pods."""
    return World(name="bench", captured_seconds=0, pod_shapes=shapes)


def free_nodes(count: int, *shapes: PodShape, zones: tuple[str, ...] = _ZONES) -> World:
    """Empty nodes of 8 cpu, their zones in turn."""
    kinds = tuple(node_shape(8_000, 32 * _GIB, 110, zone=zone) for zone in zones)
    nodes = tuple(Node(name=f"node-{index:05d}", shape=index % len(kinds)) for index in range(count))
    return World(name="bench", captured_seconds=0, node_shapes=kinds, nodes=nodes, pod_shapes=shapes)


def _running(nodes: int, each: int, shapes: int, random: Random) -> PodTable:
    count = nodes * each
    zeros = array("q", bytes(8 * count))
    return PodTable.of_columns(
        namespace=["shop"] * count,
        name=[f"pod-{index}" for index in range(count)],
        uid=[""] * count,
        shape=array("i", [random.randrange(shapes) for _ in range(count)]),
        traits=array("i", bytes(4 * count)),
        node=array("i", [index // each for index in range(count)]),
        nominated=array("i", [-1]) * count,
        phase=array("B", [_RUNNING]) * count,
        flags=array("B", bytes(count)),
        created_seconds=zeros,
        deletion_seconds=zeros,
        unschedulable_seconds=zeros,
        unknown_node={},
    )
