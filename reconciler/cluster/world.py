"""The World: one view of a cluster, complete and immutable, in the form that decisions read."""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.devices.resource_claim import ClaimTemplate, ResourceClaim
from reconciler.cluster.devices.resource_slice import ResourceSlice
from reconciler.cluster.nodes.attachment import CsiDriver, StorageCapacity, VolumeAttachment
from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import PodShape, PodTraits
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.unread import Unread
from reconciler.cluster.values.kubernetes_version import KubernetesVersion
from reconciler.cluster.values.release import Release, release_of
from reconciler.cluster.volume import CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from reconciler.cluster.workloads.capacity_quota import CapacityQuota
from reconciler.cluster.workloads.pod_group import PodGroup
from reconciler.cluster.workloads.pod_quota import ResourceQuota
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget, Service
from reconciler.values.cluster_identity import ClusterIdentity, FleetPlace


class WorldProblem(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Something in the captured objects that could not be used; `object` is `Kind namespace/name`."""

    code: str
    object: str
    message: str


class DaemonPods(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """The pod of one DaemonSet on every node that it matches. `shape` indexes `World.pod_shapes`. It has the labels of the pod
    template, without the node-name affinity that the controller adds. Its requests are those of the newest pod. If there are no
    pods, they are those that admission derives from the template. `others` are the same shape with the requests of its other
    pods."""

    namespace: str
    name: str
    shape: int
    others: tuple[int, ...] = ()


class BufferProblem(StrEnum):
    """Why no room is kept for a CapacityBuffer or a ProvisioningRequest."""

    UNREADABLE = "Unreadable"
    UNKNOWN_STRATEGY = "UnknownStrategy"
    KIND_NOT_SUPPORTED = "KindNotSupported"
    NOT_FOUND = "ReferenceNotFound"
    NOT_CAPTURED = "NotCaptured"
    LIMITS_UNMATCHED = "LimitsUnmatched"
    TOO_MANY = "TooManyPods"
    QUOTA_UNKNOWN = "QuotaUnknown"


class BufferPods(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """The pods that one CapacityBuffer asks room for. `shape` indexes `World.pod_shapes`; it is -1 where `code` and `problem` say
    why there are none. `asked` is what the buffer asks for, `count` what the quotas `limited_by` of its namespace leave of it.
    `template` is the PodTemplate that it names, if it names one. `writers` are the managers that write its status."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    created_seconds: int = 0
    strategy: str
    template: str = ""
    template_generation: int = 0
    shape: int = -1
    asked: int = 0
    count: int = 0
    limited_by: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()
    code: BufferProblem | None = None
    problem: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class PodsOfSet(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Pods of one set of a ProvisioningRequest, of a shape in `World.pod_shapes`."""

    shape: int
    count: int


class RequestPods(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """The pods that one ProvisioningRequest asks room for, all at once. There are no `sets` where `code` and `problem` say why,
    or if nobody here answers its class. `over`: its status says that it wants nothing any more. Its status says since
    `provisioned_seconds` that the room is there (None: it does not). `writers` are the managers that write its status. `quotas`
    are those of its namespace that count its pods."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    created_seconds: int = 0
    class_name: str
    sets: tuple[PodsOfSet, ...] = ()
    valid_seconds: int
    retries: bool = True
    over: bool = False
    provisioned_seconds: int | None = None
    writers: tuple[str, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    code: BufferProblem | None = None
    problem: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def count(self) -> int:
        """All its pods."""
        return sum(one.count for one in self.sets)


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Volumes as the scheduler sees them: volumes by name, claims and capacities by (namespace, name), the rest by name."""

    volumes: tuple[PersistentVolume, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CsiNode, ...] = ()
    csi_drivers: tuple[CsiDriver, ...] = ()
    capacities: tuple[StorageCapacity, ...] = ()
    attachments: tuple[VolumeAttachment, ...] = ()


class PolicyClaim(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What another policy of this product has stored about a target. `number` and `written` are those of
    `decisions.memory.Claim`. If `number` is 0, that policy lists the target without meaning to write it, as in mode Observe.
    `holder` holds the Lease of that policy; `live`: that Lease is in force. `promised`: pods by digest of their shape that wait
    for a node which that policy adds to the target."""

    target: str
    policy: str
    namespace: str
    holder: str = ""
    number: int = 0
    written: bool = False
    live: bool = True
    promised: tuple[tuple[str, int], ...] = ()


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes, pods and targets of one cluster at `captured_seconds`.

    Every tuple is in canonical order, whatever the order of the input. Nodes are by name, pods by (namespace, name), targets by
    ref, the rest in natural order. Shapes and traits are in order of first use. `captured` names the captured kinds (an empty
    kind counts), `not_captured` those that are missing but a decision would need. `rivals` are sentences of evidence that another
    autoscaler works on this cluster (a live view looks for a Lease). `scheduler_version` is the version of the API server, else
    of the newest kubelet. `feature_gates` are gates of kube-scheduler as its API server or the policy
    has them, by name (see `GATES`). `ended_policies` are policies
    in marks on targets that nobody runs any more (a live view checks).
    `claims` are the claims of other policies on targets (a live view checks).
    `clock_ahead_seconds` is how far the clock that `captured_seconds` is by is ahead of the API server's, where that is known.
    `unread` is what a live view could not read.
    `clusters` are the workload clusters that its management cluster describes.
    `observed` are targets that count as held, because the policy only observes them (for previews). `fleet` is the place of the
    cluster in a fleet whose loops may see the same targets of a cloud (None: outside a fleet).
    """

    name: str = ""
    captured_seconds: int
    clock_ahead_seconds: int = 0
    node_shapes: tuple[NodeShape, ...] = ()
    nodes: tuple[Node, ...] = ()
    pod_shapes: tuple[PodShape, ...] = ()
    pod_traits: tuple[PodTraits, ...] = ()
    pods: PodTable = PodTable()
    targets: tuple[TargetFacts, ...] = ()
    machines: tuple[Machine, ...] = ()
    clusters: tuple[ClusterIdentity, ...] = ()
    budgets: tuple[DisruptionBudget, ...] = ()
    controllers: tuple[Controller, ...] = ()
    services: tuple[Service, ...] = ()
    daemon_pods: tuple[DaemonPods, ...] = ()
    buffers: tuple[BufferPods, ...] = ()
    provisioning_requests: tuple[RequestPods, ...] = ()
    namespaces: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    storage: Storage = Storage()
    device_classes: tuple[DeviceClass, ...] = ()
    resource_slices: tuple[ResourceSlice, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()
    claim_templates: tuple[ClaimTemplate, ...] = ()
    quotas: tuple[CapacityQuota, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    scheduler_version: KubernetesVersion | None = None
    feature_gates: tuple[tuple[str, bool], ...] = ()
    captured: tuple[str, ...] = ()
    not_captured: tuple[str, ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    problems: tuple[WorldProblem, ...] = ()
    unread: tuple[Unread, ...] = ()
    rivals: tuple[str, ...] = ()
    ended_policies: tuple[str, ...] = ()
    claims: tuple[PolicyClaim, ...] = ()
    observed: frozenset[TargetRef] = frozenset()
    fleet: FleetPlace | None = None
    digest: str = ""

    @property
    def release(self) -> Release:
        """The rules of its kube-scheduler."""
        return release_of(self.scheduler_version, self.feature_gates)


def identity_of(world: World) -> ClusterIdentity | None:
    """Which cluster this is: the one that has the World's name, or the only one that its management cluster describes. None if
    neither tells."""
    named = [one for one in world.clusters if world.name in (one.name, one.title)]
    if len(named) == 1:
        return named[0]
    if world.name:
        return ClusterIdentity(name=world.name)
    return world.clusters[0] if len(world.clusters) == 1 else None


def as_in_fleet(world: World) -> World:
    """The World as the loop of a fleet has it. A cluster without a Cluster object is in no fleet, so its World stays."""
    identity = identity_of(world)
    if identity is None or identity.labels is None:
        return world
    others = tuple(one for one in world.clusters if one.title != identity.title)
    return msgspec.structs.replace(world, fleet=FleetPlace(cluster=identity, others=others))


def with_pod_shapes(world: World, shapes: tuple[PodShape, ...], pods: PodTable, number_of: Callable[[int], int]) -> World:
    """The World with other pod shapes, which `pods` has by their new numbers. `number_of` gives the new number of what a template
    asks for, by the old one: of DaemonSets, CapacityBuffers and ProvisioningRequests."""
    daemons = tuple(
        msgspec.structs.replace(one, shape=number_of(one.shape), others=tuple(map(number_of, one.others)))
        for one in world.daemon_pods
    )
    buffers = tuple(msgspec.structs.replace(one, shape=number_of(one.shape)) if one.shape >= 0 else one for one in world.buffers)
    requests = tuple(
        msgspec.structs.replace(one, sets=tuple(msgspec.structs.replace(pods, shape=number_of(pods.shape)) for pods in one.sets))
        for one in world.provisioning_requests
    )
    return msgspec.structs.replace(
        world, pod_shapes=shapes, pods=pods, daemon_pods=daemons, buffers=buffers, provisioning_requests=requests
    )
