"""How full a node is, requests over allocatable in permille, and the threshold at which it counts as underutilized."""

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import GPU_RESOURCES
from reconciler.decisions.groups.group import EffectiveGroup

_NOTHING = Resources()


def utilization_permille(shape: NodeShape, requested: Resources, ignored: Resources = _NOTHING) -> int | None:
    """The larger of cpu and memory; on a node with GPUs the GPU share alone. Rounded up, so that 50.01 % is above 50 %.

    `ignored`, a part of `requested`, leaves it and is subtracted from allocatable. Requests that are left where that leaves no
    room count as a full node (upstream divides by nothing, or gets a negative share).

    Source: Cluster Autoscaler `simulator/utilization` (max of cpu and memory; GPU nodes by GPU only). None when the
    node advertises neither cpu nor memory.
    """
    allocatable = shape.allocatable
    if has_gpu(shape):
        (name,) = counted_resources(shape)
        return share_permille(requested.get(name), allocatable.get(name), ignored.get(name)) or 0
    shares = [
        share
        for share in (
            share_permille(requested.cpu_milli, allocatable.cpu_milli, ignored.cpu_milli),
            share_permille(requested.memory_bytes, allocatable.memory_bytes, ignored.memory_bytes),
        )
        if share is not None
    ]
    return max(shares) if shares else None


def has_gpu(shape: NodeShape) -> bool:
    """Whether the GPU threshold applies."""
    if not shape.capacity.extended and not shape.allocatable.extended:
        return False
    return any(shape.capacity.get(name) or shape.allocatable.get(name) for name in GPU_RESOURCES)


def threshold_percent(group: EffectiveGroup, shape: NodeShape) -> int:
    """The threshold for a node of this shape in this group: nodes with accelerators have one of their own."""
    settings = group.scale_down
    return settings.gpu_utilization_threshold_percent if has_gpu(shape) else settings.utilization_threshold_percent


def counted_resources(shape: NodeShape) -> tuple[str, ...]:
    """The resources that `utilization_permille` looks at: the first accelerator that the node has, else cpu and memory."""
    accelerators = tuple(name for name in GPU_RESOURCES if shape.capacity.get(name) or shape.allocatable.get(name))
    return accelerators[:1] or ("cpu", "memory")


def share_permille(requested: int, allocatable: int, ignored: int) -> int | None:
    """What is left of `requested` over what is left of `allocatable` without `ignored`, rounded up; None: nothing is offered."""
    if allocatable <= 0:
        return None
    requested, room = requested - ignored, allocatable - ignored
    if room <= 0:
        return 1000 if requested > 0 else 0
    return -(-requested * 1000 // room)
