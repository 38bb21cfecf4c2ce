"""The labels by which autoscalers and device plugins know the type of an accelerator before it is advertised."""

from reconciler.cluster.nodes.node import NodeShape

ACCELERATOR_LABELS = (
    "cluster-api/accelerator",
    "k8s.amazonaws.com/accelerator",
    "cloud.google.com/gke-accelerator",
    "accelerator",
    "nvidia.com/gpu.product",
)


def accelerator_label(shape: NodeShape) -> tuple[str, str] | None:
    """The first such label with its value; None when the node has none."""
    return next(((key, value) for key in ACCELERATOR_LABELS if (value := shape.label(key))), None)
