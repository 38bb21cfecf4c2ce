"""`kind: NodeGroupPolicy` as fields."""

from reconciler.policy.balancing import presets
from reconciler.policy.documents import Expander, Mode, NodeGroupPolicy, TargetAnnotations
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import Field, Kind, Loosens, text_field
from reconciler.policy.field_tables.membership import (
    DISCOVERY,
    HEADROOM_FROM,
    LIMITS,
    LIMITS_FROM,
    REQUESTS_FROM,
    clusters,
    selector,
)
from reconciler.policy.keys import keys_of
from reconciler.policy.platform_parts import platform_keys

# What every document carries: apiVersion, kind, metadata, status.


def document(kind: str, description: str, metadata: Field, spec: Field) -> Field:
    """The root of a document of `kind`."""
    return Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description=description,
        required=True,
        children=(
            Field(
                yaml_key="apiVersion",
                kind=Kind.STRING,
                description="API group and version of this document.",
                enum=("reconciler.dev/v1alpha1",),
                required=True,
            ),
            Field(yaml_key="kind", kind=Kind.STRING, description="The kind of this document.", enum=(kind,), required=True),
            metadata,
            spec,
            Field(yaml_key="status", kind=Kind.OPAQUE, description="Written by the loop; ignored in a policy tree."),
        ),
    )


def metadata(*, namespaced: bool) -> Field:
    """The `metadata` of a document. What API servers add is accepted, so that an exported object can be checked."""
    name = Field(
        yaml_key="name",
        kind=Kind.OBJECT_NAME,
        description="The name; unique among NodeGroups of one policy, and among policies.",
        examples=("general-a",) if namespaced else ("prod",),
        required=True,
        attribute="name",
    )
    namespace = Field(
        yaml_key="namespace",
        kind=Kind.OBJECT_NAME,
        description="The namespace of this object as a custom resource.",
        examples=("reconciler",),
        attribute="namespace",
    )
    labels = Field(
        yaml_key="labels",
        kind=Kind.LABEL_MAP,
        description="Labels; limits select groups by them." if namespaced else "Labels, for people and other software.",
        examples=("reserve: h100",) if namespaced else ("team: platform",),
        attribute="labels",
    )
    added = tuple(
        Field(yaml_key=key, kind=Kind.OPAQUE, description="Written by the API server or by other software; ignored.")
        for key in (
            "annotations",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "finalizers",
            "generateName",
            "generation",
            "managedFields",
            "ownerReferences",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    )
    return Field(
        yaml_key="metadata",
        kind=Kind.OBJECT,
        description="Name and labels of the object.",
        required=True,
        children=(name, *((namespace,) if namespaced else ()), labels, *added),
    )


# Whose NodeGroups a policy takes, as fields.

GROUP_NAMESPACES = Field(
    yaml_key="groupNamespaces",
    kind=Kind.LIST,
    description="Namespaces whose NodeGroups count; all others are rejected. If omitted, all NodeGroups of a tree count. "
    "Of custom resources, those in the reconciler's own namespace count, with any target.",
    list_key="name",
    attribute="group_namespaces",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One namespace.",
        children=(
            Field(
                yaml_key="name",
                kind=Kind.OBJECT_NAME,
                description="The namespace.",
                examples=("team-a",),
                required=True,
                attribute="name",
            ),
            Field(
                yaml_key="targets",
                kind=Kind.OBJECT,
                description="The targets that its NodeGroups may size. If omitted, those in the same namespace.",
                attribute="targets",
                children=(
                    Field(
                        yaml_key="namespaces",
                        kind=Kind.LIST,
                        description="Targets in these namespaces. If omitted, in the namespace of the NodeGroup.",
                        examples=(("capi-team-a",),),
                        attribute="namespaces",
                        unique=True,
                        item=Field(yaml_key="", kind=Kind.OBJECT_NAME, description="One namespace.", examples=("capi-team-a",)),
                    ),
                    Field(
                        yaml_key="names",
                        kind=Kind.LIST,
                        description="Targets whose whole name matches one of these regular expressions. If omitted, any name. "
                        "A target without a namespace (an Auto Scaling group) needs such a name.",
                        examples=(("team-a-.*",),),
                        attribute="names",
                        unique=True,
                        item=Field(yaml_key="", kind=Kind.REGEX, description="One expression.", examples=("team-a-.*",)),
                    ),
                ),
            ),
        ),
    ),
)
_TIERS = Field(
    yaml_key="tiers",
    kind=Kind.LIST,
    description="Tiers in order of priority, highest first. A lower tier serves only what the tiers above it cannot.",
    cluster_autoscaler="--expander=priority with the ConfigMap cluster-autoscaler-priority-expander",
    list_key="name",
    attribute="tiers",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One tier.",
        children=(
            Field(
                yaml_key="name",
                kind=Kind.NAME,
                description="The name of the tier.",
                examples=("spot",),
                required=True,
                attribute="name",
            ),
            Field(
                yaml_key="match",
                kind=Kind.OBJECT,
                description="The groups of this tier that name no tier themselves. The first tier that matches wins.",
                attribute="match",
                children=(
                    Field(
                        yaml_key="names",
                        kind=Kind.LIST,
                        description="Regular expressions on the group's name, not anchored.",
                        examples=(("^h100-",),),
                        attribute="names",
                        unique=True,
                        item=Field(yaml_key="", kind=Kind.REGEX, description="One expression.", examples=("^h100-",)),
                    ),
                    selector("labels", "Labels of the group.", attribute="labels"),
                ),
            ),
            Field(
                yaml_key="returnAfter",
                loosens=Loosens.DOWN,
                kind=Kind.DURATION,
                description="Nodes of this tier replace nodes of lower tiers once this tier has had capacity for this long. "
                "Each failure restarts the wait, and each after the first doubles it, up to a day. "
                "With Never, nodes stay where they are.",
                unit="seconds",
                default="Never",
                enum=("Never",),
                examples=("30m",),
                minimum=60,
                attribute="return_after_seconds",
            ),
            Field(
                yaml_key="share",
                loosens=Loosens.DOWN,
                kind=Kind.PERCENT,
                description="At least this share of the nodes of all tiers are of this tier, rounded up to whole nodes. "
                "Growth and removal keep it, but no pod waits for it. Groups without a tier do not count.",
                unit="percent",
                examples=(30,),
                minimum=0,
                maximum=100,
                attribute="share_percent",
            ),
            Field(
                yaml_key="defaults",
                kind=Kind.OBJECT,
                description="Values for the groups of this tier that do not set their own.",
                attribute="defaults",
                children=GROUP_FIELDS,
            ),
        ),
    ),
)

