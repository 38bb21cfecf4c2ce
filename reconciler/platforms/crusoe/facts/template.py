"""What one new node of a pool offers, from the pool, from nodes like it, and from its machine type."""

from collections.abc import Iterator

import msgspec

from reconciler.cluster.nodes.node import Node, Taint
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.view import CrusoeView
from reconciler.platforms.crusoe.kinds import FS_DRIVER, SHARED_DISKS, SSD_DRIVER

POOL_LABEL = "crusoe.ai/nodepool.id"
_TYPE_LABEL = "node.kubernetes.io/instance-type"
_GB = 1_000_000_000
_MAX_PODS = 110


def template(pool: wire.NodePool, view: CrusoeView) -> TargetTemplate:
    """Labels and taints of the pool, and amounts.

    If a node of the pool is ready, amounts are left out, because the pool's own nodes are the better source. Otherwise the
    amounts are from a ready node of another pool with the same machine type. If there is none, they are from the machine type.

    The API does not define the unit of `memory_gb`. The smaller one is assumed, so no pod adds a node that is too small.
    """
    labels = {_TYPE_LABEL: pool.type, POOL_LABEL: pool.id, **(pool.node_labels or {})}
    declared = TargetTemplate(
        labels=label_pairs({key: value for key, value in labels.items() if value}),
        taints=tuple(Taint(one.key, one.value, one.effect) for one in pool.node_taints or ()),
        origins=("the node pool",),
        estimated=True,
        driver_labels=tuple(_driver_labels(pool, view)),
    )
    if any(_ready_nodes(pool, view)):
        return declared
    alike = _alike(pool, view)
    if alike is not None:
        node, origin = alike
        shape = view.shapes[node.shape]
        return msgspec.structs.replace(declared, capacity=shape.capacity, allocatable=shape.allocatable, origins=(origin,))
    known = view.types.get(pool.type)
    if known is None or not known.cpu_cores:
        return declared
    return msgspec.structs.replace(declared, capacity=_amounts(known), origins=(f"machine type {pool.type}",), pods_guessed=True)


def _ready_nodes(pool: wire.NodePool, view: CrusoeView) -> Iterator[Node]:
    return (node for name in pool.instance_ids or () if (node := view.nodes.get(name)) is not None and node.ready)


def _driver_labels(pool: wire.NodePool, view: CrusoeView) -> Iterator[tuple[str, str, str]]:
    """What crusoe-csi-driver tells nodes apart by: the location, and whether a type takes shared disks, as a node of it says."""
    location = view.location(pool)
    if location:
        yield from ((driver, f"{driver}/location", location) for driver in (SSD_DRIVER, FS_DRIVER))
    same_type = (one for one in view.pools if pool.type and one.type == pool.type)
    labels = {view.shapes[node.shape].label(SHARED_DISKS) for one in same_type for node in _ready_nodes(one, view)} - {None}
    if len(labels) == 1:
        yield from ((FS_DRIVER, SHARED_DISKS, value) for value in labels if value)


def _alike(pool: wire.NodePool, view: CrusoeView) -> tuple[Node, str] | None:
    """A ready node of another pool with the same machine type, and its description. Nodes that show their devices come first,
    then the smallest one."""
    beside = (one for one in view.pools if one.id != pool.id and pool.type and one.type == pool.type)
    candidates = [
        (node, f"node {node.name} of node pool {one.name}, also {pool.type}")
        for one in beside
        for node in _ready_nodes(one, view)
    ]

    def rank(item: tuple[Node, str]) -> tuple[int, int, int, str]:
        allocatable = view.shapes[item[0].shape].allocatable
        devices = [name for name, amount in allocatable.extended if amount]
        return -len(devices), allocatable.cpu_milli, allocatable.memory_bytes, item[0].name

    return min(candidates, key=rank, default=None)


def _amounts(known: wire.MachineType) -> Resources:
    amounts = {"cpu": known.cpu_cores * 1000, "memory": known.memory_gb * _GB, "pods": _MAX_PODS}
    if known.disk_gb:
        amounts["ephemeral-storage"] = known.disk_gb * _GB
    if known.num_gpu:
        amounts[gpu_resource(known.gpu_type)] = known.num_gpu
    return Resources.of(amounts)


def gpu_resource(gpu_type: str) -> str:
    """The resource name under which the vendor's device plugin offers it."""
    name = gpu_type.lower()
    return "amd.com/gpu" if name.startswith("mi") or "amd" in name else "nvidia.com/gpu"
