"""NodeDeclaredFeatures: features that a kubelet must declare before it gets certain pods."""

from reconciler.cluster.nodes.node import NodeShape
from reconciler.scheduling.verdict import Rejection


def features_rejection(shape: NodeShape, features: tuple[str, ...]) -> Rejection | None:
    """The answer of NodeDeclaredFeatures.

    Source: plugin NodeDeclaredFeatures (KEP-5328, on by default in 1.36), Filter. Every feature that the pod's spec needs must be
    in the node's `status.declaredFeatures`. A pod that needs none passes.
    """
    missing = [name for name in features if name not in shape.declared_features]
    return Rejection("NodeDeclaredFeatures", f"the node does not declare {', '.join(missing)}") if missing else None
