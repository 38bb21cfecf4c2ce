"""The fields of `template`: the capacity, labels and taints of a new node."""

from reconciler.policy.field import Field, Kind, Loosens

ARCHITECTURES = ("amd64", "arm64", "ppc64le", "s390x")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ATTACH_LIMIT = "attachable-volumes-csi-"


_KEY = Field(
    yaml_key="key",
    kind=Kind.LABEL_KEY,
    description="The key of the taint.",
    examples=("dedicated",),
    required=True,
    attribute="key",
)
_KEY_OR_PREFIX = Field(
    yaml_key="key",
    kind=Kind.KEY_OR_PREFIX,
    description="The key of the taint. One that ends with `*` stands for all keys that begin so.",
    examples=("node.cilium.io/agent-not-ready", "startup.example.com/*"),
    required=True,
    attribute="key",
)


def _taints(yaml_key: str, description: str, flag: str = "") -> Field:
    return Field(
        yaml_key=yaml_key,
        kind=Kind.TAINT_LIST,
        description=description,
        cluster_autoscaler=flag,
        attribute="taints" if yaml_key == "taints" else "startup_taints",
        item=Field(
            yaml_key="",
            kind=Kind.OBJECT,
            description="One taint.",
            children=(
                _KEY_OR_PREFIX if yaml_key == "startupTaints" else _KEY,
                Field(
                    yaml_key="value",
                    kind=Kind.STRING,
                    description="The value of the taint.",
                    default="",
                    examples=("spot",),
                    attribute="value",
                ),
                Field(
                    yaml_key="effect",
                    kind=Kind.ENUM,
                    description="What the taint does to pods that do not tolerate it.",
                    enum=TAINT_EFFECTS,
                    examples=("NoSchedule",),
                    required=True,
                    attribute="effect",
                ),
            ),
        ),
    )


TEMPLATE = Field(
    yaml_key="template",
    loosens=Loosens.SAFE,
    kind=Kind.OBJECT,
    description="What a new node offers. The rest comes from annotations, tags, the infrastructure template or a live node.",
    attribute="template",
    children=(
        Field(
            yaml_key="capacity",
            kind=Kind.RESOURCE_MAP,
            description=(
                "The capacity of one node by resource. Resources that are not here come from the sources above. "
                f"{ATTACH_LIMIT}DRIVER is how many volumes that driver attaches."
            ),
            examples=("cpu: 16", "memory: 64Gi", "pods: 110", f"{ATTACH_LIMIT}ebs.csi.aws.com: 26"),
            resources=("cpu", "memory", "ephemeral-storage", "pods"),
            resource_prefix=ATTACH_LIMIT,
            attribute="capacity",
        ),
        Field(
            yaml_key="reserved",
            kind=Kind.RESOURCE_MAP,
            description="What the node keeps for itself: allocatable is capacity minus this.",
            examples=("cpu: 500m", "memory: 4Gi"),
            resources=("cpu", "memory", "ephemeral-storage", "pods"),
            attribute="reserved",
        ),
        Field(
            yaml_key="architecture",
            kind=Kind.ENUM,
            description="The processor architecture, a short form of the label kubernetes.io/arch.",
            enum=ARCHITECTURES,
            examples=("arm64",),
            cluster_autoscaler="CAPI_SCALE_ZERO_DEFAULT_ARCH (environment)",
            attribute="architecture",
        ),
        Field(
            yaml_key="labels",
            kind=Kind.LABEL_MAP,
            description="The labels of one node; kubernetes.io/hostname is implied.",
            examples=("topology.kubernetes.io/zone: a",),
            attribute="labels",
        ),
        _taints(
            "taints",
            "The taints of one node. An empty list means no taints.",
        ),
        _taints(
            "startupTaints",
            "Taints that a new node has until it is set up. Scheduling ignores them.",
            "--startup-taint",
        ),
    ),
)
