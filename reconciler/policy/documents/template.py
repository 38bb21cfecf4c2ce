"""What one new node offers: capacity, labels, taints and devices."""

from typing import Annotated

import msgspec

from reconciler.policy.field import BYTES, Kind, MergeRule
from reconciler.policy.keys import Key

ATTACH_LIMIT = "attachable-volumes-csi-"
MOST_DEVICES = 128
"""In one ResourceSlice. Source: `ResourceSliceMaxDevices` of resource.k8s.io/v1."""
MOST_KINDS_OF_DEVICES = 64
"""So many kinds of devices one node may have. An API server refuses the rule of their attributes if there can be more."""
MOST_DEVICES_OF_A_NODE = MOST_KINDS_OF_DEVICES * MOST_DEVICES
"""With all partitions."""
_MOST_COUNTERS = 32
"""In one counter set. Source: `ResourceSliceMaxCountersPerCounterSet` of resource.k8s.io/v1."""
_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")

Quantities = tuple[tuple[str, str], ...]
"""Quantities by name, as written."""


class TaintSpec(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A node taint as written in a template."""

    key: Annotated[str, Key("The key of the taint.", "dedicated", kind=Kind.LABEL_KEY)]
    value: Annotated[str, Key("The value of the taint.", "spot", default="")] = ""
    effect: Annotated[
        str,
        Key(
            "What the taint does to pods that do not tolerate it.",
            "NoSchedule",
            enum=("NoSchedule", "PreferNoSchedule", "NoExecute"),
        ),
    ]


class DeviceAttribute(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One attribute of devices: exactly one of the values. `boolean` is `true` or `false`."""

    name: Annotated[str, Key("Its name. Without a domain it is in that of the driver.", "model", pattern="[A-Za-z0-9._/-]{1,95}")]
    text: Annotated[str | None, Key("A text.", "h100", yaml_key="string")] = None
    number: Annotated[
        int | None,
        Key("A whole number.", 2, yaml_key="int", unit="as the driver says", minimum=-(2**53) + 1, maximum=2**53 - 1),
    ] = None
    boolean: Annotated[str | None, Key("A truth value, in quotes.", "true", yaml_key="bool", enum=("true", "false"))] = None
    version: Annotated[str | None, Key("A semantic version.", "13.0.1", pattern="[0-9]+[.][0-9]+[.][0-9]+[0-9A-Za-z.+-]*")] = None


def _count(description: str, unit: str, example: int) -> Key:
    return Key(description, example, unit=unit, minimum=1, maximum=MOST_DEVICES)


def _class(description: str, example: str) -> Key:
    return Key(description, example, yaml_key="class", kind=Kind.OBJECT_NAME)


def _attributes(description: str) -> Key:
    return Key(
        description,
        list_key="name",
        maximum=32,
        item="One attribute with one value.",
        exactly_one_of=("string", "int", "bool", "version"),
    )


def _capacity(example: str) -> Key:
    described = "Their capacity: quantities by name. A name without a domain is in that of the driver."
    return Key(described, example, kind=Kind.QUANTITY_MAP, maximum=32)


class DevicePartition(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Equal parts that each device of an entry can be divided into. `capacity` and `consumes_counters` have quantities as
    written. A part has the attributes of its device that it does not set itself, and not its class."""

    name: Annotated[
        str,
        Key(
            "What the parts are called: 1g of the device gpu-0 stands for gpu-0-1g-0, gpu-0-1g-1 and so on.",
            "1g",
            kind=Kind.OBJECT_NAME,
        ),
    ]
    count: Annotated[int, _count("How many of them the driver offers per device.", "partitions", 7)] = 1
    device_class: Annotated[
        str,
        _class(
            "A DeviceClass that selects them. Its selectors are not evaluated for these parts. Those of requests are. The "
            "class of the device does not count here.",
            "mig.example.com",
        ),
    ] = ""
    attributes: Annotated[
        tuple[DeviceAttribute, ...], _attributes("Their attributes. They also have those of the device that are not here.")
    ] = ()
    capacity: Annotated[Quantities, _capacity("memory: 10Gi")] = ()
    consumes_counters: Annotated[
        Quantities,
        Key(
            "What one of them takes of the counters of its device: quantities by name.",
            "memory: 10Gi",
            kind=Kind.QUANTITY_MAP,
            required=True,
            minimum=1,
            maximum=_MOST_COUNTERS,
        ),
    ] = ()


class TemplateDevices(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Equal devices that a driver offers on a new node. `capacity` and `counters` have quantities as written. `device_class`
    (empty: none) is a DeviceClass that selects them, whatever its selectors say. Each device has its own `counters`: as a whole
    it consumes all of them, and its `partitions` share them."""

    name: Annotated[str, Key("What the devices are called: gpu stands for gpu-0, gpu-1 and so on.", "gpu", kind=Kind.OBJECT_NAME)]
    driver: Annotated[str, Key("The driver that offers them.", "gpu.example.com", kind=Kind.OBJECT_NAME)]
    count: Annotated[int, _count("How many of them one node has.", "devices", 8)] = 1
    device_class: Annotated[
        str,
        _class(
            "A DeviceClass that selects them. Its selectors are not evaluated for these devices. Those of requests are.",
            "gpu.example.com",
        ),
    ] = ""
    attributes: Annotated[
        tuple[DeviceAttribute, ...], _attributes("Their attributes, which selectors and constraints read.")
    ] = ()
    capacity: Annotated[Quantities, _capacity("memory: 80Gi")] = ()
    counters: Annotated[
        Quantities,
        Key(
            "What each device has for its partitions to share: quantities by name. The driver publishes them as one "
            "counter set per device. A whole device consumes all of them.",
            "memory: 80Gi",
            kind=Kind.QUANTITY_MAP,
            maximum=_MOST_COUNTERS,
        ),
    ] = ()
    partitions: Annotated[
        tuple[DevicePartition, ...],
        Key(
            "The parts that each device can be divided into. They and the whole device share its counters.",
            list_key="name",
            maximum=MOST_KINDS_OF_DEVICES,
            item="Equal parts of each device.",
        ),
    ] = ()


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What one new node offers. Resource values: cpu in milli, everything else in its base unit (bytes, count). `storage` has
    quantities as written, by the name of the StorageClass."""

    capacity: Annotated[
        tuple[tuple[str, int], ...],
        Key(
            "The capacity of one node by resource. Resources that are not here come from the sources above. "
            f"{ATTACH_LIMIT}DRIVER is how many volumes that driver attaches.",
            "cpu: 16",
            "memory: 64Gi",
            "pods: 110",
            f"{ATTACH_LIMIT}ebs.csi.aws.com: 26",
            resources=_RESOURCES,
            resource_prefix=ATTACH_LIMIT,
            merge=MergeRule.KEYS,
        ),
    ] = ()
    reserved: Annotated[
        tuple[tuple[str, int], ...],
        Key(
            "What the node keeps for itself: allocatable is capacity minus this.",
            "cpu: 500m",
            "memory: 4Gi",
            resources=_RESOURCES,
        ),
    ] = ()
    architecture: Annotated[
        str | None,
        Key(
            "The processor architecture, a short form of the label kubernetes.io/arch.",
            "arm64",
            enum=("amd64", "arm64", "ppc64le", "s390x"),
            cluster_autoscaler="CAPI_SCALE_ZERO_DEFAULT_ARCH (environment)",
        ),
    ] = None
    labels: Annotated[
        tuple[tuple[str, str], ...],
        Key(
            "The labels of one node. The label kubernetes.io/hostname is implied.",
            "topology.kubernetes.io/zone: a",
            kind=Kind.LABEL_MAP,
            merge=MergeRule.KEYS,
        ),
    ] = ()
    taints: Annotated[
        tuple[TaintSpec, ...] | None,
        Key("The taints of one node. An empty list means no taints.", kind=Kind.TAINT_LIST, item="One taint."),
    ] = None
    startup_taints: Annotated[
        tuple[TaintSpec, ...],
        Key(
            "Taints that a new node has until it is set up. Scheduling ignores them.",
            kind=Kind.TAINT_LIST,
            item="One taint.",
            instead={
                "key": Key(
                    "The key of the taint. One that ends with `*` stands for all keys that begin so.",
                    "node.cilium.io/agent-not-ready",
                    "startup.example.com/*",
                    kind=Kind.KEY_OR_PREFIX,
                )
            },
            cluster_autoscaler="--startup-taint",
            merge=MergeRule.UNION,
        ),
    ] = ()
    devices: Annotated[
        tuple[TemplateDevices, ...] | None,
        Key(
            "The devices that drivers of dynamic resource allocation offer on one node. Without it, the ResourceSlices of a node "
            "of the group count, then the annotations of the target. An empty list means no devices.",
            list_key="name",
            maximum=MOST_KINDS_OF_DEVICES,
            item="Equal devices of one driver.",
        ),
    ] = None
    storage: Annotated[
        Quantities,
        Key(
            "The room that volume drivers have on the disks of one node, by StorageClass. Without it, the "
            "CSIStorageCapacities of a node of the group apply. Classes without a provisioner get no volumes by it.",
            "topolvm: 800Gi",
            kind=Kind.QUANTITY_MAP,
            unit=BYTES,
            maximum=64,
        ),
    ] = ()
    zones: Annotated[
        tuple[str, ...],
        Key(
            "The zones over which the platform spreads the nodes: the next node comes to the zone with the fewest. "
            "Without effect if the label of the zone is stated.",
            ("a", "b", "c"),
            item="One zone.",
            before="taints",
        ),
    ] = ()