_BALANCING = Field(
    yaml_key="balancing",
    loosens=Loosens.SAFE,
    kind=Kind.OBJECT,
    description="What `balanceWith: Auto` considers similar. Zones, regions and the host name never count.",
    children=(
        Field(
            yaml_key="ignoreLabels",
            kind=Kind.LIST,
            description="Further labels in which similar groups may differ.",
            examples=(("example.com/rack",),),
            unique=True,
            cluster_autoscaler="--balancing-ignore-label",
            attribute="balancing_ignore_labels",
            item=Field(yaml_key="", kind=Kind.LABEL_KEY, description="One label.", examples=("example.com/rack",)),
        ),
        Field(
            yaml_key="presets",
            kind=Kind.LIST,
            description="Platforms whose own labels are also ignored.",
            examples=(("AWS",),),
            unique=True,
            attribute="balancing_presets",
            item=Field(yaml_key="", kind=Kind.ENUM, description="One platform.", enum=tuple(presets()), examples=("AWS",)),
        ),
    ),
)

NODE_GROUP_POLICY = document(
    "NodeGroupPolicy",
    "The policy of one cluster: mode, tiers, limits, discovery, budgets and defaults of its node groups.",
    metadata(namespaced=False),
    Field(
        yaml_key="spec",
        kind=Kind.OBJECT,
        description="The policy.",
        required=True,
        children=(
            Field(
                yaml_key="mode",
                loosens=Mode.ENFORCE,
                kind=Kind.ENUM,
                description="Observe writes only its own status, events, lease and state; Enforce also writes replicas.",
                enum=tuple(Mode),
                examples=("Observe", "Enforce"),
                attribute="mode",
            ),
            clusters("policy"),
            Field(
                yaml_key="basePolicyRef",
                loosens=Loosens.SAFE,
                kind=Kind.OBJECT,
                description="The NodeGroupPolicy that this document overrides, field by field, in its clusters. "
                "Names override labels. Two equally specific documents must not set the same value.",
                children=(text_field("name", Kind.OBJECT_NAME, "Its name.", "prod", "base_policy"),),
            ),
            Field(
                yaml_key="targetAnnotations",
                kind=Kind.ENUM,
                description="Whether annotations and tags of the targets with size, options and capacity count.",
                enum=tuple(TargetAnnotations),
                examples=("Ignore",),
                attribute="target_annotations",
            ),
            Field(
                yaml_key="adoptFrom",
                loosens=Loosens.MORE,
                kind=Kind.LIST,
                description="Field managers from which the reconciler may take over replicas. "
                "It does not change replicas of other managers.",
                examples=(("cluster-autoscaler",),),
                unique=True,
                attribute="adopt_from",
                item=Field(yaml_key="", kind=Kind.STRING, description="One field manager.", examples=("cluster-autoscaler",)),
            ),
            Field(
                yaml_key="humanHoldTime",
                loosens=Loosens.DOWN,
                kind=Kind.DURATION,
                description="How long the reconciler leaves a group unchanged after a person changed its replicas.",
                unit="seconds",
                examples=("1h",),
                minimum=0,
                attribute="human_hold_time_seconds",
            ),
            Field(
                yaml_key="currency",
                loosens=Loosens.SAFE,
                kind=Kind.STRING,
                description="The currency of all prices, as its ISO 4217 code.",
                examples=("EUR",),
                pattern="[A-Z]{3}",
                attribute="currency",
            ),
            _TIERS,
            Field(
                yaml_key="expanders",
                loosens=Loosens.SAFE,
                kind=Kind.LIST,
                description="How to choose one of several groups of a tier. A later entry decides if the earlier ones tie. "
                "If omitted: LeastCost in a tier whose groups all have prices, else LeastWaste.",
                examples=(("LeastCost", "LeastWaste"),),
                unique=True,
                minimum=1,
                cluster_autoscaler="--expander",
                attribute="expanders",
                item=Field(yaml_key="", kind=Kind.ENUM, description="One rule.", enum=tuple(Expander), examples=("LeastWaste",)),
            ),
            Field(
                yaml_key="nearTiePercent",
                loosens=Loosens.SAFE,
                kind=Kind.PERCENT,
                description="LeastWaste chooses fewer, larger nodes if they waste at most this much more of the added capacity.",
                unit="percent",
                examples=(5,),
                minimum=0,
                maximum=100,
                attribute="near_tie_percent",
            ),
            LIMITS,
            LIMITS_FROM,
            HEADROOM_FROM,
            REQUESTS_FROM,
            DISCOVERY,
            GROUP_NAMESPACES,
            *keys_of(NodeGroupPolicy),
            _BALANCING,
            Field(
                yaml_key="defaults",
                kind=Kind.OBJECT,
                description="Values for all groups, if neither the group, an annotation nor the tier sets one.",
                attribute="defaults",
                children=GROUP_FIELDS,
            ),
        ),
    ),
)


