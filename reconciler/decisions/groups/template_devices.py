"""The devices of a new node of a group: from the policy, else from a node of the group, else from the target."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.devices.resource_slice import (
    Amounts,
    Attribute,
    AttributeKind,
    Device,
    DeviceCapacity,
    ResourceSlice,
    Where,
)
from reconciler.cluster.nodes.node import Node
from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.targets.capacity import TEMPLATE_POOL
from reconciler.cluster.world import World
from reconciler.policy.documents import DeviceAttribute, DevicePartition, GroupFields, TemplateDevices
from reconciler.policy.levels import DEVICES
from reconciler.policy.values.quantity import parse_amount
from reconciler.scheduling.devices.selector_values import qualified

Slices = tuple[ResourceSlice, ...]
"""The slices of one node, without its name: they can be those of a new node."""
_CounterSet = tuple[str, Amounts]
_MOST_COUNTER_SETS, _MOST_CONSUMERS = 8, 64
"""In one ResourceSlice. Source: `ResourceSliceMaxCounterSets` and `ResourceSliceMaxDevicesWithTaintsOrConsumesCounters` of
resource.k8s.io/v1. Counter sets and devices are never in the same slice."""


class DeviceEvidence(msgspec.Struct, frozen=True):
    """What drivers offer on the nodes that are there, by the name of the node. Slices are those of complete pools; `pools` counts
    these by driver. `hiding` are nodes with a claim on a device that is in no slice of theirs."""

    of_node: Mapping[str, Slices] = {}
    pools: Mapping[str, Mapping[str, int]] = {}
    hiding: frozenset[str] = frozenset()

    @staticmethod
    def of(world: World) -> "DeviceEvidence":
        """Only pools of a single node count: others do not come with a node. A node of a simulation has them in its shape."""
        made = {index: shape.devices for index, shape in enumerate(world.node_shapes) if shape.devices}
        by_node = {node.name: made[node.shape] for node in world.nodes if node.shape in made} if made else {}
        pools = {name: _counted(slices) for name, slices in by_node.items()}
        if not world.resource_slices:
            return DeviceEvidence(by_node, pools)
        of_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
        for item in world.resource_slices:
            of_pool.setdefault((item.driver, item.pool), []).append(item)
        found: dict[str, list[ResourceSlice]] = {}
        node_of: dict[tuple[str, str], str] = {}
        for key, every in sorted(of_pool.items()):
            newest = max(item.generation for item in every)
            slices = sorted((item for item in every if item.generation == newest), key=lambda item: item.name)
            names = {item.where.node_name for item in slices}
            if len(names) != 1 or names == {""} or len(slices) != slices[0].slice_count:
                continue
            (name,) = names
            node_of[key] = name
            found.setdefault(name, []).extend(slices)
        used: dict[tuple[str, str], set[str]] = {}
        for claim in world.resource_claims:
            for one in claim.allocation.devices if claim.allocation is not None else ():
                used.setdefault((one.driver, one.pool), set()).add(one.device)
        hiding = {
            node
            for key, names in used.items()
            if (node := node_of.get(key)) and not names.issubset(device.name for item in of_pool[key] for device in item.devices)
        }
        by_node |= {name: _unbound(slices) for name, slices in found.items()}
        pools |= {name: _counted(slices) for name, slices in found.items()}
        return DeviceEvidence(by_node, pools, frozenset(hiding))

    def sample(self, members: Iterable[Node]) -> Slices:
        """What most of the nodes have; of equally many the fewest devices. A node that hides devices in use says nothing."""
        if not self.of_node:
            return ()
        seen = [self.of_node[node.name] for node in members if node.name in self.of_node and node.name not in self.hiding]
        forms = {id(slices): _form(slices) for slices in seen}
        counts = Counter(forms[id(slices)] for slices in seen)
        if not counts:
            return ()
        return min(seen, key=lambda slices: (-counts[forms[id(slices)]], _size(slices), forms[id(slices)]))

    def lacks(self, name: str, devices: Slices) -> tuple[str, ...]:
        """Drivers that offer fewer complete pools on a node than a template has. Source: Cluster Autoscaler 1.36 takes a node for
        unready until then."""
        if not devices:
            return ()
        there = self.pools.get(name, {})
        return tuple(driver for driver, count in sorted(_counted(devices).items()) if there.get(driver, 0) < count)


def devices_of(
    levels: Sequence[GroupFields], target: TargetTemplate, evidence: DeviceEvidence, members: Iterable[Node]
) -> Slices:
    """The devices of one new node. A node has all attributes of its devices, and a target only their number."""
    written = DEVICES.nearest(levels)
    return (evidence.sample(members) or target.devices) if written is None else declared(written[1])


def declared(devices: Sequence[TemplateDevices]) -> Slices:
    """One pool per driver, with the devices in the order in which they are written, each followed by its partitions."""
    by_driver: dict[str, list[Device]] = {}
    sets_of: dict[str, list[_CounterSet]] = {}
    for one in devices:
        for number in range(one.count):
            name = f"{one.name}-{number}"
            by_driver.setdefault(one.driver, []).extend(_with_partitions(one, name))
            if one.counters:
                sets_of.setdefault(one.driver, []).append((name, _amounts(one.counters)))
    return tuple(item for driver, found in sorted(by_driver.items()) for item in _pool(driver, found, sets_of.get(driver, ())))


def _with_partitions(one: TemplateDevices, name: str) -> list[Device]:
    """One device, which consumes all of its counters, and its partitions."""
    whole = DevicePartition(
        name=name,
        device_class=one.device_class,
        attributes=one.attributes,
        capacity=one.capacity,
        consumes_counters=one.counters,
    )
    found = [_device(whole, name, (), one.driver, name)]
    for part in one.partitions:
        model = _device(part, f"{name}-{part.name}-0", one.attributes, one.driver, name)
        found.append(model)
        found += [msgspec.structs.replace(model, name=f"{name}-{part.name}-{number}") for number in range(1, part.count)]
    return found


def _device(one: DevicePartition, name: str, inherited: Sequence[DeviceAttribute], driver: str, counter_set: str) -> Device:
    own = {qualified(item.name, driver) for item in one.attributes}
    attributes = (*one.attributes, *(item for item in inherited if qualified(item.name, driver) not in own))
    return Device(
        name=name,
        attributes=tuple(sorted(_attribute(item) for item in attributes)),
        capacities=tuple(DeviceCapacity(name=name, milli=milli) for name, milli in _amounts(one.capacity)),
        counters=((counter_set, _amounts(one.consumes_counters)),) if one.consumes_counters else (),
        classes=(one.device_class,) if one.device_class else (),
    )


def _pool(driver: str, devices: Sequence[Device], counter_sets: Sequence[_CounterSet]) -> list[ResourceSlice]:
    """Counter sets and devices are in slices of their own, each within the bounds of the API."""
    if not counter_sets:
        return [ResourceSlice(name=driver, driver=driver, pool=TEMPLATE_POOL, slice_count=1, devices=tuple(devices))]
    parts: list[tuple[Sequence[_CounterSet], Sequence[Device]]] = [
        *((counter_sets[at : at + _MOST_COUNTER_SETS], ()) for at in range(0, len(counter_sets), _MOST_COUNTER_SETS)),
        *(((), devices[at : at + _MOST_CONSUMERS]) for at in range(0, len(devices), _MOST_CONSUMERS)),
    ]
    return [
        ResourceSlice(
            name=f"{driver}-{number:04}",
            driver=driver,
            pool=TEMPLATE_POOL,
            slice_count=len(parts),
            devices=tuple(offered),
            counter_sets=tuple(sets),
        )
        for number, (sets, offered) in enumerate(parts)
    ]


def _amounts(written: Iterable[tuple[str, str]]) -> Amounts:
    return tuple((name, parse_amount(text, milli=True)) for name, text in written)


def _attribute(item: DeviceAttribute) -> Attribute:
    if item.number is not None:
        return Attribute(item.name, AttributeKind.INT, str(item.number))
    if item.boolean is not None:
        return Attribute(item.name, AttributeKind.BOOL, item.boolean)
    kind, text = (AttributeKind.STRING, item.text) if item.version is None else (AttributeKind.VERSION, item.version)
    return Attribute(item.name, kind, text or "")


def _unbound(slices: Sequence[ResourceSlice]) -> Slices:
    return tuple(msgspec.structs.replace(item, where=Where()) for item in slices)


def _counted(slices: Iterable[ResourceSlice]) -> Mapping[str, int]:
    return Counter(driver for driver, _ in {(item.driver, item.pool) for item in slices})


def _form(slices: Slices) -> bytes:
    """All that an answer can hang on, without names of pools and slices."""
    return _encode([(item.driver, item.devices, item.counter_sets) for item in slices])


def _size(slices: Slices) -> int:
    return sum(len(item.devices) for item in slices)


_encode = msgspec.msgpack.Encoder().encode
