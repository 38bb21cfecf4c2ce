"""The policy documents: these types are the schema. JSON Schema, CRDs and the reference table are generated from them.

Values are typed: durations are in whole seconds, quantities and percentages are integers. `None` means "not written here", so the
next source in the chain of effective values applies. Field names are camelCase in YAML. Units are in the names;
`scaleDown.unneededTime: 10m` becomes `unneeded_time_seconds == 600`.

A setting with several levels has one type for both ends of the chain. `ScaleDown[None]` has the values of one level, with None
for values that are not written. `ScaleDown[Never]` is the effective value, in which nothing is missing.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from reconciler.policy.documents.group_fields import (
    Backoff,
    Consolidation,
    Counting,
    GroupFields,
    Growth,
    Headroom,
    HeadroomPods,
    Hold,
    Mode,
    ScaleDown,
    ScaleUp,
    Size,
    Toggle,
    Window,
    WithoutMachines,
)
from reconciler.policy.documents.pods import DefaultConstraint, InclusionPolicy, PodRules, SchedulerRules, WhenUnsatisfiable
from reconciler.policy.documents.removal import BlockRule, Budget, DrainRules, Health, JobRule, RemovalReason
from reconciler.policy.documents.template import DeviceAttribute, DevicePartition, TaintSpec, Template, TemplateDevices
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

API_GROUP = "reconciler.dev"
API_VERSION = "reconciler.dev/v1alpha1"
TEST_VERSION, TEST_KIND = f"test.{API_GROUP}/v1alpha1", "PolicyTest"
"""What tests of a policy call themselves. They may stand in its tree and are skipped there."""


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
