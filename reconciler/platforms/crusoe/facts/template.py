"""What one new node of a pool offers, as far as the pool and the type of its machines say it."""

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.view import CrusoeView

POOL_LABEL = "crusoe.ai/nodepool.id"
_TYPE_LABEL = "node.kubernetes.io/instance-type"
_GB = 1_000_000_000
_MAX_PODS = 110


def template(pool: wire.NodePool, view: CrusoeView) -> TargetTemplate:
    """Labels and taints of the pool; amounts of its machine type where no node of the pool is ready, since a node says more.

    The API does not say which unit `memory_gb` has: the smaller one is taken, so that no pod buys a node that is too small.
    """
    labels = {_TYPE_LABEL: pool.type, POOL_LABEL: pool.id, **(pool.node_labels or {})}
    known = view.types.get(pool.type)
    ready = any(node.ready for name in pool.instance_ids or () if (node := view.nodes.get(name)) is not None)
    return TargetTemplate(
        capacity=_amounts(known) if known is not None and known.cpu_cores and not ready else None,
        labels=label_pairs({key: value for key, value in labels.items() if value}),
        taints=tuple(Taint(one.key, one.value, one.effect) for one in pool.node_taints or ()),
        origins=(f"machine type {pool.type}",) if known is not None and known.cpu_cores and not ready else ("the node pool",),
        estimated=True,
    )


def _amounts(known: wire.MachineType) -> Resources:
    amounts = {"cpu": known.cpu_cores * 1000, "memory": known.memory_gb * _GB, "pods": _MAX_PODS}
    if known.disk_gb:
        amounts["ephemeral-storage"] = known.disk_gb * _GB
    if known.num_gpu:
        amounts[gpu_resource(known.gpu_type)] = known.num_gpu
    return Resources.of(amounts)


def gpu_resource(gpu_type: str) -> str:
    """The name under which the vendor's device plugin offers it."""
    name = gpu_type.lower()
    return "amd.com/gpu" if name.startswith("mi") or "amd" in name else "nvidia.com/gpu"
