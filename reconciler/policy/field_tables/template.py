"""The fields of `template`: the capacity, labels, taints and devices of a new node."""

from reconciler.policy.field import Field, Kind, Loosens, text_field

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


MOST_DEVICES = 128
"""In one ResourceSlice. Source: `ResourceSliceMaxDevices` of resource.k8s.io/v1."""
MOST_KINDS_OF_DEVICES = 64
"""So many kinds of devices one node may have. An API server refuses the rule of their attributes if there can be more."""
MOST_DEVICES_OF_A_NODE = MOST_KINDS_OF_DEVICES * MOST_DEVICES
"""With all partitions."""
_MOST_COUNTERS = 32
"""In one counter set. Source: `ResourceSliceMaxCountersPerCounterSet` of resource.k8s.io/v1."""
_DOMAIN_NAME = "[A-Za-z0-9._/-]{1,95}"


def _count(description: str, unit: str, example: int) -> Field:
    return Field(
        yaml_key="count",
        kind=Kind.INTEGER,
        description=description,
        unit=unit,
        examples=(example,),
        minimum=1,
        maximum=MOST_DEVICES,
        attribute="count",
    )


def _class(description: str, example: str) -> Field:
    return text_field("class", Kind.OBJECT_NAME, description, example, "device_class", required=False)


def _capacity(example: str) -> Field:
    return Field(
        yaml_key="capacity",
        kind=Kind.QUANTITY_MAP,
        description="Their capacity: quantities by name. A name without a domain is in that of the driver.",
        examples=(example,),
        maximum=32,
        attribute="capacity",
    )


def _attributes(description: str) -> Field:
    return Field(
        yaml_key="attributes",
        kind=Kind.LIST,
        description=description,
        attribute="attributes",
        list_key="name",
        maximum=32,
        item=Field(
            yaml_key="",
            kind=Kind.OBJECT,
            description="One attribute with one value.",
            exactly_one_of=("string", "int", "bool", "version"),
            children=(
                text_field(
                    "name",
                    Kind.STRING,
                    "Its name. Without a domain it is in that of the driver.",
                    "model",
                    "name",
                    pattern=_DOMAIN_NAME,
                ),
                text_field("string", Kind.STRING, "A text.", "h100", "text", required=False),
                Field(
                    yaml_key="int",
                    kind=Kind.INTEGER,
                    description="A whole number.",
                    unit="as the driver says",
                    examples=(2,),
                    minimum=-(2**53) + 1,
                    maximum=2**53 - 1,
                    attribute="number",
                ),
                Field(
                    yaml_key="bool",
                    kind=Kind.ENUM,
                    description="A truth value, in quotes.",
                    enum=("true", "false"),
                    examples=("true",),
                    attribute="boolean",
                ),
                text_field(
                    "version",
                    Kind.STRING,
                    "A semantic version.",
                    "13.0.1",
                    "version",
                    required=False,
                    pattern="[0-9]+[.][0-9]+[.][0-9]+[0-9A-Za-z.+-]*",
                ),
            ),
        ),
    )


_PARTITIONS = Field(
    yaml_key="partitions",
    kind=Kind.LIST,
    description="The parts that each device can be divided into. They and the whole device share its counters.",
    attribute="partitions",
    list_key="name",
    maximum=MOST_KINDS_OF_DEVICES,
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="Equal parts of each device.",
        children=(
            text_field(
                "name",
                Kind.OBJECT_NAME,
                "What the parts are called: 1g of the device gpu-0 stands for gpu-0-1g-0, gpu-0-1g-1 and so on.",
                "1g",
                "name",
            ),
            _count("How many of them the driver offers per device.", "partitions", 7),
            _class(
                "A DeviceClass that selects them. Its selectors are not evaluated for these parts; those of requests are. The "
                "class of the device does not count here.",
                "mig.example.com",
            ),
            _attributes("Their attributes. They also have those of the device that are not here."),
            _capacity("memory: 10Gi"),
            Field(
                yaml_key="consumesCounters",
                kind=Kind.QUANTITY_MAP,
                description="What one of them takes of the counters of its device: quantities by name.",
                examples=("memory: 10Gi",),
                required=True,
                minimum=1,
                maximum=_MOST_COUNTERS,
                attribute="consumes_counters",
            ),
        ),
    ),
)
_DEVICES = Field(
    yaml_key="devices",
    kind=Kind.LIST,
    description=(
        "The devices that drivers of dynamic resource allocation offer on one node. Without it, the ResourceSlices of a node of "
        "the group count, then the annotations of the target. An empty list means no devices."
    ),
    attribute="devices",
    list_key="name",
    maximum=MOST_KINDS_OF_DEVICES,
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="Equal devices of one driver.",
        children=(
            text_field(
                "name", Kind.OBJECT_NAME, "What the devices are called: gpu stands for gpu-0, gpu-1 and so on.", "gpu", "name"
            ),
            text_field("driver", Kind.OBJECT_NAME, "The driver that offers them.", "gpu.example.com", "driver"),
            _count("How many of them one node has.", "devices", 8),
            _class(
                "A DeviceClass that selects them. Its selectors are not evaluated for these devices; those of requests are.",
                "gpu.example.com",
            ),
            _attributes("Their attributes, which selectors and constraints read."),
            _capacity("memory: 80Gi"),
            Field(
                yaml_key="counters",
                kind=Kind.QUANTITY_MAP,
                description=(
                    "What each device has for its partitions to share: quantities by name. The driver publishes them as one "
                    "counter set per device. A whole device consumes all of them."
                ),
                examples=("memory: 80Gi",),
                maximum=_MOST_COUNTERS,
                attribute="counters",
            ),
            _PARTITIONS,
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
        Field(
            yaml_key="zones",
            kind=Kind.LIST,
            description=(
                "The zones over which the platform spreads the nodes: the next node comes to the zone with the fewest. "
                "Without effect if the label of the zone is stated."
            ),
            examples=(("a", "b", "c"),),
            unique=True,
            attribute="zones",
            item=Field(yaml_key="", kind=Kind.STRING, description="One zone.", examples=("a",)),
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
        _DEVICES,
        Field(
            yaml_key="storage",
            kind=Kind.QUANTITY_MAP,
            description=(
                "The room that volume drivers have on the disks of one node, by StorageClass. Without it, the "
                "CSIStorageCapacities of a node of the group count. Classes without a provisioner get no volumes by it."
            ),
            examples=("topolvm: 800Gi",),
            maximum=64,
            attribute="storage",
        ),
    ),
)
