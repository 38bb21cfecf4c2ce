"""ResourceSlices: the devices that a driver offers, and on which nodes.

Amounts are in thousandths, since a quantity may be finer than a unit. An amount that thousandths in 64 bits cannot hold exactly
is named in `unmodelled`.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from reconciler.cluster.values.quantity import nano
from reconciler.cluster.values.selection import NodeSelectorTerm, node_terms
from reconciler.cluster.wire import devices as wire
from reconciler.values.quantity import INT64_MAX

_NANOS_A_MILLI = 10**6
Amounts = tuple[tuple[str, int], ...]
"""Thousandths by name, sorted by name."""


class AttributeKind(StrEnum):
    """The type of an attribute's value."""

    INT = "int"
    BOOL = "bool"
    STRING = "string"
    VERSION = "version"


class Attribute(msgspec.Struct, frozen=True, order=True, gc=False):
    """One attribute of a device. `text` is the value as JSON writes it; the kind tells 1, true and "1" apart."""

    name: str
    kind: AttributeKind
    text: str


class DeviceCapacity(msgspec.Struct, frozen=True, order=True, kw_only=True, gc=False):
    """One capacity and how requests for a part of it are rounded. None: the policy does not set it.

    `limited` tells a policy with a range from one without: a range may have no bound at all. `has_policy`: there is a policy.
    """

    name: str
    milli: int
    has_policy: bool = False
    default_milli: int | None = None
    valid_milli: tuple[int, ...] = ()
    limited: bool = False
    min_milli: int | None = None
    max_milli: int | None = None
    step_milli: int | None = None


class DeviceTaint(msgspec.Struct, frozen=True, order=True, gc=False):
    """A taint of a device; NoSchedule and NoExecute keep requests away that do not tolerate it."""

    key: str
    value: str
    effect: str


class Where(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """The nodes that reach a slice or a device: one by name, those that a selector matches, or all."""

    node_name: str = ""
    terms: tuple[NodeSelectorTerm, ...] | None = None
    all_nodes: bool = False


class Device(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One device. `counters` are what it consumes, by counter set. `waits`: it has binding conditions, so that it is taken last.
    `unmodelled` is empty, or what of it is not understood. Of a device that a policy declares, `classes` are those that select it
    without a look at their selectors."""

    name: str
    attributes: tuple[Attribute, ...] = ()
    capacities: tuple[DeviceCapacity, ...] = ()
    counters: tuple[tuple[str, Amounts], ...] = ()
    where: Where = Where()
    taints: tuple[DeviceTaint, ...] = ()
    waits: bool = False
    multiple: bool = False
    unmodelled: str = ""
    classes: tuple[str, ...] = ()


class ResourceSlice(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One slice of a pool. A pool is complete when `slice_count` slices of its newest `generation` are there. `counter_sets` are
    in the order of the slice. `per_device`: each device has its own nodes."""

    name: str
    driver: str
    pool: str
    generation: int = 0
    slice_count: int = 0
    where: Where = Where()
    per_device: bool = False
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[tuple[str, Amounts], ...] = ()
    unmodelled: str = ""


def resource_slice(item: wire.ResourceSlice) -> ResourceSlice:
    """One slice. Raises `UnreadableError`."""
    spec = item.spec
    exact = _Exact()
    counter_sets = tuple((one.name, exact.counters(one.counters)) for one in spec.shared_counters or ())
    return ResourceSlice(
        name=item.metadata.name,
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        slice_count=spec.pool.resource_slice_count,
        where=_where(spec),
        per_device=bool(spec.per_device_node_selection),
        devices=tuple(_device(one) for one in spec.devices or ()),
        counter_sets=counter_sets,
        unmodelled=exact.problem,
    )


def exact_milli(text: wire.Amount) -> int | None:
    """A quantity in thousandths; None if they cannot hold it exactly. Raises `QuantityError`."""
    nanos = nano(str(text))
    milli, rest = divmod(nanos, _NANOS_A_MILLI)
    return None if rest or abs(milli) > INT64_MAX else milli


class _Exact:
    """Reads amounts, and remembers the first that does not fit."""

    def __init__(self) -> None:
        self.problem = ""

    def milli(self, text: wire.Amount) -> int:
        found = exact_milli(text)
        if found is None:
            self.problem = self.problem or f"the amount {text}"
            return 0
        return found

    def maybe(self, text: wire.Amount | None) -> int | None:
        return None if text is None else self.milli(text)

    def counters(self, counters: Mapping[str, wire.Counter] | None) -> Amounts:
        return tuple((name, self.milli(one.value)) for name, one in sorted((counters or {}).items()))


def _device(item: wire.Device) -> Device:
    exact = _Exact()
    attributes, unknown = _attributes(item.attributes or {})
    capacities = tuple(_capacity(name, one, exact) for name, one in sorted((item.capacity or {}).items()))
    counters = tuple((one.counter_set, exact.counters(one.counters)) for one in item.consumes_counters or ())
    mapped = "nodeAllocatableResourceMappings" if bytes(item.node_allocatable_resource_mappings) not in (b"", b"null") else ""
    return Device(
        name=item.name,
        attributes=attributes,
        capacities=capacities,
        counters=counters,
        where=_where(item),
        taints=tuple(DeviceTaint(one.key, one.value, one.effect) for one in item.taints or ()),
        waits=item.binding_conditions is not None,
        multiple=bool(item.allow_multiple_allocations),
        unmodelled=unknown or exact.problem or mapped,
    )


def _where(item: wire.ResourceSliceSpec | wire.Device) -> Where:
    return Where(node_name=item.node_name or "", terms=node_terms(item.node_selector), all_nodes=bool(item.all_nodes))


def _attributes(attributes: Mapping[str, wire.Attribute]) -> tuple[tuple[Attribute, ...], str]:
    read: list[Attribute] = []
    unknown = ""
    for name, item in sorted(attributes.items()):
        if item.integer is not None:
            read.append(Attribute(name, AttributeKind.INT, str(item.integer)))
        elif item.boolean is not None:
            read.append(Attribute(name, AttributeKind.BOOL, "true" if item.boolean else "false"))
        elif item.string is not None:
            read.append(Attribute(name, AttributeKind.STRING, item.string))
        elif item.version is not None:
            read.append(Attribute(name, AttributeKind.VERSION, item.version))
        else:
            unknown = unknown or f"the value of attribute {name}"
    return tuple(read), unknown


def _capacity(name: str, item: wire.Capacity, exact: _Exact) -> DeviceCapacity:
    policy = item.request_policy
    if policy is None:
        return DeviceCapacity(name=name, milli=exact.milli(item.value))
    span = policy.valid_range
    return DeviceCapacity(
        name=name,
        milli=exact.milli(item.value),
        has_policy=True,
        default_milli=exact.maybe(policy.default),
        valid_milli=tuple(exact.milli(one) for one in policy.valid_values or ()),
        limited=span is not None,
        min_milli=exact.maybe(span.min) if span else None,
        max_milli=exact.maybe(span.max) if span else None,
        step_milli=exact.maybe(span.step) if span else None,
    )
