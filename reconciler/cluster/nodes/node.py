"""Nodes: what scheduling needs of them (the shape, shared by equal nodes) and what is true of one node alone."""

import msgspec

from reconciler.cluster.devices.resource_slice import ResourceSlice
from reconciler.cluster.values.resources import Resources

HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"


class Taint(msgspec.Struct, frozen=True, order=True, gc=False):
    """A taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


ATTACH_LIMIT = "attachable-volumes-csi-"
"""How the resource begins that states how many volumes a driver attaches to a node; the driver's name follows."""


class LocalStorage(msgspec.Struct, frozen=True, order=True, kw_only=True, gc=False):
    """The room that a volume driver has on an empty node itself, for volumes of one class: the largest one, and all of them."""

    storage_class: str
    largest_bytes: int
    total_bytes: int


class NodeVolumes(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What volume drivers will say of a node that is not there yet. Of one that is, its CSINode and the storage capacities do.

    `limits` are how many volumes each driver attaches, by its name, `local` the room on the node itself; both sorted. `required`
    are the drivers there without which no pod with their volumes runs.
    """

    limits: tuple[tuple[str, int], ...] = ()
    local: tuple[LocalStorage, ...] = ()
    required: tuple[str, ...] = ()


NO_VOLUMES = NodeVolumes()


class NodeShape(msgspec.Struct, frozen=True, kw_only=True):
    """An equivalence class of nodes for scheduling.

    `labels` are sorted. They omit a hostname label that equals the node's name, because every node has its own.
    `without_hostname` is true for a node without that label. `taints` are sorted. `declared_features` keeps those of
    `status.declaredFeatures` that a pod can need. Two nodes of one shape get the same node-local verdict for every pod shape that
    does not name a host. Only new nodes have `volumes` and `devices`: what drivers
    of dynamic resource allocation will offer there, in slices that name no node.
    """

    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    capacity: Resources = Resources()
    allocatable: Resources = Resources()
    declared_features: tuple[str, ...] = ()
    without_hostname: bool = False
    volumes: NodeVolumes = NO_VOLUMES
    devices: tuple[ResourceSlice, ...] = ()

    def label(self, key: str) -> str | None:
        """The value of one label, or None."""
        return next((value for name, value in self.labels if name == key), None)


class NodeCondition(msgspec.Struct, frozen=True, order=True, gc=False):
    """A condition of a node, with its status since `since_seconds` (Unix time)."""

    type: str
    status: str
    since_seconds: int


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node. `shape` indexes `World.node_shapes`.

    `ready_seconds` is when the Ready condition last changed (Unix time). `annotations` keeps the keys that decisions
    read: `cluster-autoscaler.kubernetes.io/*`, `delay-deletion.cluster-autoscaler.kubernetes.io/*`,
    `cluster.x-k8s.io/*`, `reconciler.dev/*`. `hostname` is the hostname label when it differs from the name.
    `empty_resources` are extended resources that the node lists with an amount of 0, sorted. `unread` is a sentence about what
    cannot be read: the node or a pod on it (empty: nothing). `conditions` are sorted. Those of the kubelet that say that all is
    well are left out.
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
    empty_resources: tuple[str, ...] = ()
    unread: str = ""
    conditions: tuple[NodeCondition, ...] = ()
