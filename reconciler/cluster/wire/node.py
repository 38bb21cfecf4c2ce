"""Nodes, pruned."""

import msgspec

from reconciler.cluster.wire.meta import Condition, ObjectMeta
from reconciler.cluster.wire.pod import Amounts


class NodeTaint(msgspec.Struct, rename="camel", gc=False):
    """One taint; `propagation` exists on Cluster API templates only."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(msgspec.Struct, rename="camel"):
    """`spec` of a node."""

    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: list[NodeTaint] | None = None


class NodeInfo(msgspec.Struct, rename="camel", gc=False):
    """`status.nodeInfo` of a node."""

    kubelet_version: str = ""


class NodeStatus(msgspec.Struct, rename="camel"):
    """`status` of a node."""

    capacity: Amounts | None = None
    allocatable: Amounts | None = None
    conditions: list[Condition] | None = None
    declared_features: list[str] | None = None
    node_info: NodeInfo | None = None


class Node(msgspec.Struct, rename="camel"):
    """A node."""

    metadata: ObjectMeta
    status: NodeStatus
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    kind: str = ""
