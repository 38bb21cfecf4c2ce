"""One `kind: NodeGroupPolicy` document: the policy of one cluster."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from reconciler.policy.documents.group_fields import GroupFields, Mode
from reconciler.policy.documents.limits import HeadroomFrom, Limit, LimitsFrom, RequestsFrom
from reconciler.policy.documents.node_group import ClusterMatch, clusters_of, named, policy_named
from reconciler.policy.documents.pods import PodRules, SchedulerRules
from reconciler.policy.documents.removal import Budget, DrainRules, Health
from reconciler.policy.field import Kind, Loosens
from reconciler.policy.group_namespaces import GroupNamespace
from reconciler.policy.keys import Key
from reconciler.policy.pace import Pace
from reconciler.policy.place import Place
from reconciler.policy.values.label_selector import Selector

_BALANCING = Key(
    "What `balanceWith: Auto` considers similar. Zones, regions and the host name never count.",
    yaml_key="balancing",
    loosens=Loosens.SAFE,
)


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


class TierMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which groups a tier takes by itself: unanchored regular expressions on the group name, or labels."""

    names: Annotated[
        tuple[str, ...],
        Key("Regular expressions on the group's name, not anchored.", ("^h100-",), kind=Kind.REGEX, item="One expression."),
    ] = ()
    labels: Annotated[Selector | None, Key("Labels of the group.")] = None


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """One priority tier; the order of the list is the priority. Nodes of lower tiers return to it once it has had capacity for
    `return_after_seconds` (None: they stay where they are). At least `share_percent` of the nodes of all tiers are of it."""

    name: Annotated[str, Key("The name of the tier.", "spot", kind=Kind.NAME)]
    match: Annotated[
        TierMatch, Key("The groups of this tier that name no tier themselves. The first tier that matches wins.")
    ] = TierMatch()
    return_after_seconds: Annotated[
        int | None,
        Key(
            "Nodes of this tier replace nodes of lower tiers once this tier has had capacity for this long. "
            "Each failure restarts the wait, and each after the first doubles it, up to a day. "
            "With Never, nodes stay where they are.",
            "30m",
            never=True,
            minimum=60,
            loosens=Loosens.DOWN,
        ),
    ] = None
    share_percent: Annotated[
        int,
        Key(
            "At least this share of the nodes of all tiers are of this tier, rounded up to whole nodes. "
            "Growth and removal keep it, but no pod waits for it. Groups without a tier do not count.",
            30,
            yaml_key="share",
            loosens=Loosens.DOWN,
        ),
    ] = 0
    defaults: Annotated[GroupFields, Key("Values for the groups of this tier that do not set their own.")] = GroupFields()


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """Targets that become groups without a document of their own. OR between items, AND inside one."""

    name: Annotated[str, Key("The name of this rule in plans.", "capi", kind=Kind.NAME, loosens=Loosens.SAFE)]
    tier: Annotated[str | None, Key("The tier of the discovered groups.", "on-demand", kind=Kind.NAME)] = None
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

    name: Annotated[str, named("prod")]
    labels: Annotated[
        tuple[tuple[str, str], ...], Key("Labels, for people and other software.", "team: platform", kind=Kind.LABEL_MAP)
    ] = ()
    clusters: Annotated[ClusterMatch, clusters_of("policy")] = ClusterMatch()
    base_policy: Annotated[
        str,
        policy_named(
            Key(
                "The NodeGroupPolicy that this document overrides, field by field, in its clusters. "
                "Names override labels. Two equally specific documents must not set the same value.",
                yaml_key="basePolicyRef",
                loosens=Loosens.SAFE,
            )
        ),
    ] = ""
    mode: Annotated[
        Mode,
        Key(
            "Observe writes only its own status, events, lease and state. Enforce also writes replicas.",
            "Observe",
            "Enforce",
            before="clusters",
            loosens=Mode.ENFORCE,
        ),
    ] = Mode.OBSERVE
    target_annotations: Annotated[
        TargetAnnotations,
        Key("Whether annotations and tags of the targets with size, options and capacity apply.", "Ignore"),
    ] = TargetAnnotations.READ
    adopt_from: Annotated[
        tuple[str, ...],
        Key(
            "Field managers from which the reconciler may take over replicas. It does not change replicas of other managers.",
            ("cluster-autoscaler",),
            item="One field manager.",
            loosens=Loosens.MORE,
        ),
    ] = ()
    human_hold_time_seconds: Annotated[
        int,
        Key(
            "How long the reconciler leaves a group unchanged after a person changed its replicas.",
            "1h",
            loosens=Loosens.DOWN,
        ),
    ] = 3600
    currency: Annotated[
        str, Key("The currency of all prices, as its ISO 4217 code.", "EUR", pattern="[A-Z]{3}", loosens=Loosens.SAFE)
    ] = "USD"
    tiers: Annotated[
        tuple[Tier, ...],
        Key(
            "Tiers in order of priority, highest first. A lower tier serves only pods that the tiers above it cannot serve.",
            list_key="name",
            item="One tier.",
            cluster_autoscaler="--expander=priority with the ConfigMap cluster-autoscaler-priority-expander",
        ),
    ] = ()
    expanders: Annotated[
        tuple[Expander, ...],
        Key(
            "How to choose one of several groups of a tier. A later entry decides if the earlier ones tie. "
            "If omitted: LeastCost in a tier whose groups all have prices, else LeastWaste.",
            ("LeastCost", "LeastWaste"),
            minimum=1,
            item=Key("One rule.", "LeastWaste"),
            loosens=Loosens.SAFE,
            cluster_autoscaler="--expander",
        ),
    ] = ()
    near_tie_percent: Annotated[
        int,
        Key(
            "LeastWaste chooses fewer, larger nodes if they waste at most this much more of the added capacity.",
            5,
            loosens=Loosens.SAFE,
        ),
    ] = 10
    limits: Annotated[
        tuple[Limit, ...],
        Key(
            "Bounds on the sum over all nodes. All limits apply. Unmanaged nodes and the control plane count too. "
            "Capacity counts, not allocatable.",
            list_key="name",
            item="One bound.",
        ),
    ] = ()
    limits_from: Annotated[LimitsFrom, Key("Objects of the cluster that are limits as well.")] = LimitsFrom()
    headroom_from: Annotated[HeadroomFrom, Key("Objects of the cluster that are headroom as well.")] = HeadroomFrom()
    requests_from: Annotated[
        RequestsFrom, Key("Objects of the cluster that ask for room for pods that are about to be created.")
    ] = RequestsFrom()
    discovery: Annotated[
        tuple[Discovery, ...],
        Key(
            "Targets that become groups without their own document. A target must match all of one item. "
            "A NodeGroup for the same target wins.",
            list_key="name",
            item="One rule.",
            cluster_autoscaler="--node-group-auto-discovery",
        ),
    ] = ()
    pods: Annotated[PodRules, Key("Which pods count as demand.")] = PodRules()
    scheduler: Annotated[SchedulerRules, Key("How kube-scheduler is configured in this cluster.")] = SchedulerRules()
    health: Annotated[Health, Key("Removals stop while more managed nodes than both numbers allow are not Ready.")] = Health()
    drain: Annotated[DrainRules, Key("Which pods keep their node. Block keeps it, Allow lets the pod be evicted.")] = DrainRules()
    budgets: Annotated[
        tuple[Budget, ...],
        Key(
            "How many nodes may be leaving at the same time. The most restrictive open budget wins. An entry without reasons "
            "covers all reasons. An entry without a schedule is always open. If omitted, Empty nodes leave all together, other "
            "nodes 10% at a time. So 100 nodes with pods take ten rounds of evictions. With `nodes: 1`, a hundred.",
            item="One budget.",
            cluster_autoscaler="--max-scale-down-parallelism, --max-drain-parallelism",
        ),
    ] = ()
    pace: Annotated[Pace, Key("Cool-downs, and the most changes of one plan.")] = Pace()
    group_namespaces: Annotated[
        tuple[GroupNamespace, ...],
        Key(
            "Only NodeGroups of these namespaces are accepted. If omitted, all NodeGroups of a tree are accepted. "
            "Of custom resources, those in the reconciler's own namespace count, with any target.",
            list_key="name",
            item="One namespace.",
            before="pods",
        ),
    ] = ()
    defaults: Annotated[GroupFields, Key("Values for all groups, if neither the group, an annotation nor the tier sets one.")] = (
        GroupFields()
    )
    balancing_ignore_labels: Annotated[
        tuple[str, ...],
        Key(
            "Further labels in which similar groups may differ.",
            ("example.com/rack",),
            yaml_key="ignoreLabels",
            kind=Kind.LABEL_KEY,
            item="One label.",
            cluster_autoscaler="--balancing-ignore-label",
            within=_BALANCING,
            before="defaults",
        ),
    ] = ()
    balancing_presets: Annotated[
        tuple[str, ...],
        Key(
            "Platforms whose own labels are also ignored.",
            ("AWS",),
            yaml_key="presets",
            kind=Kind.ENUM,
            item="One platform.",
            within=_BALANCING,
            before="defaults",
        ),
    ] = ()
    place: Place
    places: Mapping[str, Place] = {}
