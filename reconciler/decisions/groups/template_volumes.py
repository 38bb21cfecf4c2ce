"""What volume drivers will say of a new node of a group: how many volumes they attach, and the room on the node itself."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.attachment import StorageCapacity
from reconciler.cluster.nodes.node import NO_VOLUMES, LocalStorage, Node, NodeShape, NodeVolumes
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.world import World
from reconciler.policy.documents import GroupFields
from reconciler.policy.levels import STORAGE
from reconciler.policy.values.quantity import parse_amount
from reconciler.scheduling.label_match import selects
from reconciler.scheduling.node_affinity import node_labels
from reconciler.values.label_selector import Requirement

Limits = Mapping[str, int]


class VolumeEvidence(msgspec.Struct, frozen=True):
    """What drivers say of the nodes that are there, by the name of the node. `expected` are the drivers that nodes must have. A
    group whose nodes say nothing is taken to have them all, so that it can get its first node."""

    of_node: Mapping[str, NodeVolumes] = {}
    expected: tuple[str, ...] = ()

    @staticmethod
    def of(world: World) -> "VolumeEvidence":
        """Limits stand in CSINodes. Room of a node itself stands in storage capacities that mean this node alone.

        Source: plugins NodeVolumeLimits (`CSINode.spec.drivers[].allocatable.count`) and VolumeBinding (CSIStorageCapacity).
        Nodes of a simulation have neither; their shape says it.
        """
        made = {index: shape.volumes for index, shape in enumerate(world.node_shapes) if shape.volumes != NO_VOLUMES}
        by_node = {node.name: made[node.shape] for node in world.nodes if node.shape in made} if made else {}
        local = _local(world)
        asked = {driver.name for driver in world.storage.csi_drivers if driver.required}
        for csi_node in world.storage.csi_nodes:
            required = tuple(sorted(asked.intersection(driver.driver for driver in csi_node.drivers)))
            limits = tuple((driver.driver, driver.count) for driver in csi_node.drivers if driver.count is not None)
            here = local.get(csi_node.name, ())
            if limits or here or required:
                by_node[csi_node.name] = NodeVolumes(limits=tuple(sorted(limits)), local=here, required=required)
        return VolumeEvidence(by_node, tuple(sorted(asked)))

    def least(self, nodes: Iterable[Node]) -> NodeVolumes:
        """The smallest of each over these nodes, and the drivers of any; a node whose driver has not registered says nothing."""
        seen = [self.of_node[node.name] for node in nodes if node.name in self.of_node] if self.of_node else []
        limits: dict[str, int] = {}
        local: dict[str, LocalStorage] = {}
        for volumes in seen:
            for driver, limit in volumes.limits:
                limits[driver] = min(limit, limits.get(driver, limit))
            for room in volumes.local:
                local[room.storage_class] = _smaller(room, local.get(room.storage_class, room))
        required = tuple(sorted({driver for volumes in seen for driver in volumes.required})) if seen else self.expected
        return NodeVolumes(limits=tuple(sorted(limits.items())), local=tuple(sorted(local.values())), required=required)


def stated_over(seen: NodeVolumes, *stated: Iterable[tuple[str, int]]) -> NodeVolumes:
    """What was seen, with the limits that are stated instead; a later one wins."""
    limits = dict(seen.limits)
    for pairs in stated:
        limits.update(pairs)
    return msgspec.structs.replace(seen, limits=tuple(sorted(limits.items())))


def with_room(seen: NodeVolumes, levels: Sequence[GroupFields]) -> NodeVolumes:
    """What was seen, with the room that the policy declares instead, class by class."""
    rooms = {room.storage_class: room for room in seen.local}
    _, written = STORAGE.nearest(levels) or (0, ())
    for name, text in written:
        room_bytes = parse_amount(text, milli=False)
        rooms[name] = LocalStorage(storage_class=name, largest_bytes=room_bytes, total_bytes=room_bytes)
    return msgspec.structs.replace(seen, local=tuple(sorted(rooms.values())))


def unreported(world: World, node: Node, template: NodeShape | None) -> tuple[str, ...]:
    """Storage classes whose driver reports room and will report some of this node, as its template says, but has not done so yet.
    kube-scheduler sends no pod there before."""
    if template is None or not template.volumes.local or world.node_shapes[node.shape].volumes.local:
        return ()
    tracking = {driver.name for driver in world.storage.csi_drivers if driver.storage_capacity}
    tracked = {item.name for item in world.storage.classes if item.provisioner in tracking}
    labels = node_labels(world.node_shapes[node.shape].labels, node.hostname).items()
    reported = {item.storage_class for item in world.storage.capacities if selects(item.nodes, labels)}
    return tuple(
        room.storage_class
        for room in template.volumes.local
        if room.storage_class in tracked and room.storage_class not in reported
    )


def at_most(stated: NodeVolumes, seen: NodeVolumes) -> NodeVolumes:
    """The stated limits and room, none above what was seen."""
    known = dict(seen.limits)
    limits = tuple((driver, min(limit, known.get(driver, limit))) for driver, limit in stated.limits)
    rooms = {room.storage_class: room for room in seen.local}
    local = tuple(_smaller(room, rooms.get(room.storage_class, room)) for room in stated.local)
    return msgspec.structs.replace(stated, limits=limits, local=local)


def _smaller(one: LocalStorage, other: LocalStorage) -> LocalStorage:
    return LocalStorage(
        storage_class=one.storage_class,
        largest_bytes=min(one.largest_bytes, other.largest_bytes),
        total_bytes=min(one.total_bytes, other.total_bytes),
    )


def _local(world: World) -> Mapping[str, tuple[LocalStorage, ...]]:
    """The room of each empty node by class, by the name of the node.

    A capacity means one node alone where its topology names a node by its name or host name, as drivers of local disks do. What
    volumes of the class take there is added: a new node has none.
    """
    tracking = {driver.name for driver in world.storage.csi_drivers if driver.storage_capacity}
    classes = {item.name for item in world.storage.classes if item.provisioner in tracking}
    capacities = [item for item in world.storage.capacities if item.storage_class in classes and item.limit_bytes is not None]
    if not capacities:
        return {}
    names = {node.hostname: node.name for node in world.nodes if node.hostname} | {node.name: node.name for node in world.nodes}
    taken: dict[tuple[str, str], int] = {}
    for volume in world.storage.volumes:
        if volume.storage_class in classes and (node := _only_node(_one_term(volume.required_terms), names)):
            key = (node, volume.storage_class)
            taken[key] = taken.get(key, 0) + volume.capacity_bytes
    room_of: dict[tuple[str, str], LocalStorage] = {}
    for item in capacities:
        if item.nodes is not None and (node := _only_node(item.nodes.requirements, names)):
            key = (node, item.storage_class)
            room = _room(item, taken.get(key, 0))
            room_of[key] = max(room, room_of.get(key, room))
    by_node: dict[str, list[LocalStorage]] = {}
    for (node, _), room in sorted(room_of.items()):
        by_node.setdefault(node, []).append(room)
    return {node: tuple(rooms) for node, rooms in by_node.items()}


def _one_term(terms: tuple[NodeSelectorTerm, ...] | None) -> tuple[Requirement, ...]:
    return terms[0].expressions if terms is not None and len(terms) == 1 else ()


def _only_node(requirements: Iterable[Requirement], names: Mapping[str, str]) -> str:
    """The node that one of these requirements names; empty when none does."""
    alone = (item.values[0] for item in requirements if item.operator == "In" and len(item.values) == 1)
    return next((names[value] for value in alone if value in names), "")


def _room(item: StorageCapacity, taken: int) -> LocalStorage:
    limit = item.limit_bytes or 0
    if item.left_bytes is None:
        return LocalStorage(storage_class=item.storage_class, largest_bytes=limit, total_bytes=limit)
    total = item.left_bytes + taken
    # A largest volume below what is left is a rule of the driver, which an empty node has as well.
    largest = limit if limit < item.left_bytes else total
    return LocalStorage(storage_class=item.storage_class, largest_bytes=largest, total_bytes=total)
