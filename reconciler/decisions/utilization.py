"""How full a node is: requests over allocatable, in permille."""

from reconciler.cluster.node import NodeShape
from reconciler.cluster.resources import Resources

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi")


def utilization_permille(shape: NodeShape, requested: Resources) -> int | None:
    """The larger of cpu and memory; on a node with GPUs the GPU share alone. Rounded up, so that 50.01 % is above 50 %.

    Source: Cluster Autoscaler `simulator/utilization` (max of cpu and memory; GPU nodes by GPU only). None when the
    node advertises neither cpu nor memory.
    """
    allocatable = shape.allocatable
    if shape.capacity.extended or allocatable.extended:
        for name in GPU_RESOURCES:
            if shape.capacity.get(name) or allocatable.get(name):
                return _share(requested.get(name), allocatable.get(name)) or 0
    shares = [
        share
        for share in (
            _share(requested.cpu_milli, allocatable.cpu_milli),
            _share(requested.memory_bytes, allocatable.memory_bytes),
        )
        if share is not None
    ]
    return max(shares) if shares else None


def has_gpu(shape: NodeShape) -> bool:
    """Whether the GPU threshold applies."""
    if not shape.capacity.extended and not shape.allocatable.extended:
        return False
    return any(shape.capacity.get(name) or shape.allocatable.get(name) for name in GPU_RESOURCES)


def _share(requested: int, allocatable: int) -> int | None:
    return None if allocatable <= 0 else -(-requested * 1000 // allocatable)
