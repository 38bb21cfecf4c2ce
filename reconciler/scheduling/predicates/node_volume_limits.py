"""NodeVolumeLimits: a CSI driver attaches only so many volumes to one node."""

from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.verdict import Rejection
from reconciler.scheduling.volumes.attachments import Attachments, LimitedNode
from reconciler.scheduling.volumes.book import StorageBook
from reconciler.values.clauses import clauses

PLUGIN = "NodeVolumeLimits"


class NodeVolumeLimits:
    """The plugin over a state.

    Source: plugin NodeVolumeLimits, Filter, 1.36 and 1.37. The volumes of the pods on the node and of the new pod count by
    driver, each volume once. The limit is what the node's CSINode can allocate. A node without CSINode, or a driver without a
    number, has no limit. Attached volumes that no pod on the node uses count as well, and again for the pod that needs them.
    Since 1.37, a node must have the driver if that says so. A new node counts as it will be once its CSINode exists.
    """

    def __init__(self, book: StorageBook, shapes: ShapeTable, nodes: NodeTable, bindings: Bindings) -> None:
        self._book = book
        self._shapes = shapes
        self._nodes = nodes
        self._bindings = bindings
        self._made: Attachments | None = None

    def objection(self, shape: int) -> str:
        """Why no node at all will do: a claim that is not there or not the pod's own."""
        shape_volumes = self._attachments().of(shape)
        if shape_volumes.missing:
            return f"claim {shape_volumes.missing} does not exist"
        return f"claim {shape_volumes.foreign} was not made for this pod" if shape_volumes.foreign else ""

    def excluded(self, shape: int) -> list[int]:
        """Nodes where the volumes of the shape go beyond a limit, or that lack a driver."""
        attachments = self._attachments()
        beyond = [node for node, state in attachments.limited().items() if self._excess(shape, state)]
        if not attachments.of(shape).required:
            return beyond
        return [*beyond, *(node for node in range(len(self._nodes)) if attachments.lacks(shape, node))]

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        if self._made is not None:
            self._made.drop_to(count)

    def rejection(self, shape: int, node: int) -> Rejection | None:
        """What the plugin says of one node."""
        text = self.objection(shape)
        if not text and (driver := self._attachments().lacks(shape, node)):
            text = f"the node has no driver {driver}"
        if not text:
            state = self._attachments().limited().get(node)
            text = self._excess(shape, state) if state is not None else ""
        return Rejection(PLUGIN, text) if text else None

    def _excess(self, shape: int, state: LimitedNode) -> str:
        volumes = self._attachments().of(shape).volumes
        if not volumes:
            return ""
        if state.broken:
            return "a pod on the node uses a claim that was not made for it"
        added: dict[str, int] = {}
        for volume in volumes:
            if volume not in state.users:
                added[volume[0]] = added.get(volume[0], 0) + 1
        return clauses(
            f"{driver} attaches at most {state.limits[driver]}: {state.attached.get(driver, 0)} are there, {count} more needed"
            for driver, count in sorted(added.items())
            if driver in state.limits and state.attached.get(driver, 0) + count > state.limits[driver]
        )

    def _attachments(self) -> Attachments:
        if self._made is None:
            self._made = Attachments(self._book, self._shapes, self._nodes, self._bindings)
        return self._made
