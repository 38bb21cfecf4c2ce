"""The policy documents: these types are the schema. JSON Schema, CRDs and the reference table are generated from them.

Values are typed: durations are in whole seconds, quantities and percentages are integers. `None` means "not written here", so the
next source in the chain of effective values applies. Field names are camelCase in YAML. Units are in the names;
`scaleDown.unneededTime: 10m` becomes `unneeded_time_seconds == 600`.

A setting with several levels has one type for both ends of the chain. `ScaleDown[None]` has the values of one level, with None
for values that are not written. `ScaleDown[Never]` is the effective value, in which nothing is missing.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Generic, Never, TypeVar

import msgspec

from reconciler.policy.documents.pods import DefaultConstraint, InclusionPolicy, PodRules, SchedulerRules, WhenUnsatisfiable
from reconciler.policy.documents.removal import BlockRule, Budget, DrainRules, Health, JobRule, RemovalReason
from reconciler.policy.group_namespaces import GroupNamespace, RefusedGroup
from reconciler.policy.keys import Key
from reconciler.policy.pace import GroupApproval, Pace
from reconciler.policy.values.label_selector import Selector
from reconciler.policy.yaml_nodes import Place

__all__ = [
    "API_GROUP",
    "API_VERSION",
    "TEST_KIND",
    "TEST_VERSION",
    "Backoff",
    "BlockRule",
    "Budget",
    "BufferReading",
    "ClusterMatch",
    "Consolidation",
    "Counting",
    "DefaultConstraint",
    "DeviceAttribute",
    "DevicePartition",
    "Discovery",
    "DrainRules",
    "Expander",
    "GroupFields",
    "Growth",
    "Headroom",
    "HeadroomFrom",
    "HeadroomPods",
    "Health",
    "Hold",
    "InclusionPolicy",
    "JobRule",
    "Limit",
    "LimitsFrom",
    "Mode",
    "NodeGroup",
    "NodeGroupPolicy",
    "PodRules",
    "PolicySet",
    "QuotaReading",
    "RemovalReason",
    "RequestReading",
    "RequestsFrom",
    "ScaleDown",
    "ScaleUp",
    "SchedulerRules",
    "Size",
    "TaintSpec",
    "TargetAnnotations",
    "TargetSpec",
    "Template",
    "TemplateDevices",
    "Tier",
    "TierMatch",
    "Toggle",
    "WhenUnsatisfiable",
    "Window",
    "WithoutMachines",
]

Missing = TypeVar("Missing", None, Never)
"""`None` for what one level says, `Never` for what is effective."""
NOT_WRITTEN: Any = None

API_GROUP = "reconciler.dev"
API_VERSION = "reconciler.dev/v1alpha1"
TEST_VERSION, TEST_KIND = f"test.{API_GROUP}/v1alpha1", "PolicyTest"
"""What tests of a policy call themselves. They may stand in its tree and are skipped there."""


class Mode(StrEnum):
    """Observe writes only its own status, events, lease and state; Enforce also writes replicas."""

    OBSERVE = "Observe"
    ENFORCE = "Enforce"


class Toggle(StrEnum):
    """Enabled or Disabled, where Kubernetes conventions ask for an enum instead of a boolean."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class QuotaReading(StrEnum):
    """Whether CapacityQuota objects of the cluster are limits."""

    READ = "Read"
    IGNORE = "Ignore"


class BufferReading(StrEnum):
    """Whether CapacityBuffer objects of the cluster are headroom."""

    READ = "Read"
    IGNORE = "Ignore"


class RequestReading(StrEnum):
    """Whether ProvisioningRequest objects of the cluster are answered."""

    READ = "Read"
    IGNORE = "Ignore"


class TargetAnnotations(StrEnum):
    """Whether sizes, options and capacity written on the targets themselves count."""

    READ = "Read"
    IGNORE = "Ignore"


class Expander(StrEnum):
    """How one of several groups that could serve the same pods is chosen."""

    LEAST_COST = "LeastCost"
    LEAST_WASTE = "LeastWaste"
    LEAST_NODES = "LeastNodes"
    MOST_PODS = "MostPods"


