"""The four filter plugins that look at volumes, together."""

from reconciler.cluster.world import World
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.index_sets.marked_bytes import marked, union
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.eligibility import Eligibility
from reconciler.scheduling.predicates.node_volume_limits import NodeVolumeLimits
from reconciler.scheduling.predicates.volume_binding import VolumeBinding
from reconciler.scheduling.predicates.volume_restrictions import VolumeRestrictions
from reconciler.scheduling.predicates.volume_zone import VolumeZone
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection
from reconciler.scheduling.volumes.book import StorageBook
from reconciler.scheduling.volumes.node_masks import NodeMasks


class VolumeFilters:
    """Asked only about shapes that have volumes."""

    def __init__(self, world: World, nodes: NodeTable, shapes: ShapeTable, bindings: Bindings, eligibility: Eligibility) -> None:
        book = StorageBook(world)
        self._masks = NodeMasks(nodes)
        self._binding = VolumeBinding(book, shapes, nodes, bindings, eligibility, self._masks)
        self._binding.follow()
        self._limits = NodeVolumeLimits(book, shapes, nodes, bindings)
        self._restrictions = VolumeRestrictions(book, shapes, bindings)
        self._zone = VolumeZone(book, shapes, nodes, self._masks)

    def rejections(self, shape: int, node: int) -> list[Rejection | None]:
        """What each of the four says of a node."""
        plugins = (self._binding, self._limits, self._restrictions, self._zone)
        return [plugin.rejection(shape, node) for plugin in plugins]

    def hopeless(self, shape: int) -> bool:
        """Does one of them reject every node?"""
        plugins = (self._binding, self._limits, self._restrictions, self._zone)
        return any(plugin.objection(shape) for plugin in plugins)

    def blocked(self, shape: int, blocked: bytearray) -> bytearray:
        """Nodes that any of them rejects, added to those blocked already; only for shapes that are not hopeless."""
        for mask in (*self._binding.blocked(shape), *self._zone.blocked(shape)):
            blocked = union(blocked, mask)
        excluded = (self._limits.excluded(shape), self._restrictions.excluded(shape), self._binding.excluded(shape))
        return marked(blocked, (node for nodes in excluded for node in nodes))

    def one_a_node(self, shape: int) -> bool:
        """Do two pods of the shape exclude each other on a node?"""
        return self._restrictions.one_a_node(shape)

    def waits(self, shape: int) -> bool:
        """Do claims of the shape get their volume with the first pod?"""
        return self._binding.waits(shape)

    def only_one(self, shape: int) -> bool:
        """Can only one pod of the shape run at all?"""
        return self._restrictions.only_one(shape)

    def without_restrictions(self, shape: int) -> bool:
        """Has VolumeRestrictions nothing to look at for the shape?"""
        return not self._restrictions.looks_at_disks(shape) and not self._restrictions.objection(shape)

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        self._masks.drop_to(count)
        self._binding.drop_to(count)
        self._limits.drop_to(count)

    def follow(self) -> None:
        """Shapes were appended to the table."""
        self._binding.follow()
