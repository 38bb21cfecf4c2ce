"""The policy documents: these types are the schema. JSON Schema, CRDs and the reference table are generated from them.

Values are typed: durations are in whole seconds, quantities and percentages are integers. `None` means "not written here", so the
next source in the chain of effective values applies. Field names are camelCase in YAML. Units are in the names;
`scaleDown.unneededTime: 10m` becomes `unneeded_time_seconds == 600`.

A setting with several levels has one type for both ends of the chain. `ScaleDown[None]` has the values of one level, with None
for values that are not written. `ScaleDown[Never]` is the effective value, in which nothing is missing.
"""

import msgspec

from reconciler.policy.documents.group_fields import (
    Backoff,
    Consolidation,
    Counting,
    Disruption,
    GroupFields,
    Growth,
    Headroom,
    HeadroomPods,
    Hold,
    Mode,
    PodWeight,
    ScaleDown,
    ScaleUp,
    Size,
    Toggle,
    Window,
    WithoutMachines,
)
from reconciler.policy.documents.limits import (
    BufferReading,
    HeadroomFrom,
    Limit,
    LimitsFrom,
    QuotaReading,
    RequestReading,
    RequestsFrom,
)
from reconciler.policy.documents.node_group import ClusterMatch, NodeGroup, TargetSpec
from reconciler.policy.documents.node_group_policy import Discovery, Expander, NodeGroupPolicy, TargetAnnotations, Tier, TierMatch
from reconciler.policy.documents.pods import (
    DefaultConstraint,
    FeatureGate,
    GateState,
    InclusionPolicy,
    PodRules,
    SchedulerRules,
    WhenUnsatisfiable,
)
from reconciler.policy.documents.removal import (
    BlockRule,
    Budget,
    ConditionStatus,
    DrainRules,
    Health,
    JobRule,
    RemovalReason,
    Repair,
)
from reconciler.policy.documents.template import DeviceAttribute, DevicePartition, TaintSpec, Template, TemplateDevices
from reconciler.policy.group_namespaces import RefusedGroup
from reconciler.policy.pace import GroupApproval

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
    "ConditionStatus",
    "Consolidation",
    "Counting",
    "DefaultConstraint",
    "DeviceAttribute",
    "DevicePartition",
    "Discovery",
    "Disruption",
    "DrainRules",
    "Expander",
    "FeatureGate",
    "GateState",
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
    "PodWeight",
    "PolicySet",
    "QuotaReading",
    "RemovalReason",
    "Repair",
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


class PolicySet(msgspec.Struct, frozen=True, kw_only=True):
    """One policy with its groups, sorted by name: what `decide` takes. `digest` covers the values, not the places;
    `refused` are custom resources that are there and do not count, `approvals` what somebody allows: it covers neither."""

    policy: NodeGroupPolicy
    groups: tuple[NodeGroup, ...]
    digest: str
    revision: str | None = None
    refused: tuple[RefusedGroup, ...] = ()
    approvals: tuple[GroupApproval, ...] = ()
