"""NodeDeclaredFeatures: what a kubelet must declare that it can do before it gets certain pods."""

from reconciler.cluster.nodes.node import NodeShape
from reconciler.scheduling.verdict import Rejection


def features_rejection(shape: NodeShape, features: tuple[str, ...]) -> Rejection | None:
    """What NodeDeclaredFeatures says.

    Source: plugin NodeDeclaredFeatures (KEP-5328, on by default in 1.36), Filter: every feature that the pod's spec needs
    must be in the node's `status.declaredFeatures`; a pod that needs none passes.
    """
    missing = [name for name in features if name not in shape.declared_features]
    return Rejection("NodeDeclaredFeatures", f"the node does not declare {', '.join(missing)}") if missing else None