class Consolidation(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """Whether nodes of a group are replaced by a cheaper one, and for how much at least. `min_saving_per_moved_pod` is a decimal
    amount of money per hour."""

    mode: Toggle | Missing = NOT_WRITTEN
    min_saving_percent: int | Missing = NOT_WRITTEN
    min_saving_per_moved_pod: str | Missing = NOT_WRITTEN


class WithoutMachines(StrEnum):
    """What becomes of nodes that no Machine stands for: they stay, or their target is lowered and the platform takes one."""

    BLOCK = "Block"
    PLATFORM_CHOOSES = "PlatformChooses"


class Counting(StrEnum):
    """Whether pods that go with their node count in its utilization, or are taken off what they request and off the node."""

    COUNT = "Count"
    IGNORE = "Ignore"


class ScaleDown(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """When nodes of a group may be removed."""

    mode: Toggle | Missing = NOT_WRITTEN
    utilization_threshold_percent: int | Missing = NOT_WRITTEN
    gpu_utilization_threshold_percent: int | Missing = NOT_WRITTEN
    daemon_set_utilization: Counting | Missing = NOT_WRITTEN
    mirror_pod_utilization: Counting | Missing = NOT_WRITTEN
    unneeded_time_seconds: int | Missing = NOT_WRITTEN
    unready_time_seconds: int | Missing = NOT_WRITTEN
    without_machines: WithoutMachines | Missing = NOT_WRITTEN
    consolidation: Consolidation[Missing] = Consolidation()


class Backoff(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """How long a group is left alone after a failed scale-up."""

    initial_seconds: int | Missing = NOT_WRITTEN
    max_seconds: int | Missing = NOT_WRITTEN
    reset_seconds: int | Missing = NOT_WRITTEN


class Growth(StrEnum):
    """In which steps a group grows: by what is needed, or at once to its maximum and otherwise not at all."""

    AS_NEEDED = "AsNeeded"
    ZERO_OR_MAX = "ZeroOrMax"


class ScaleUp(msgspec.Struct, Generic[Missing], frozen=True, kw_only=True):
    """In which steps the group grows, how long new nodes may take, and what follows a failure."""

    growth: Growth | Missing = NOT_WRITTEN
    max_node_provision_time_seconds: int | Missing = NOT_WRITTEN
    max_node_startup_time_seconds: int | Missing = NOT_WRITTEN
    backoff: Backoff[Missing] = Backoff()


class TaintSpec(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A node taint as written in a template."""

    key: str
    value: str = ""
    effect: str


class DeviceAttribute(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One attribute of devices: exactly one of the values. `boolean` is `true` or `false`."""

    name: str
    text: str | None = None
    number: int | None = None
    boolean: str | None = None
    version: str | None = None


class DevicePartition(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Equal parts that each device of an entry can be divided into. `capacity` and `consumes_counters` have quantities as
    written. A part has the attributes of its device that it does not set itself, and not its class."""

    name: str
    count: int = 1
    device_class: str = ""
    attributes: tuple[DeviceAttribute, ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()
    consumes_counters: tuple[tuple[str, str], ...] = ()


class TemplateDevices(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Equal devices that a driver offers on a new node. `capacity` and `counters` have quantities as written. `device_class`
    (empty: none) is a DeviceClass that selects them, whatever its selectors say. Each device has its own `counters`: as a whole
    it consumes all of them, and its `partitions` share them."""

    name: str
    driver: str
    count: int = 1
    device_class: str = ""
    attributes: tuple[DeviceAttribute, ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()
    counters: tuple[tuple[str, str], ...] = ()
    partitions: tuple[DevicePartition, ...] = ()


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What one new node offers. Resource values: cpu in milli, everything else in its base unit (bytes, count). `storage` has
    quantities as written, by the name of the StorageClass."""

    capacity: tuple[tuple[str, int], ...] = ()
    reserved: tuple[tuple[str, int], ...] = ()
    architecture: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[TaintSpec, ...] | None = None
    startup_taints: tuple[TaintSpec, ...] = ()
    devices: tuple[TemplateDevices, ...] | None = None
    storage: tuple[tuple[str, str], ...] = ()
    zones: tuple[str, ...] = ()


class HeadroomPods(msgspec.Struct, frozen=True, kw_only=True):
    """Room for so many pods of one shape."""

    name: str = ""
    count: int
    requests: tuple[tuple[str, int], ...] = ()


class Headroom(msgspec.Struct, frozen=True, kw_only=True):
    """Capacity kept free beyond pending demand."""

    nodes: int | None = None
    nodes_per_zone: int | None = None
    pods: tuple[HeadroomPods, ...] = ()


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a group in nodes."""

    min: int | None = None
    max: int | None = None


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A time span in which other values apply.

    `schedule` is a five-field cron line for the start of recurring spans of `duration_seconds`. The dates (Unix time) limit
    these. Without a schedule, the window is open from the first date until the second one.
    """

    name: str = ""
    schedule: str = ""
    time_zone: str = "Etc/UTC"
    duration_seconds: int | None = None
    from_seconds: int | None = None
    until_seconds: int | None = None
    size: Size = Size()
    scale_down: ScaleDown[None] = ScaleDown()


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is written for the group until `until_seconds` (Unix time); `None` holds until it is taken out of git."""

    reason: str
    until_seconds: int | None = None


class GroupFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a NodeGroup that a tier's or the policy's `defaults` may carry as well."""

    mode: Mode | None = None
    size: Size = Size()
    balance_with: str | None = None
    template: Template = Template()
    price_per_hour: str | None = None
    headroom: Headroom = Headroom()
    scale_down: ScaleDown[None] = ScaleDown()
    scale_up: ScaleUp[None] = ScaleUp()
    windows: tuple[Window, ...] = ()
    hold: Hold | None = None
    human_hold_time_seconds: int | None = None


class TargetSpec(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Which object a NodeGroup sizes: exactly one provider key. `provider` is the key of a platform in policies."""

    provider: str
    kind: str = ""
    namespace: str = ""
    name: str
    region: str = ""
    # The role for AWS when the group is in another account. No other platform uses it, and the name is AWS's. It stays here
    # because saved plans and approvals hold the digest of the policy. The digest covers each attribute of a group by its name,
    # so another name or a struct of the platform would change every digest.
    role_arn: str = ""


class ClusterMatch(msgspec.Struct, frozen=True, kw_only=True):
    """In which workload clusters a document counts: those with one of the `names` (`name` or `namespace/name`), or those whose
    Cluster object has `labels`. Neither: in every cluster."""

    names: tuple[str, ...] = ()
    labels: Selector | None = None


class NodeGroup(GroupFields, frozen=True, kw_only=True):
    """One `kind: NodeGroup` document. `places` maps a field path (`spec.size.min`) to where it was written."""

    name: str
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    policy_ref: str
    clusters: ClusterMatch = ClusterMatch()
    target: TargetSpec
    nodes: Selector | None = None
    tier: str | None = None
    place: Place
    places: Mapping[str, Place] = {}


class TierMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which groups a tier takes by itself: unanchored regular expressions on the group name, or labels."""

    names: tuple[str, ...] = ()
    labels: Selector | None = None


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """One priority tier; the order of the list is the priority. Nodes of lower tiers return to it once it has had capacity for
    `return_after_seconds` (None: they stay where they are). At least `share_percent` of the nodes of all tiers are of it."""

    name: str
    match: TierMatch = TierMatch()
    return_after_seconds: int | None = None
    share_percent: int = 0
    defaults: GroupFields = GroupFields()


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A named bound over nodes. `groups` and `nodes` select; both empty means all nodes, unmanaged ones included.

    Amounts: `nodes` as a count, cpu in milli, memory in bytes, extended resources in their unit.
    """

    name: str
    groups: Selector | None = None
    nodes: Selector | None = None
    max: tuple[tuple[str, int], ...] = ()
    min: tuple[tuple[str, int], ...] = ()


class LimitsFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of the cluster are limits in addition to those of the policy."""

    capacity_quotas: QuotaReading = QuotaReading.IGNORE


class HeadroomFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of the cluster are headroom in addition to that of the policy."""

    capacity_buffers: BufferReading = BufferReading.IGNORE

    @property
    def reads_buffers(self) -> bool:
        """Whether CapacityBuffers count."""
        return self.capacity_buffers is BufferReading.READ


class RequestsFrom(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of the cluster ask for room for pods that are about to be created."""

    provisioning_requests: RequestReading = RequestReading.IGNORE

    @property
    def reads_requests(self) -> bool:
        """Whether ProvisioningRequests are answered."""
        return self.provisioning_requests is RequestReading.READ


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """Targets that become groups without a document of their own. OR between items, AND inside one."""

    name: str
    tier: str | None = None
    provider: str
    namespaces: tuple[str, ...] = ()
    cluster_name: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    region: str = ""
    role_arn: str = ""
    tags: tuple[tuple[str, str], ...] = ()


class NodeGroupPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """One `kind: NodeGroupPolicy` document. `places` maps a field path (`spec.limits[0].max`) to where it was written.

    With a `base_policy`, its values override those of that policy in its `clusters`, field by field.
    """

    name: str
    labels: tuple[tuple[str, str], ...] = ()
    clusters: ClusterMatch = ClusterMatch()
    base_policy: str = ""
    mode: Mode = Mode.OBSERVE
    target_annotations: TargetAnnotations = TargetAnnotations.READ
    adopt_from: tuple[str, ...] = ()
    human_hold_time_seconds: int = 3600
    currency: str = "USD"
    tiers: tuple[Tier, ...] = ()
    expanders: tuple[Expander, ...] = ()
    near_tie_percent: int = 10
    limits: tuple[Limit, ...] = ()
    limits_from: LimitsFrom = LimitsFrom()
    headroom_from: HeadroomFrom = HeadroomFrom()
    requests_from: RequestsFrom = RequestsFrom()
    discovery: tuple[Discovery, ...] = ()
    pods: Annotated[PodRules, Key("Which pods count as demand.")] = PodRules()
    scheduler: Annotated[SchedulerRules, Key("How kube-scheduler is configured in this cluster.")] = SchedulerRules()
    health: Annotated[Health, Key("Removals stop while more managed nodes than both numbers allow are not Ready.")] = Health()
    drain: Annotated[DrainRules, Key("Which pods keep their node. Block keeps it, Allow lets the pod be evicted.")] = DrainRules()
    budgets: Annotated[
        tuple[Budget, ...],
        Key(
            "How many nodes may be leaving at the same time. The most restrictive open budget wins. An entry without reasons "
            "covers all reasons. An entry without a schedule is always open. If omitted, Empty nodes leave all at once, other "
            "nodes 10% at a time. So 100 nodes with pods take ten rounds of evictions; with `nodes: 1`, a hundred.",
            item="One budget.",
            cluster_autoscaler="--max-scale-down-parallelism, --max-drain-parallelism",
        ),
    ] = ()
    pace: Annotated[Pace, Key("Cool-downs, and the most changes of one plan.")] = Pace()
    group_namespaces: tuple[GroupNamespace, ...] = ()
    defaults: GroupFields = GroupFields()
    balancing_ignore_labels: tuple[str, ...] = ()
    balancing_presets: tuple[str, ...] = ()
    place: Place
    places: Mapping[str, Place] = {}


class PolicySet(msgspec.Struct, frozen=True, kw_only=True):
    """One policy with its groups, sorted by name: what `decide` takes. `digest` covers the values, not the places;
    `refused` are custom resources that are there and do not count, `approvals` what somebody allows: it covers neither."""

    policy: NodeGroupPolicy
    groups: tuple[NodeGroup, ...]
    digest: str
    revision: str | None = None
    refused: tuple[RefusedGroup, ...] = ()
    approvals: tuple[GroupApproval, ...] = ()
