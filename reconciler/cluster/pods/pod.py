"""Pods: the shape (what scheduling needs, shared by equal pods) and the traits (what a drain needs, shared likewise)."""

from enum import StrEnum

import msgspec

from reconciler.cluster.devices.resource_claim import Constraint, DeviceRequest
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.values.label_selector import LabelSelector

LONGEST_GRACE_SECONDS = 600
"""A drain gives no pod more time to end, whatever its own grace period is."""


class Toleration(msgspec.Struct, frozen=True, order=True, gc=False):
    """A toleration; empty `key` with operator Exists tolerates everything; empty `effect` means all effects."""

    key: str
    operator: str
    value: str
    effect: str


class HostPort(msgspec.Struct, frozen=True, order=True, gc=False):
    """A host port that a pod occupies; `host_ip` 0.0.0.0 conflicts with every address."""

    port: int
    protocol: str = "TCP"
    host_ip: str = "0.0.0.0"  # noqa: S104 - the API's own wildcard, nothing is bound here


class SpreadConstraint(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One hard topology spread constraint (DoNotSchedule); `match_label_keys` already folded into `selector`."""

    topology_key: str
    max_skew: int
    min_domains: int = 1
    selector: LabelSelector | None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"


class SpreadFrom(StrEnum):
    """Where the spread constraints of a pod come from. A pod whose own are all ScheduleAnyway has its own, and none is hard."""

    NOWHERE = ""
    POD = "Pod"
    SCHEDULER = "Scheduler"
    UNKNOWN = "Unknown"
    """The scheduler has default constraints, and what selects the pod was not captured."""


class AffinityTerm(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One required inter-pod (anti-)affinity term; `namespaces` sorted and complete for the explicit part."""

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class VolumeUse(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A volume that takes part in scheduling: a claim (`claim` its name, `ephemeral` when generated for the pod) or an
    in-tree disk (`kind` and `identity`)."""

    kind: str
    claim: str = ""
    ephemeral: bool = False
    identity: str = ""
    read_only: bool = False


class ClaimUse(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A resource claim of a pod: `name` in the pod, `claim` as an object (empty: not made yet). `generated`: from a template
    (`template` is its name), so that only this pod may use it. `needless`: its controller found that no claim was needed.

    Once resolved, a claim that each pod has for itself says what it asks for (`requests` and `constraints`) instead of what it is
    called. `unclear` says why nobody knows what it asks for, or whether the pod may use it."""

    name: str
    claim: str = ""
    generated: bool = False
    template: str = ""
    needless: bool = False
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    unclear: str = ""


PREEMPTS = "PreemptLowerPriority"
"""What `preemptionPolicy` means where it is not set."""
UNKNOWN_SPREAD = "the scheduler's default topology spread (not all Services and controllers were captured)"


class PodShape(msgspec.Struct, frozen=True, kw_only=True):
    """An equivalence class of pods for scheduling: two pods of one shape get the same verdict on every node.

    `requests` is what kube-scheduler counts, `pods` in it being 1. `required_terms` None means no required node
    affinity (an empty tuple matches no node). `host_name_bound` says that some term or selector names a host, so that
    verdicts differ within a node shape. `spread` has hard constraints only. `claims` are resource claims (DRA) in the
    order of the pod. Until a generated one is resolved, a shape with it belongs to a single pod.
    `required_features` names what a node's kubelet must declare that it can do (plugin NodeDeclaredFeatures).
    `pod_group` is the name of the PodGroup that its pods are bound with (empty: each is bound by itself).
    `preemption_policy` of such pods must be one (empty for all others).
    `not_modelled` names fields of `spec` whose meaning is not known here. `defect` is why the rest was left out: judging it
    failed (see `cluster.defects`).
    """

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    requests: Resources = Resources(pods=1)
    node_selector: tuple[tuple[str, str], ...] = ()
    required_terms: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    spread_from: SpreadFrom = SpreadFrom.NOWHERE
    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    volumes: tuple[VolumeUse, ...] = ()
    claims: tuple[ClaimUse, ...] = ()
    priority: int = 0
    scheduler_name: str = "default-scheduler"
    host_name_bound: bool = False
    required_features: tuple[str, ...] = ()
    pod_group: str = ""
    preemption_policy: str = ""
    not_modelled: tuple[str, ...] = ()
    defect: str = ""

    @property
    def unmodelled(self) -> bool:
        """Whether no verdict about the shape is known on any node, unless its claims are judged."""
        return bool(self.claims or self.unclear)

    @property
    def unclear(self) -> str:
        """Why no verdict about the shape is known on any node, whatever is known of its claims (empty: one may be)."""
        if self.defect:
            return self.defect
        if self.spread_from is SpreadFrom.UNKNOWN:
            return UNKNOWN_SPREAD
        return ", ".join([f"spec.{name}" for name in self.not_modelled]) if self.not_modelled else ""


class Owner(msgspec.Struct, frozen=True, order=True, gc=False):
    """The controlling owner reference of an object."""

    api_group: str
    kind: str
    name: str
    uid: str = ""


class PodTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What a drain needs to know, shared by pods that are alike in it.

    `safe_to_evict` is the annotation's text or None. `local_volumes` names hostPath volumes and emptyDirs whose medium
    is not Memory. `daemonset` is true for DaemonSet pods and for the annotation
    `cluster-autoscaler.kubernetes.io/daemonset-pod: "true"`.
    """

    namespace: str
    controller: Owner | None = None
    safe_to_evict: str | None = None
    safe_local_volumes: tuple[str, ...] = ()
    local_volumes: tuple[str, ...] = ()
    mirror: bool = False
    daemonset: bool = False
    restart_policy: str = "Always"
    grace_seconds: int = 30
    annotations: tuple[tuple[str, str], ...] = ()

    @property
    def lost_volumes(self) -> tuple[str, ...]:
        """The volumes on its node whose data an eviction loses: those that its annotation does not call safe."""
        return tuple(name for name in self.local_volumes if name not in self.safe_local_volumes)


class PodPhase(StrEnum):
    """`status.phase`."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Pod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod as a row; `shape` and `traits` index the World's tables, `node` its nodes (-1: on no node of this view).

    Times are Unix seconds, 0 when absent. `unschedulable_seconds` is when PodScheduled became False with reason
    Unschedulable. `nominated` is a node index or -1. `unknown_node` is a nodeName that no captured node carries.
    """

    namespace: str
    name: str
    uid: str = ""
    shape: int
    traits: int
    node: int = -1
    phase: PodPhase = PodPhase.PENDING
    ready: bool = False
    created_seconds: int = 0
    deletion_seconds: int = 0
    unschedulable_seconds: int = 0
    gated: bool = False
    nominated: int = -1
    unknown_node: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Succeeded or Failed: holds no resources any more."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
