"""Limits over nodes and discovery of targets, as fields."""

from reconciler.policy.documents import BufferReading, QuotaReading, RequestReading
from reconciler.policy.field import Field, Kind, Loosens
from reconciler.policy.platform_parts import platform_keys
from reconciler.values.label_selector import LABEL_OPERATORS
from reconciler.values.money import PRICE_HOURS

# Label selectors as fields.


def selector(yaml_key: str, description: str, *, attribute: str) -> Field:
    """A Kubernetes label selector under `yaml_key`."""
    return Field(
        yaml_key=yaml_key,
        kind=Kind.SELECTOR,
        description=description + " All requirements must hold; an empty selector is an error.",
        attribute=attribute,
        children=(
            Field(
                yaml_key="matchLabels",
                kind=Kind.LABEL_MAP,
                description="Required labels with their values.",
                examples=("pool: general-a",),
                attribute="match_labels",
            ),
            Field(
                yaml_key="matchExpressions",
                kind=Kind.LIST,
                description="Requirements on labels.",
                attribute="match_expressions",
                item=Field(
                    yaml_key="",
                    kind=Kind.OBJECT,
                    description="One requirement.",
                    children=(
                        Field(
                            yaml_key="key",
                            kind=Kind.LABEL_KEY,
                            description="The label.",
                            examples=("topology.kubernetes.io/zone",),
                            required=True,
                            attribute="key",
                        ),
                        Field(
                            yaml_key="operator",
                            kind=Kind.ENUM,
                            description="How the label is compared.",
                            enum=LABEL_OPERATORS,
                            examples=("In",),
                            required=True,
                            attribute="operator",
                        ),
                        Field(
                            yaml_key="values",
                            kind=Kind.LIST,
                            description="The values for In and NotIn. Omit them for Exists and DoesNotExist.",
                            examples=(("a", "b"),),
                            unique=True,
                            attribute="values",
                            item=Field(yaml_key="", kind=Kind.STRING, description="One value.", examples=("a",)),
                        ),
                    ),
                ),
            ),
        ),
    )


_LIMITED = ("nodes", "cpu", "memory", "ephemeral-storage", "pods")
_SPENT = tuple(PRICE_HOURS)
_DEVICES = "devices-"

LIMITS_FROM = Field(
    yaml_key="limitsFrom",
    kind=Kind.OBJECT,
    description="Objects of the cluster that are limits as well.",
    attribute="limits_from",
    children=(
        Field(
            yaml_key="capacityQuotas",
            loosens=QuotaReading.IGNORE,
            kind=Kind.ENUM,
            description=(
                "Whether CapacityQuota objects (`autoscaling.x-k8s.io`) are limits. With Read, one that cannot be read or "
                "understood stops the growth of all groups."
            ),
            enum=tuple(QuotaReading),
            examples=("Read",),
            attribute="capacity_quotas",
        ),
    ),
)

HEADROOM_FROM = Field(
    yaml_key="headroomFrom",
    kind=Kind.OBJECT,
    description="Objects of the cluster that are headroom as well.",
    attribute="headroom_from",
    children=(
        Field(
            yaml_key="capacityBuffers",
            loosens=BufferReading.IGNORE,
            kind=Kind.ENUM,
            description=(
                "Whether CapacityBuffer objects (`autoscaling.x-k8s.io`) are headroom. With Read, any group may grow for them, "
                "within its maximum and the limits."
            ),
            enum=tuple(BufferReading),
            examples=("Read",),
            attribute="capacity_buffers",
        ),
    ),
)

REQUESTS_FROM = Field(
    yaml_key="requestsFrom",
    kind=Kind.OBJECT,
    description="Objects of the cluster that ask for room for pods that are about to be created.",
    attribute="requests_from",
    children=(
        Field(
            yaml_key="provisioningRequests",
            loosens=RequestReading.IGNORE,
            kind=Kind.ENUM,
            description=(
                "Whether ProvisioningRequest objects (`autoscaling.x-k8s.io`) are answered. With Read, any group may grow for "
                "those of class best-effort-atomic-scale-up, within its maximum and the limits."
            ),
            enum=tuple(RequestReading),
            examples=("Read",),
            attribute="provisioning_requests",
        ),
    ),
)