# `kind: NodeGroup` as fields.

_TARGET = Field(
    yaml_key="target",
    kind=Kind.OBJECT,
    description="The object whose replicas this group sizes.",
    required=True,
    attribute="target",
    exactly_one_of=tuple(keys.provider for keys in platform_keys()),
    children=tuple(keys.target for keys in platform_keys()),
)

NODE_GROUP = document(
    "NodeGroup",
    "A node group: which target it sizes, and how.",
    metadata(namespaced=True),
    Field(
        yaml_key="spec",
        kind=Kind.OBJECT,
        description="The settings of the group.",
        required=True,
        children=(
            Field(
                yaml_key="policyRef",
                loosens=Loosens.SAFE,
                kind=Kind.OBJECT,
                description="The NodeGroupPolicy that this group belongs to.",
                required=True,
                children=(text_field("name", Kind.OBJECT_NAME, "Its name.", "prod", "policy_ref"),),
            ),
            clusters("group"),
            _TARGET,
            selector(
                "nodes",
                "The nodes of the group. Set it only if the target does not show them.",
                attribute="nodes",
            ),
            Field(
                yaml_key="tier",
                loosens=Loosens.SAFE,
                kind=Kind.NAME,
                description="The tier of the group. If omitted, the first tier that matches the group.",
                examples=("on-demand",),
                attribute="tier",
            ),
            *GROUP_FIELDS,
        ),
    ),
)
