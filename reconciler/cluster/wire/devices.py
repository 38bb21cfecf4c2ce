"""Device classes, slices and claims (resource.k8s.io), pruned to what decides where a pod runs."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, Int64, ObjectMeta
from reconciler.cluster.wire.pod import NodeSelector

Amount = str | int | float
"""A quantity as JSON may write it."""


class CelSelector(msgspec.Struct, gc=False):
    """`cel` of a selector."""

    expression: str = ""


class Selector(msgspec.Struct, gc=False):
    """One `selectors` item; other kinds of selectors than CEL do not exist yet."""

    cel: CelSelector | None = None


class DeviceClassSpec(msgspec.Struct, rename="camel", gc=False):
    """`spec` of a DeviceClass."""

    selectors: list[Selector] | None = None
    extended_resource_name: str | None = None


class DeviceClass(msgspec.Struct, rename="camel"):
    """A DeviceClass."""

    metadata: ObjectMeta
    kind: str = ""
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class Attribute(msgspec.Struct, gc=False):
    """One attribute: exactly one value. Lists are an alpha feature and are read to be named."""

    integer: Int64 | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class ValidRange(msgspec.Struct, gc=False):
    """`requestPolicy.validRange`."""

    min: Amount | None = None
    max: Amount | None = None
    step: Amount | None = None


class RequestPolicy(msgspec.Struct, rename="camel", gc=False):
    """How requests for a part of a capacity are rounded."""

    default: Amount | None = None
    valid_values: list[Amount] | None = None
    valid_range: ValidRange | None = None


class Capacity(msgspec.Struct, rename="camel", gc=False):
    """One capacity of a device."""

    value: Amount
    request_policy: RequestPolicy | None = None


class Counter(msgspec.Struct, gc=False):
    """One counter."""

    value: Amount


class CounterSet(msgspec.Struct, gc=False):
    """One `sharedCounters` item."""

    name: str
    counters: dict[str, Counter] | None = None


class Consumption(msgspec.Struct, rename="camel", gc=False):
    """One `consumesCounters` item."""

    counter_set: str
    counters: dict[str, Counter] | None = None


class DeviceTaint(msgspec.Struct, gc=False):
    """One taint of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Device(msgspec.Struct, rename="camel"):
    """One device of a slice."""

    name: str
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    consumes_counters: list[Consumption] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] | None = None
    binding_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: Raw = EMPTY


class Pool(msgspec.Struct, rename="camel", gc=False):
    """The pool that a slice belongs to."""

    name: str
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(msgspec.Struct, rename="camel"):
    """`spec` of a ResourceSlice."""

    driver: str
    pool: Pool
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] | None = None
    shared_counters: list[CounterSet] | None = None


class ResourceSlice(msgspec.Struct, rename="camel"):
    """A ResourceSlice."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec
    kind: str = ""