LIMITS = Field(
    yaml_key="limits",
    kind=Kind.LIST,
    description=(
        "Bounds on the sum over all nodes. All limits apply. Unmanaged nodes and the control plane count too. "
        "Capacity counts, not allocatable."
    ),
    list_key="name",
    attribute="limits",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One bound.",
        children=(
            Field(
                yaml_key="name",
                loosens=Loosens.SAFE,
                kind=Kind.NAME,
                description="The name of this limit in plans.",
                examples=("cluster",),
                required=True,
                attribute="name",
            ),
            selector("groups", "Only the nodes of groups with these labels.", attribute="groups"),
            selector("nodes", "Only nodes with these labels.", attribute="nodes"),
            Field(
                yaml_key="max",
                loosens=Loosens.UP,
                kind=Kind.RESOURCE_MAP,
                description=(
                    "What the sum must not exceed. `nodes` is the number of nodes. `pricePerHour` and `pricePerMonth` (730 "
                    "hours) sum the prices of groups in `currency`. Each group that they select needs a price. "
                    "`devices-DRIVER` is the number of devices in ResourceSlices of that driver, with the parts of devices."
                ),
                examples=("nodes: 500", "cpu: 4000", "memory: 16Ti", "devices-gpu.example.com: 64"),
                resources=(*_LIMITED, *_SPENT),
                resource_prefix=_DEVICES,
                cluster_autoscaler="--max-nodes-total, --cores-total, --memory-total, --gpu-total",
                attribute="max",
            ),
            Field(
                yaml_key="min",
                loosens=Loosens.DOWN,
                kind=Kind.RESOURCE_MAP,
                description="What removals must keep of the sum.",
                examples=("cpu: 16",),
                resources=_LIMITED,
                resource_prefix=_DEVICES,
                cluster_autoscaler="--cores-total, --memory-total, --gpu-total",
                attribute="min",
            ),
        ),
    ),
)

DISCOVERY = Field(
    yaml_key="discovery",
    kind=Kind.LIST,
    description=(
        "Targets that become groups without their own document. A target must match all of one item. "
        "A NodeGroup for the same target wins."
    ),
    cluster_autoscaler="--node-group-auto-discovery",
    list_key="name",
    attribute="discovery",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One rule.",
        exactly_one_of=tuple(keys.provider for keys in platform_keys() if keys.discovery is not None),
        children=(
            Field(
                yaml_key="name",
                loosens=Loosens.SAFE,
                kind=Kind.NAME,
                description="The name of this rule in plans.",
                examples=("capi",),
                required=True,
                attribute="name",
            ),
            Field(
                yaml_key="tier",
                kind=Kind.NAME,
                description="The tier of the discovered groups.",
                examples=("on-demand",),
                attribute="tier",
            ),
            *(keys.discovery for keys in platform_keys() if keys.discovery is not None),
        ),
    ),
)

# In which workload clusters a document counts.


def clusters(what: str) -> Field:
    """`clusters` of a document, which is called `what` in its description."""
    return Field(
        yaml_key="clusters",
        loosens=Loosens.SAFE,
        kind=Kind.OBJECT,
        description=f"The workload clusters of this {what}, in a tree for many clusters. If omitted, all clusters. "
        "Custom resources cannot have it.",
        attribute="clusters",
        exactly_one_of=("names", "labels"),
        children=(
            Field(
                yaml_key="names",
                kind=Kind.LIST,
                description="Names of clusters, with or without the namespace of the Cluster object.",
                examples=(("prod-7", "fleet/prod-8"),),
                unique=True,
                minimum=1,
                attribute="names",
                item=Field(
                    yaml_key="",
                    kind=Kind.STRING,
                    description="One cluster.",
                    examples=("prod-7",),
                    pattern="([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
                ),
            ),
            selector("labels", "Labels of the Cluster object.", attribute="labels"),
        ),
    )
