"""Nodes: what scheduling needs of them (the shape, shared by equal nodes) and what is true of one node alone."""

import msgspec

from reconciler.cluster.values.resources import Resources

HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"


class Taint(msgspec.Struct, frozen=True, order=True, gc=False):
    """A taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


class NodeShape(msgspec.Struct, frozen=True, kw_only=True):
    """An equivalence class of nodes for scheduling.

    `labels` are sorted and leave out the hostname label when it equals the node's name (every node has its own; it is
    implied; `without_hostname` is true for the odd node that has no such label at all). `taints` are sorted.
    `declared_features` keeps those of `status.declaredFeatures` that a pod can need. Two nodes of one shape get the same
    node-local verdict for every pod shape that does not name a host.
    """

    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    capacity: Resources = Resources()
    allocatable: Resources = Resources()
    declared_features: tuple[str, ...] = ()
    without_hostname: bool = False

    def label(self, key: str) -> str | None:
        """The value of one label, or None."""
        return next((value for name, value in self.labels if name == key), None)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node. `shape` indexes `World.node_shapes`.

    `ready_seconds` is when the Ready condition last changed (Unix time). `annotations` keeps the keys that decisions
    read: `cluster-autoscaler.kubernetes.io/*`, `delay-deletion.cluster-autoscaler.kubernetes.io/*`,
    `cluster.x-k8s.io/*`, `reconciler.dev/*`. `hostname` is the hostname label when it differs from the name.
    """

    name: str
    uid: str = ""
    shape: int
    provider_id: str = ""
    hostname: str = ""
    created_seconds: int = 0
    ready: bool = True
    ready_seconds: int = 0
    deleting: bool = False
    annotations: tuple[tuple[str, str], ...] = ()
    attachable_limits: tuple[tuple[str, int], ...] = ()
